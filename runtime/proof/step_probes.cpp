#include "runtime/proof/step_probes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "ir/float_format.h"
#include "runtime/proof/rounds.h"
#include "runtime/proof/through.h"

namespace pooljit::runtime {
namespace {

// Rounds of random values and operands.
constexpr int64_t step_test_rounds = 32;
// Values that operands are tried as; a NaN shows in every floating output.
constexpr double of_operands[] = {
    0, 1, -1, 2, 3, 0.5, -100, 100, 1e4, -1e4, std::numeric_limits<double>::quiet_NaN()};
// Which elements the operands are tried beside.
constexpr double beside_operands[] = {1, 3, -3, 40, -40, 1000, -1000};
// Of random tests.
constexpr double random_operands[] = {-3, -1.5, -1, -0.25, 0, 0.5, 1, 1.75, 2, 5, 100.5, -1000};

class StepMaker {
 public:
  StepMaker(const ir::PoolNest& nest, int64_t batch, const Oracle& oracle, const Visit& visit)
      : nest_(nest), batch_(batch), oracle_(oracle), visit_(visit), neutral_(neutral_planes(nest)) {
    for (const ir::NestDim& dim : nest.dims) outputs_ *= dim.output;
  }

  StepProbes run() {
    for (size_t i = 0; goes_on_ && i < neutral_.size(); ++i) operand(i);
    values();
    random_values();
    return result_;
  }

 private:
  // Values that tell one operand's elements apart, for some of the outputs.
  struct Setting {
    uint64_t element, low, high;
  };

  bool visit(const Probe& probe) { return goes_on_ = goes_on_ && visit_(probe); }

  Plane all(uint64_t bits) const {
    return make_plane(nest_, [&](const Positions&) { return bits; });
  }

  bool can_hold(ir::DType dtype, double number) const {
    if (ir::is_float(dtype)) return true;
    const auto whole = static_cast<int64_t>(number);
    return number == number && double(whole) == number && ir::lane_bits(dtype, whole) == whole;
  }

  std::vector<Plane> with(size_t operand, Plane plane) const {
    std::vector<Plane> planes = neutral_;
    planes[operand] = std::move(plane);
    return planes;
  }
  Plane constant(size_t operand, uint64_t bits) const { return Plane(neutral_[operand].size(), bits); }

  // --- which element: by the bits of its number

  void operand(size_t number) {
    std::vector<bool> told(size_t(outputs_), false);
    const auto count = [&] { return std::ranges::count(told, true); };
    for (const double beside : beside_operands) {
      if (count() == outputs_) break;
      if (!can_hold(nest_.input.dtype, beside)) continue;
      for (const double high : of_operands) {
        const auto before = count();
        if (before == outputs_) break;
        const auto setting = tell(number, beside, high, told);
        if (setting && count() > before) by_number(number, *setting);
      }
    }
    result_.untold += outputs_ - count();
  }

  // Marks the outputs that tell the operand from its neutral number.
  std::optional<Setting> tell(size_t operand, double beside, double high, std::vector<bool>& told) const {
    const ir::DType dtype = operand_views(nest_)[operand].dtype;
    if (!can_hold(dtype, high)) return std::nullopt;
    const Setting setting = {bits_of(nest_.input.dtype, beside), neutral_[operand][0], bits_of(dtype, high)};
    if (setting.low == setting.high) return std::nullopt;
    const Probe probe = {.part = Part::operand,
                         .planes = {all(setting.element), all(setting.element)},
                         .operands = {neutral_, with(operand, constant(operand, setting.high))}};
    const Expected expected = oracle_.evaluate(probe, {true, true});
    for (size_t i = 0; i < told.size(); ++i)
      if (!agree(expected, i)) told[i] = true;
    return setting;
  }

  bool agree(const Expected& expected, size_t output) const {
    const uint64_t low = expected.outputs[0][output], high = expected.outputs[1][output];
    const ir::DType dtype = nest_.output.dtype;
    if (ir::is_nan_bits(dtype, low) || ir::is_nan_bits(dtype, high))
      return ir::is_nan_bits(dtype, low) == ir::is_nan_bits(dtype, high);
    if (expected.bounds.empty()) return low == high;
    const auto &a = expected.bounds[0][output], &b = expected.bounds[1][output];
    return !(std::abs(a.value - b.value) > 2 * (a.error + b.error) + (ir::is_float(dtype) ? 0 : 2));
  }

  void by_number(size_t operand, const Setting& setting) {
    const std::vector<Plane> low = with(operand, constant(operand, setting.low)),
                             high = with(operand, constant(operand, setting.high));
    const Plane elements = all(setting.element);
    for (const auto& everywhere : {low, high})
      visit({.part = Part::operand, .planes = {elements}, .operands = {everywhere}});
    by_bits(nest_.channels, elements, low, high, [](int64_t, int64_t c) { return c; });
    if (is_per_channel(nest_, operand)) return;
    by_bits(batch_, elements, low, high, [](int64_t n, int64_t) { return n; });
    for (int bit = 0; bit < static_cast<int>(std::bit_width(uint64_t(outputs_ - 1))); ++bit)
      for (const int64_t value : {0, 1}) {
        Plane mixed = low[operand];
        for (size_t i = 0; i < mixed.size(); ++i)
          if (int64_t(i >> bit & 1) == value) mixed[i] = setting.high;
        visit({.part = Part::operand, .planes = {elements}, .operands = {with(operand, std::move(mixed))}});
      }
  }

  void by_bits(int64_t count, const Plane& elements, const std::vector<Plane>& low,
               const std::vector<Plane>& high, int64_t (*number)(int64_t, int64_t)) {
    for (int bit = 0; bit < static_cast<int>(std::bit_width(uint64_t(count - 1))); ++bit)
      for (const int64_t value : {0, 1})
        visit({.part = Part::operand,
               .planes = {elements, elements},
               .operands = {low, high},
               .chosen = [=](int64_t n, int64_t c) { return size_t((number(n, c) >> bit & 1) == value); }});
  }

  // --- what the steps make of values

  void values() {
    std::vector<uint64_t> elements = step_elements(nest_);
    const ir::DType dtype = nest_.input.dtype;
    if (ir::is_float(dtype)) elements.push_back(ir::quiet_nan_bits(dtype));
    if (ir::is_float(dtype) && nest_.is_extreme())
      elements.insert(elements.end(), {ir::infinity_bits(dtype),
                                       ir::infinity_bits(dtype) | ir::sign_bit(dtype), ir::sign_bit(dtype)});
    for (const uint64_t element : elements) visit({.part = Part::steps, .planes = {all(element)}});
  }

  void random_values() {
    if (neutral_.empty()) return;
    const auto rounds = rounds_needed(nest_);
    const std::vector<uint64_t> elements = step_elements(nest_);
    std::mt19937_64 random(1);
    for (int64_t round = 0; round < step_test_rounds; ++round) {
      Probe probe = random_probe(nest_, rounds.value_or(Rounds{}), uint64_t(round) + 1);
      probe.part = Part::steps;
      // An array of numbers per channel is the same for every batch.
      probe.chosen = [chosen = probe.chosen](int64_t, int64_t c) { return chosen(0, c); };
      for (Plane& plane : probe.planes) {
        if (nest_.is_extreme())
          for (uint64_t& element : plane) element = elements[random() % elements.size()];
        probe.operands.push_back(random_planes(random));
      }
      visit(probe);
    }
  }

  std::vector<Plane> random_planes(std::mt19937_64& random) const {
    std::vector<Plane> planes = neutral_;
    const auto views = operand_views(nest_);
    for (size_t i = 0; i < planes.size(); ++i)
      for (uint64_t& number : planes[i]) {
        double drawn = random_operands[random() % std::size(random_operands)];
        while (!can_hold(views[i].dtype, drawn))
          drawn = random_operands[random() % std::size(random_operands)];
        number = bits_of(views[i].dtype, drawn);
      }
    return planes;
  }

  const ir::PoolNest& nest_;
  const int64_t batch_;
  const Oracle& oracle_;
  const Visit& visit_;
  const std::vector<Plane> neutral_;
  int64_t outputs_ = 1;
  bool goes_on_ = true;
  StepProbes result_;
};

}  // namespace

StepProbes for_each_step_probe(const ir::PoolNest& nest, int64_t batch, const Oracle& oracle,
                               const Visit& visit) {
  return StepMaker(nest, batch, oracle, visit).run();
}

}  // namespace pooljit::runtime
