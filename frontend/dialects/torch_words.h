// Calls in torch's words: keywords of frontend/keywords.def, operators whose names have their rank. The
// canonical spelling, torch's own and MLX's are such vocabularies.
#pragma once

#include <span>

#include "frontend/dialects/arguments.h"
#include "frontend/operators.h"

namespace pooljit::frontend {

struct Vocabulary {
  std::span<const Operator> operators;
  Forms forms = Forms::call;
  DimOrder order = DimOrder::channels_first;  // channels last: the layout is too
  bool may_lack_batch = true;
};

// Checks nothing but the words.
ir::Result<PoolSpec> read_call(const ParsedCall& call, const Vocabulary& vocabulary);

// OPERATOR(TENSOR, KEYWORD=VALUE, ...), or OPERATOR(KEYWORD=VALUE, ...)(TENSOR), with the keywords that the
// operator knows, if they differ from their default or are in `always`. An unpool module takes output_size
// with the tensor.
std::string print_call(const PoolSpec& spec, const Operator& op, DimOrder order, std::string_view batch,
                       KeySet always = 0);
// The text between the brackets of print_call: the tensor; the arguments.
std::string print_tensor(const PoolSpec& spec, DimOrder order, std::string_view batch);
std::string print_arguments(const PoolSpec& spec, KeySet keys);
std::string print_module(const PoolSpec& spec, const Operator& op, DimOrder order, KeySet always);

}  // namespace pooljit::frontend
