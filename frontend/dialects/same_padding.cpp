#include "frontend/dialects/same_padding.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/geometry.h"
#include "frontend/rules.h"

namespace pooljit::frontend {

namespace {

int64_t begin_of(int64_t total, OddPad odd) { return odd == OddPad::end ? total / 2 : total - total / 2; }

// The window reaches over a last input that is the first, or any other, of a stride's: `most` and `least` are
// what it then needs.
Broken pad_free(SpecDim& dim, OddPad odd, int64_t extent) {
  const int64_t most = extent - 1, least = std::max(extent - dim.stride, int64_t{0});
  if (begin_of(most, odd) != begin_of(least, odd))
    return broken(Rule::free_dim,
                  fmt::format("got padding that makes {} and {} of different sizes, of kernel_size {} and "
                              "stride {}",
                              begin_of(least, odd), begin_of(most, odd), dim.kernel, dim.stride),
                  "numbers for the padding")
        .value();
  dim.pad_begin = begin_of(most, odd);
  dim.pad_end = most - dim.pad_begin;
  return std::nullopt;
}

}  // namespace

Broken pad_same(SpecDim& dim, OddPad odd) {
  if (dim.input < 1 || dim.stride < 1) return std::nullopt;
  const int64_t outputs = (dim.input - 1) / dim.stride + 1;
  const Checked extent = Checked(dim.dilation) * (Checked(dim.kernel) - 1) + 1;
  const auto needed = (Checked(outputs - 1) * dim.stride + extent - dim.input).value();
  if (!needed) return std::nullopt;
  if (dim.is_free) return pad_free(dim, odd, std::max(extent.value().value_or(1), int64_t{1}));
  const int64_t total = std::max(*needed, int64_t{0});
  dim.pad_begin = begin_of(total, odd);
  dim.pad_end = total - dim.pad_begin;
  return std::nullopt;
}

}  // namespace pooljit::frontend
