// Windows that tell the rules of an engine apart, each with what is known to be made of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pool_spec.h"

namespace pooljit::fuzz {

// Known answers of engines to a probe. The first is the one of docs/semantics.md.
struct KnownAnswer {
  std::string_view rule;         // in words
  std::string_view gives;        // elements for each input, "1 2|3 4"; indices behind an @
  std::string_view divergences;  // names of tools/fuzz/divergences.def, with blanks between
};

struct EngineProbe {
  std::string_view aspect;
  std::string_view operation;  // "max": what layers are to keep the rule
  std::string_view dtypes;     // with blanks between
  std::string_view spec;       // {t} stands for the dtype, {l} for a layout; 2-D, of one row mostly
  std::string_view inputs;     // "1 2|3 4"
  std::vector<KnownAnswer> answers;
};
std::span<const EngineProbe> probes();

// The probe's layer in forms that engines may do: NCHW, NHWC, and in one dimension where it has one row.
std::vector<frontend::PoolSpec> forms_of(const EngineProbe& probe, const std::string& dtype);

}  // namespace pooljit::fuzz
