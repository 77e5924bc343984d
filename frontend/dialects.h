// Spellings of a spec. To add one: a file in frontend/dialects/ and a row in dialects.cpp. A dialect
// translates; it gives no meaning that PoolSpec cannot hold, and checks nothing that check_spec checks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "frontend/pool_spec.h"

namespace pooljit::frontend {

struct Dialect {
  std::string_view name;                            // of `pooljit show --as NAME`
  std::span<const std::string_view> beginnings;     // of its texts; canonical: none, it takes the rest
  ir::Result<PoolSpec> (*parse)(std::string_view);  // unchecked
  // Only what its words can say: print_as compares what the text means with the spec.
  ir::Result<std::string> (*print)(const PoolSpec&);
  // A text is one problem of one size: a global pooling is a window of that size.
  bool has_one_size = false;
};

std::span<const Dialect> dialects();

// By the text's beginning, unchecked.
ir::Result<PoolSpec> parse_any(std::string_view text);

// The checked spec of a text, whether or not a layer below can do it: parse_spec without
// frontend/unsupported.h.
ir::Result<PoolSpec> parse_meaning(std::string_view text);

// A checked spec in a dialect's words, or spec.dialect with what it has no words for.
ir::Result<std::string> print_as(const Dialect& dialect, const PoolSpec& spec);

ir::Result<PoolSpec> parse_canonical(std::string_view text);
// Canonical: pools(TENSOR, OPERATOR(...), ..., concat=True).
ir::Result<PoolSpec> read_pools(std::string_view text);
// Of members that have one input.
PoolSpec spec_of_pools(std::vector<PoolSpec> members);
// The pool of before's input that makes what `next` makes of before's output; none where there is not.
std::optional<PoolSpec> follow(const PoolSpec& before, const PoolSpec& next);
std::string print_pools(const PoolSpec& spec, std::string_view batch);

// One per file of frontend/dialects/.
ir::Result<PoolSpec> parse_torch(std::string_view text);
ir::Result<std::string> print_torch(const PoolSpec& spec);
ir::Result<PoolSpec> parse_torch_modules(std::string_view text);
ir::Result<std::string> print_torch_modules(const PoolSpec& spec);
ir::Result<PoolSpec> parse_mlx(std::string_view text);
ir::Result<std::string> print_mlx(const PoolSpec& spec);
ir::Result<PoolSpec> parse_keras(std::string_view text);
ir::Result<std::string> print_keras(const PoolSpec& spec);
ir::Result<PoolSpec> parse_onnx(std::string_view text);
ir::Result<std::string> print_onnx(const PoolSpec& spec);
ir::Result<PoolSpec> parse_benchdnn(std::string_view text);
ir::Result<std::string> print_benchdnn(const PoolSpec& spec);

// spec.dialect: the operator has no name in the dialect.
tl::unexpected<ir::Error> no_operator(std::string_view dialect, const PoolSpec& spec);

}  // namespace pooljit::frontend
