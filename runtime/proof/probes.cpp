#include "runtime/proof/probes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "ir/float_format.h"
#include "ir/interp/provenance.h"
#include "ir/prove.h"

namespace pooljit::runtime {
namespace {

constexpr PartInfo part_table[] = {
#define PART(name, text, shows) {text, shows},
#include "runtime/proof/parts.def"
#undef PART
};

// --- windows along one dimension

using Positions = std::vector<int64_t>;

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

// --- planes

class Planes {
 public:
  explicit Planes(const ir::PoolNest& nest) : nest_(nest) {
    for (const ir::NestDim& dim : nest.dims) size_ *= size_t(dim.input);
  }

  // bits(position) everywhere.
  template <typename Bits>
  Plane make(const Bits& bits) const {
    Plane plane;
    plane.reserve(size_);
    Positions at(nest_.dims.size(), 0);
    for (size_t i = 0; i < size_; ++i) {
      plane.push_back(bits(at));
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < nest_.dims[d].input) break;
        at[d] = 0;
      }
    }
    return plane;
  }
  Plane all(uint64_t bits) const { return Plane(size_, bits); }

 private:
  const ir::PoolNest& nest_;
  size_t size_ = 1;
};

// Every vector of offsets below the limits.
void for_each_offset(const Positions& limits, const std::function<bool(const Positions&)>& visit) {
  Positions offset(limits.size(), 0);
  while (visit(offset)) {
    size_t d = limits.size();
    while (d > 0 && ++offset[d - 1] == limits[d - 1]) offset[--d] = 0;
    if (d == 0) return;
  }
}

// What elements may be, in the order of the reduction.
struct Values {
  uint64_t least, most, middle;  // of numbers; middle lies between
  uint64_t nan = 0, zero = 0, minus_zero = 0;

  Values(ir::DType dtype, bool is_max) {
    least = ir::bits_of_integer(dtype, 0) | bits(ir::identity_bits(dtype, is_max), dtype);
    most = bits(ir::identity_bits(dtype, !is_max), dtype);
    middle = ir::bits_of_integer(dtype, 1);
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
      : nest_(nest),
        batch_(batch),
        visit_(visit),
        planes_(nest),
        values_(nest.input.dtype, nest.reduction == ir::Reduction::max) {
    for (const ir::NestDim& dim : nest.dims) {
      const int64_t wide = reach(dim);
      reach_.push_back(std::min(wide, dim.input));
      cuts_.push_back(std::min(2 * wide - 1, dim.input));
    }
  }

  bool extremum() {
    const bool has_nans = ir::is_float(nest_.input.dtype), ignores = nest_.nan == ir::NanRule::ignore;
    const bool ordered = nest_.indices || (has_nans && nest_.zeros == ir::ZeroRule::first);
    return one(Part::value, planes_.all(values_.least)) && one(Part::value, planes_.all(values_.most)) &&
           outside(Part::outside, values_.most, values_.least) &&
           lattices(Part::value, values_.most, values_.least) &&
           lattices(Part::value, values_.middle, values_.least) &&
           lattices(Part::value, values_.most, values_.middle) &&
           (!nest_.indices || cuts(Part::index, values_.least, values_.middle, values_.middle)) &&
           (!ordered || !has_nans ||
            (cuts(Part::index, values_.least, values_.zero, values_.minus_zero) &&
             cuts(Part::index, values_.least, values_.minus_zero, values_.zero))) &&
           (!has_nans || (ignores ? ignored_nans() : winning_nans()));
  }

  bool sum() {
    if (!ir::is_float(nest_.input.dtype)) return true;
    return outside(Part::outside, values_.nan, values_.middle) &&
           lattices(Part::nan, values_.nan, values_.middle);
  }

 private:
  bool one(Part part, Plane plane) { return visit_({part, {std::move(plane)}, {}}); }

  // `seen` everywhere outside of some windows, `kept` in them: those outputs must not see it.
  bool outside(Part part, uint64_t seen, uint64_t kept) {
    for (size_t d = 0; d < nest_.dims.size(); ++d)
      for (const std::vector<bool>& set : separating_sets(nest_.dims[d]))
        if (!one(part, planes_.make([&](const Positions& at) { return set[size_t(at[d])] ? seen : kept; })))
          return false;
    return by_bits(part, seen, kept, nest_.channels, [](int64_t, int64_t c) { return c; }) &&
           by_bits(part, seen, kept, batch_, [](int64_t n, int64_t) { return n; });
  }

  // The same for channels and batches: per bit of their number, `seen` where it is 1, then where it is 0.
  bool by_bits(Part part, uint64_t seen, uint64_t kept, int64_t count, int64_t (*number)(int64_t, int64_t)) {
    for (int bit = 0; bit < static_cast<int>(std::bit_width(uint64_t(count - 1))); ++bit)
      for (int64_t value : {0, 1})
        if (!visit_({part, {planes_.all(kept), planes_.all(seen)}, [=](int64_t n, int64_t c) {
                       return size_t((number(n, c) >> bit & 1) == value);
                     }}))
          return false;
    return true;
  }

  // `point` on a lattice of which a window holds at most one, `rest` elsewhere.
  bool lattices(Part part, uint64_t point, uint64_t rest) {
    bool goes_on = true;
    for_each_offset(reach_, [&](const Positions& offset) {
      return goes_on = one(part, planes_.make([&](const Positions& at) {
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
      return goes_on = one(part, planes_.make([&](const Positions& at) {
               for (size_t d = 0; d < at.size(); ++d) {
                 const int64_t ahead = ((at[d] - cut[d]) % cuts_[d] + cuts_[d]) % cuts_[d];
                 const bool is_whole = cuts_[d] == nest_.dims[d].input;  // one cut: nothing repeats
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
    return one(Part::nan, planes_.all(values_.nan)) && lattices(Part::nan, values_.middle, values_.nan) &&
           lattices(Part::nan, values_.nan, values_.middle) &&
           (!nest_.indices || (cuts(Part::nan, values_.nan, values_.middle, values_.middle) &&
                               cuts(Part::nan, values_.nan, values_.least, values_.least)));
  }

  const ir::PoolNest& nest_;
  int64_t batch_;
  const Visit& visit_;
  Planes planes_;
  Values values_;
  Positions reach_, cuts_;
};

}  // namespace

const PartInfo& info(Part part) { return part_table[size_t(part)]; }

void for_each_probe(const ir::PoolNest& nest, int64_t batch, const Visit& visit) {
  Maker maker(nest, batch, visit);
  ir::is_extremum(nest) ? maker.extremum() : maker.sum();
}

namespace {

constexpr double wanted_log2_error = -64;
constexpr size_t random_planes = 16;
constexpr int64_t most_rounds = 4096;

// The largest factor of a divisor that the dimension gives.
int64_t most_counted(const ir::NestDim& dim) {
  int64_t most = 1;
  for (int64_t o = 0; o < dim.output; ++o)
    most = std::max({most, dim.window(o).taps, dim.window(o).padded_taps});
  return most;
}

}  // namespace

// A wrong kernel is off by a whole number k > 0 of some element at least. With the others fixed, that element
// takes `range` values, and the output agrees for few of them: for one, where each sum gives another output;
// where outputs are whole numbers, for those whose sums lie within a divisor of each other. Planes are
// shared: an element of another channel is the same number with probability 1 / random_planes.
Rounds rounds_needed(const ir::PoolNest& nest) {
  Rounds result;
  int64_t most_divisor = 1;
  const int64_t taps = nest.full_taps();
  for (const ir::NestDim& dim : nest.dims) most_divisor *= most_counted(dim);
  if (nest.divisor_override) most_divisor = std::abs(*nest.divisor_override);
  double agreement = 1;
  if (ir::is_float(nest.output.dtype)) {
    const int64_t most_sum = int64_t{1} << (std::min(ir::mantissa_bits(nest.output.dtype), 24) - 1);
    result.range = std::clamp<int64_t>(most_sum / taps, 2, 256);
    agreement = 1.0 / double(result.range);
  } else {
    const double most = std::ldexp(1.0, ir::info(nest.output.dtype).bits) - 1;
    result.range =
        std::clamp<int64_t>(int64_t(most * double(most_divisor) / double(taps)) + 1, 2, int64_t{256});
    agreement = double(2 * most_divisor + 1) / double(result.range);
    result.one_fault = agreement > 0.9;
    if (result.one_fault)
      agreement = 1 - std::min(0.5, double(result.range - 1) / (4 * double(most_divisor)));
  }
  agreement = std::min(agreement + 1.0 / double(random_planes), 0.9999);
  const double needed = std::ceil(wanted_log2_error / std::log2(agreement));
  result.rounds = std::min<int64_t>(int64_t(needed), most_rounds);
  result.log2_error = double(result.rounds) * std::log2(agreement);
  return result;
}

Probe random_probe(const ir::PoolNest& nest, const Rounds& rounds, uint64_t seed) {
  std::mt19937_64 random(seed);
  const Planes planes(nest);
  Probe probe;
  probe.part = Part::weight;
  for (size_t i = 0; i < random_planes; ++i)
    probe.planes.push_back(planes.make([&](const Positions&) {
      return ir::bits_of_integer(nest.input.dtype, int64_t(random() % uint64_t(rounds.range)));
    }));
  probe.chosen = [seed, channels = nest.channels](int64_t n, int64_t c) {
    uint64_t hash = (seed + uint64_t(n * channels + c)) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9;
    return size_t(hash >> 32) % random_planes;
  };
  return probe;
}

}  // namespace pooljit::runtime
