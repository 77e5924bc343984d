#include "runtime/unpool/indexing.h"

#include <limits>

namespace pooljit::runtime {
namespace {

constexpr uint64_t most_listed_taps = 4096;

// The rule of the forward pass: indices count in the output.
ir::IndexRule rule_of(const ir::PoolNest& unpool) {
  ir::PoolNest forward = unpool;
  forward.direction = ir::Direction::forward;
  for (ir::NestDim& dim : forward.dims) dim.input = dim.output;
  return ir::index_rule(forward);
}

// Which dimension has the digit of this number.
size_t dim_of_digit(const ir::PoolNest& nest, const ir::IndexRule& rule, size_t number) {
  return nest.column_major && !rule.of_window ? nest.dims.size() - 1 - number : number;
}

// One digit where two count places that lie evenly spaced.
void add_digit(Digits& digits, const Digit& digit) {
  if (digits.empty()) return digits.push_back(digit);
  Digit& before = digits.back();
  if (digit.extent == 1) return;
  if (before.extent == 1)
    before = digit;
  else if (before.stride == digit.stride * static_cast<int64_t>(digit.extent))
    before = {digit.weight, before.extent * digit.extent, digit.stride};
  else
    digits.push_back(digit);
}

void set_magic(Digits& digits, uint64_t last) {
  for (Digit& digit : digits)
    if (digit.weight > 1 && last <= std::numeric_limits<uint32_t>::max())
      digit.magic = std::numeric_limits<uint64_t>::max() / digit.weight + 1;
}

uint64_t largest(const Digits& digits) {
  uint64_t sum = 0;
  for (const Digit& digit : digits) sum += (digit.extent - 1) * digit.weight;
  return sum;
}

}  // namespace

Indexing::Indexing(const ir::PoolNest& unpool) : rule(rule_of(unpool)), nest_(unpool) {
  const size_t rank = nest_.dims.size();
  uint64_t weight = 1;
  for (const ir::NestDim& dim : nest_.dims) weight *= static_cast<uint64_t>(dim.output);
  for (size_t number = 0; number < rank; ++number) {
    const size_t d = dim_of_digit(nest_, rule, number);
    const ir::NestDim& dim = nest_.dims[d];
    const auto extent = static_cast<uint64_t>(dim.output);
    weight /= extent;
    add_digit(digits, {static_cast<uint64_t>(rule.dims[d]),
                       rule.of_window ? static_cast<uint64_t>(dim.kernel) : extent, nest_.output.strides[d]});
    add_digit(plane, {weight, extent, nest_.output.strides[d]});
  }
  last = largest(digits);
  unit = rule.of_window ? 1 : digits.back().weight;
  if (!rule.of_window) plane = digits;
  set_magic(digits, last);
  set_magic(plane, largest(plane));
  if (rule.of_window) {
    list_taps();
    return;
  }
  const auto unit_steps = static_cast<int64_t>(unit);
  const bool is_scaled = digits.size() == 1 && digits[0].stride % unit_steps == 0;
  form = is_scaled ? IndexForm::scaled : IndexForm::digits;
  factor = is_scaled ? digits[0].stride / unit_steps : 0;
}

void Indexing::list_taps() {
  form = last < most_listed_taps ? IndexForm::listed : IndexForm::digits;
  if (form != IndexForm::listed) return;
  for (int64_t number = 0; number <= static_cast<int64_t>(last); ++number) {
    Tap tap;
    int64_t rest = number;
    for (size_t d = 0; d < nest_.dims.size(); ++d) {
      tap.at[d] = rest / rule.dims[d];
      rest %= rule.dims[d];
      tap.offset += tap.at[d] * nest_.output.strides[d];
    }
    taps.push_back(tap);
  }
}

std::optional<Coordinates> Indexing::place(int64_t index, int64_t n, int64_t c,
                                           const Coordinates& window) const {
  if (index < 0) return std::nullopt;
  int64_t rest = index - static_cast<int64_t>(base(n, c));
  if (rest < 0) return std::nullopt;
  Coordinates position{};
  for (size_t number = 0; number < nest_.dims.size(); ++number) {
    const size_t d = dim_of_digit(nest_, rule, number);
    const ir::NestDim& dim = nest_.dims[d];
    position[d] = rest / rule.dims[d];
    rest %= rule.dims[d];
    if (rule.of_window) {
      if (position[d] >= dim.kernel) return std::nullopt;
      position[d] += window[d] * dim.stride - dim.pad_begin;
    }
    if (position[d] < 0 || position[d] >= dim.output) return std::nullopt;
  }
  return rest == 0 ? std::optional(position) : std::nullopt;
}

}  // namespace pooljit::runtime
