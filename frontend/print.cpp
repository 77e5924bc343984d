// Canonical text. Values that equal their default are left out, so that one spec has one text.
#include <string>

#include "frontend/dialects.h"
#include "frontend/dialects/torch_words.h"

namespace pooljit::frontend {

namespace {

std::string print_with_batch(const PoolSpec& spec, std::string_view batch) {
  if (is_pools(spec)) return print_pools(spec, batch);
  return print_call(spec, operator_of(spec), DimOrder::channels_first, batch);
}

}  // namespace

std::string batch_text(const PoolSpec& spec) {
  return spec.free_batch ? "N" : spec.batch ? std::to_string(*spec.batch) : "";
}

std::string print(const PoolSpec& spec) { return print_with_batch(spec, batch_text(spec)); }

std::string signature(const PoolSpec& spec) {
  // Packed and unbatched, it is the kernel of a batch. With explicit strides only the number of strides
  // tells.
  const auto packs_output = [](const PoolSpec& each) { return each.output_strides.empty(); };
  const bool is_packed = spec.strides.empty() && packs_output(spec) &&
                         std::all_of(spec.members.begin(), spec.members.end(), packs_output);
  return print_with_batch(spec, spec.batch || is_packed ? "N" : "");
}

}  // namespace pooljit::frontend
