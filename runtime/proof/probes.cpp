#include "runtime/proof/probes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/float_format.h"
#include "proof/program/prove.h"
#include "proof/program/provenance.h"
#include "runtime/proof/rounds.h"
#include "runtime/proof/step_rounds.h"
#include "runtime/proof/through.h"

namespace pooljit::runtime {
namespace {

constexpr ProofPartInfo part_table[] = {
#define PART(name, text, shows) {text, shows},
#include "runtime/proof/parts.def"
#undef PART
};

// --- windows along one dimension

Positions window(const ir::NestDim& dim, int64_t output) {
  const ir::Window w = dim.window(output);
  Positions positions;
  for (int64_t i = 0; i < w.taps; ++i) positions.push_back(w.first + i * w.step);
  return positions;
}

// Positions from the first to the last of any window: a window holds at most one of a lattice this wide.
int64_t reach(const ir::NestDim& dim) {
  int64_t widest = 1;
  for (int64_t o = 0; o < dim.output; ++o) {
    const ir::Window w = dim.window(o);
    if (w.taps > 0) widest = std::max(widest, (w.taps - 1) * w.step + 1);
  }
  return widest;
}

// Classes of outputs whose windows do not meet.
std::vector<std::vector<Positions>> disjoint_classes(const ir::NestDim& dim) {
  std::vector<std::vector<Positions>> classes;
  std::vector<std::vector<bool>> taken;
  Positions last;
  for (int64_t o = 0; o < dim.output; ++o) {
    Positions w = window(dim, o);
    if (o > 0 && w == last) continue;  // repeated windows are told by the same probes
    last = w;
    size_t c = 0;
    const auto meets = [&](const std::vector<bool>& used) {
      return std::any_of(w.begin(), w.end(), [&](int64_t x) { return used[size_t(x)]; });
    };
    while (c < classes.size() && meets(taken[c])) ++c;
    if (c == classes.size()) {
      classes.emplace_back();
      taken.emplace_back(size_t(dim.input), false);
    }
    for (int64_t x : w) taken[c][size_t(x)] = true;
    classes[c].push_back(std::move(w));
  }
  return classes;
}

// Sets of positions of which each misses some windows; for each window and each position outside of it, one
// of those that miss the window holds the position. Two per bit of a window's number in its class.
std::vector<std::vector<bool>> separating_sets(const ir::NestDim& dim) {
  std::vector<std::vector<bool>> sets;
  for (const std::vector<Positions>& members : disjoint_classes(dim)) {
    const int bits = static_cast<int>(std::bit_width(members.size() - 1));
    for (int probe = 0; probe < std::max(1, 2 * bits); ++probe) {
      std::vector<bool> set(size_t(dim.input), true);
      for (size_t m = 0; m < members.size(); ++m)
        if (bits == 0 || (m >> (probe / 2) & 1) == size_t(probe % 2))
          for (int64_t x : members[m]) set[size_t(x)] = false;
      sets.push_back(std::move(set));
    }
  }
  return sets;
}

// Every vector of offsets below the limits.
void for_each_offset(const Positions& limits, const std::function<bool(const Positions&)>& visit) {
  Positions offset(limits.size(), 0);
  while (visit(offset)) {
    size_t d = limits.size();
    while (d > 0 && ++offset[d - 1] == limits[d - 1]) offset[--d] = 0;
    if (d == 0) return;
  }
}

// Values of elements, in the order of the reduction; where there are steps, so that these tell them apart.
struct Values {
  uint64_t least, most, middle;  // of numbers; middle lies between
  uint64_t nan = 0, zero = 0, minus_zero = 0;

  explicit Values(const ir::PoolNest& nest) {
    const ir::DType dtype = nest.input.dtype;
    const bool is_max = nest.is_maximum();
    least = ir::bits_of_integer(dtype, 0) | bits(ir::identity_bits(dtype, is_max), dtype);
    most = bits(ir::identity_bits(dtype, !is_max), dtype);
    middle = ir::bits_of_integer(dtype, 1);
    if (nest.is_extreme() && !nest.epilogue.empty()) {
      const Ordered told = told_apart(nest, {least, middle, most});
      least = told.least, middle = told.middle, most = told.most;
    }
    if (!ir::is_float(dtype)) return;
    nan = ir::quiet_nan_bits(dtype);
    minus_zero = ir::sign_bit(dtype);
  }

 private:
  static uint64_t bits(int64_t lane, ir::DType dtype) {
    return static_cast<uint64_t>(lane) << (64 - ir::info(dtype).bits) >> (64 - ir::info(dtype).bits);
  }
};

// --- the probes, family by family. Each function returns false once visit does.

class Maker {
 public:
  Maker(const ir::PoolNest& nest, int64_t batch, const Visit& visit)
      : nest_(nest), batch_(batch), visit_(visit), values_(nest), unit_(probe_unit(nest)) {
    for (const ir::NestDim& dim : nest.dims) {
      const int64_t wide = reach(dim);
      reach_.push_back(std::min(wide, dim.input));
      cuts_.push_back(std::min(2 * wide - 1, dim.input));
    }
  }

  bool extremum() {
    const bool has_nans = ir::is_float(nest_.input.dtype), ignores = nest_.nan == ir::NanRule::ignore;
    const bool ordered = nest_.indices || (has_nans && nest_.zeros == ir::ZeroRule::first);
    return one(Part::value, all(values_.least)) && one(Part::value, all(values_.most)) &&
           outside(Part::outside, values_.most, values_.least) &&
           lattices(Part::value, values_.most, values_.least) &&
           lattices(Part::value, values_.middle, values_.least) &&
           lattices(Part::value, values_.most, values_.middle) &&
           (!has_nans || lattices(Part::value, bits_of(nest_.input.dtype, -1), values_.least)) &&
           (!nest_.indices || cuts(Part::index, values_.least, values_.middle, values_.middle)) &&
           (!ordered || !has_nans ||
            (cuts(Part::index, values_.least, values_.zero, values_.minus_zero) &&
             cuts(Part::index, values_.least, values_.minus_zero, values_.zero))) &&
           (!has_nans || (ignores ? ignored_nans() : winning_nans()));
  }

  // By NaNs among numbers whose sum or product is exact.
  bool sum(int64_t whole) {
    const uint64_t number = this->number(whole);
    if (!ir::is_float(nest_.input.dtype)) return true;
    return outside(Part::outside, values_.nan, number) && lattices(Part::nan, values_.nan, number);
  }

  // An element of either sign, or several, among smaller ones. Zeros show what does not take part, however
  // rounded.
  bool norm() {
    const ir::DType dtype = nest_.input.dtype;
    if (!sum(0) || !outside(Part::outside, number(-3), 0) || !one(Part::value, all(0))) return false;
    for (int64_t sign : {1, -1})
      if (!lattices(Part::value, number(3 * sign), 0)) return false;
    if (!std::isinf(nest_.norm_type)) return true;
    for (int64_t sign : {1, -1})
      if (!lattices(Part::value, number(3 * sign), number(-2 * sign)) ||
          !lattices(Part::value, number(2 * sign), number(3)))
        return false;
    const uint64_t minus_infinity = values_.minus_zero | ir::infinity_bits(dtype);
    return lattices(Part::value, minus_infinity, number(1)) &&
           lattices(Part::nan, values_.nan, minus_infinity);
  }

  // A NaN that no index asks for reaches nothing; one that is asked for, its own tap.
  bool chosen() {
    const ir::PoolNest forward = forward_of(nest_);
    const auto indices = [&](bool last) {
      return make_plane(nest_, [&](const Positions& at) {
        int64_t taps = 1;
        for (size_t d = 0; d < at.size(); ++d) taps *= forward.dims[d].window(at[d]).taps;
        return tap_position(forward, at, last ? taps - 1 : 0);
      });
    };
    if (!visit_({Part::nan, {all(values_.nan)}, {all(no_index)}})) return false;
    for (const bool last : {false, true}) {
      const Plane taps = indices(last);
      const Visit whole = [&](const Probe& probe) { return visit_({probe.part, probe.planes, {taps}}); };
      if (!Maker(nest_, batch_, whole).lattices(Part::nan, values_.nan, 0)) return false;
    }
    return true;
  }

 private:
  uint64_t number(int64_t whole) const {
    const ir::DType dtype = nest_.input.dtype;
    return unit_ == 1 ? ir::bits_of_integer(dtype, whole) : bits_of(dtype, double(whole) * unit_);
  }
  Plane all(uint64_t bits) const {
    return make_plane(nest_, [&](const Positions&) { return bits; });
  }
  bool one(Part part, Plane plane) { return visit_({part, {std::move(plane)}}); }

  // `seen` everywhere outside of some windows, `kept` in them: those outputs must not see it.
  bool outside(Part part, uint64_t seen, uint64_t kept) {
    for (size_t d = 0; d < nest_.dims.size(); ++d)
      for (const std::vector<bool>& set : separating_sets(nest_.dims[d]))
        if (!one(part,
                 make_plane(nest_, [&](const Positions& at) { return set[size_t(at[d])] ? seen : kept; })))
          return false;
    return by_bits(part, seen, kept, nest_.channels, [](int64_t, int64_t c) { return c; }) &&
           by_bits(part, seen, kept, batch_, [](int64_t n, int64_t) { return n; });
  }

  // The same for channels and batches: per bit of their number, `seen` where it is 1, then where it is 0.
  bool by_bits(Part part, uint64_t seen, uint64_t kept, int64_t count, int64_t (*number)(int64_t, int64_t)) {
    for (int bit = 0; bit < static_cast<int>(std::bit_width(uint64_t(count - 1))); ++bit)
      for (int64_t value : {0, 1})
        if (!visit_({.part = part, .planes = {all(kept), all(seen)}, .chosen = [=](int64_t n, int64_t c) {
                       return size_t((number(n, c) >> bit & 1) == value);
                     }}))
          return false;
    return true;
  }

  // `point` on a lattice of which a window holds at most one, `rest` elsewhere.
  bool lattices(Part part, uint64_t point, uint64_t rest) {
    bool goes_on = true;
    for_each_offset(reach_, [&](const Positions& offset) {
      return goes_on = one(part, make_plane(nest_, [&](const Positions& at) {
                             for (size_t d = 0; d < at.size(); ++d)
                               if (at[d] % reach_[d] != offset[d]) return rest;
                             return point;
                           }));
    });
    return goes_on;
  }

  // A window that holds the cut sees `before` on its taps before it, `first` at it, `after` behind it, in
  // row-major order.
  bool cuts(Part part, uint64_t before, uint64_t first, uint64_t after) {
    bool goes_on = true;
    for_each_offset(cuts_, [&](const Positions& cut) {
      return goes_on = one(part, make_plane(nest_, [&](const Positions& at) {
                             for (size_t d = 0; d < at.size(); ++d) {
                               const int64_t ahead = ((at[d] - cut[d]) % cuts_[d] + cuts_[d]) % cuts_[d];
                               const bool is_whole =
                                   cuts_[d] == nest_.dims[d].input;  // one cut: nothing repeats
                               const bool behind = is_whole ? at[d] > cut[d] : ahead < reach_[d];
                               if (ahead != 0) return behind ? after : before;
                             }
                             return first;
                           }));
    });
    return goes_on;
  }

  bool winning_nans() {
    return outside(Part::nan, values_.nan, values_.middle) &&
           lattices(Part::nan, values_.nan, values_.least) &&
           lattices(Part::nan, values_.nan, values_.most) &&
           (!nest_.indices || (cuts(Part::nan, values_.nan, values_.nan, values_.most) &&
                               cuts(Part::nan, values_.most, values_.nan, values_.least)));
  }

  bool ignored_nans() {
    return one(Part::nan, all(values_.nan)) && lattices(Part::nan, values_.middle, values_.nan) &&
           lattices(Part::nan, values_.nan, values_.middle) &&
           (!nest_.indices || (cuts(Part::nan, values_.nan, values_.middle, values_.middle) &&
                               cuts(Part::nan, values_.nan, values_.least, values_.least)));
  }

  const ir::PoolNest& nest_;
  int64_t batch_;
  const Visit& visit_;
  Values values_;
  double unit_;  // of whole numbers
  Positions reach_, cuts_;
};

}  // namespace

std::optional<ProofArgument> argument_of(const ir::PoolNest& nest) {
  if (nest.direction == ir::Direction::unpool || nest.is_norm_gradient()) return std::nullopt;
  if (nest.is_backward()) return nest.indices ? ProofArgument::chosen : ProofArgument::shared;
  switch (info(nest.reduction).kind) {
    case ir::ReductionKind::extreme:
      return ProofArgument::extremum;
    case ir::ReductionKind::sum:
      return ProofArgument::sum;
    case ir::ReductionKind::norm:
      return ProofArgument::norm;
    case ir::ReductionKind::product:
      return ProofArgument::product;
  }
  return std::nullopt;
}

Plane make_plane(const ir::PoolNest& nest, const std::function<uint64_t(const Positions&)>& bits) {
  size_t size = 1;
  for (const ir::NestDim& dim : nest.dims) size *= size_t(dim.input);
  Plane plane;
  plane.reserve(size);
  Positions at(nest.dims.size(), 0);
  for (size_t i = 0; i < size; ++i) {
    plane.push_back(bits(at));
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < nest.dims[d].input) break;
      at[d] = 0;
    }
  }
  return plane;
}

uint64_t tap_position(const ir::PoolNest& forward, const Positions& output, int64_t tap) {
  uint64_t position = 0, stride = 1;
  for (size_t d = output.size(); d-- > 0;) {
    const ir::Window window = forward.dims[d].window(output[d]);
    if (window.taps == 0) return no_index;
    position += stride * uint64_t(window.first + tap % window.taps * window.step);
    tap /= window.taps;
    stride *= uint64_t(forward.dims[d].input);
  }
  return position;
}

const ProofPartInfo& info(Part part) { return part_table[size_t(part)]; }

std::vector<std::string_view> hidden_by_steps(const ir::PoolNest& nest) {
  if (nest.epilogue.empty()) return {};
  std::vector<std::string_view> hidden;
  const Through through(nest);
  if (argument_of(nest) == ProofArgument::extremum) {
    const Values values(nest);
    const auto output = [&](uint64_t element) {
      return through.output(number_of(nest.input.dtype, element));
    };
    if (output(values.least) == output(values.most))
      hidden.emplace_back("which elements an output takes, which its steps do not let be seen");
    else if (ir::is_float(nest.input.dtype) && output(values.nan) == output(values.most))
      hidden.emplace_back("what becomes of NaNs, which the steps do not let be seen");
    return hidden;
  }
  if (argument_of(nest) == ProofArgument::product) return hidden;
  const bool is_norm = argument_of(nest) == ProofArgument::norm,
             is_largest = is_norm && std::isinf(nest.norm_type);
  const double unit = probe_unit(nest);
  if (is_largest && norms_told(nest, unit) < 5)
    hidden.emplace_back("of some magnitudes which is larger, which the steps do not let be seen");
  if (is_norm && !is_largest && through.output(0) == through.output(3 * unit))
    hidden.emplace_back("which elements a norm takes, which its steps do not let be seen");
  const bool has_empty = std::ranges::any_of(nest.dims, [](const ir::NestDim& dim) {
    for (int64_t o = 0; o < dim.output; ++o)
      if (dim.window(o).taps == 0) return true;
    return false;
  });
  if (has_empty && (through.output(0) == through.output(unit) || through.output(0) == through.output(-unit)))
    hidden.emplace_back("that nothing reaches the output of an empty window but what the steps make 0 of");
  return hidden;
}

void for_each_probe(const ir::PoolNest& nest, int64_t batch, const Visit& visit) {
  Maker maker(nest, batch, visit);
  switch (*argument_of(nest)) {
    case ProofArgument::extremum:
      return void(maker.extremum());
    case ProofArgument::sum:
    case ProofArgument::product:
      return void(maker.sum(1));
    case ProofArgument::norm:
      return void(maker.norm());
    case ProofArgument::shared:
      return void(maker.sum(0));
    case ProofArgument::chosen:
      return void(maker.chosen());
  }
}

}  // namespace pooljit::runtime
