#include "runtime/proof/rounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "ir/float_format.h"
#include "runtime/proof/agreement.h"
#include "runtime/proof/step_rounds.h"
#include "runtime/proof/through.h"

namespace pooljit::runtime {
namespace {

constexpr std::string_view sentences[] = {
#define CLAIM(name, sentence) sentence,
#include "runtime/proof/claims.def"
#undef CLAIM
};

// Sums up to it are exact in every accumulator.
constexpr double float_sum = 0x1p23;
// Ranges of floats, whose sums have few digits; of integers.
constexpr int64_t most_range = 256, most_integers = int64_t{1} << 40;
// Where the output has too few digits for all sums, most elements are 0: their mean is this share of what it
// has.
constexpr int64_t sparse_share = 4;
// Rounds that test what is not proved, and how large their numbers are.
constexpr int64_t test_rounds = 16, test_numbers = 5;
// One index in so many is any element of the plane.
constexpr int64_t elsewhere = 8;

// The least common multiple; nothing beyond `most`.
std::optional<int64_t> common_multiple(const std::set<int64_t>& numbers, int64_t most) {
  int64_t multiple = 1;
  for (int64_t number : numbers) {
    multiple = multiple / std::gcd(multiple, number);
    if (multiple > most / number) return std::nullopt;
    multiple *= number;
  }
  return multiple;
}

// Numbers below which all sums of `taps` of them have their own float.
int64_t exact_sum(ir::DType output) { return int64_t{1} << (std::min(ir::mantissa_bits(output), 24) - 1); }

bool is_sparse(int64_t taps, int64_t most_sum) { return taps > most_sum; }

// Ones, of one sign or both, among zeros.
Rounds sparse(int64_t taps, int64_t most_sum, bool both_signs, Claim claim) {
  Rounds rounds = {.least = both_signs ? -1 : 1, .range = both_signs ? 2 : 1, .step = 2, .claim = claim};
  rounds.sparse = std::max<int64_t>(1, taps / std::max<int64_t>(most_sum / sparse_share, 1));
  return with_agreement(rounds, both_signs ? 0.5 : 0);
}

// --- sums and averages

Rounds float_sums(const ir::PoolNest& nest) {
  const int64_t most = exact_sum(nest.output.dtype), taps = nest.full_taps();
  Rounds rounds;
  rounds.range = std::clamp<int64_t>(most / taps, 2, most_range);
  // A wrong divisor shows where an output has digits for it.
  if (double(*divisors(nest).rbegin() + 1) > std::ldexp(1.0, ir::mantissa_bits(nest.output.dtype)))
    rounds.claim = Claim::right_divisor;
  if (is_sparse(taps, most)) return sparse(taps, most, false, rounds.claim);
  return with_agreement(rounds, 1.0 / double(rounds.range));
}

double largest(ir::DType dtype) {
  if (ir::is_float(dtype)) return double(int64_t{1} << (ir::mantissa_bits(dtype) + 1));
  return std::ldexp(1.0, ir::info(dtype).bits - (ir::is_signed_int(dtype) ? 1 : 0)) - 1;
}
double smallest(ir::DType dtype) { return ir::is_signed_int(dtype) ? -largest(dtype) - 1 : 0; }

// An integer output agrees for sums within a divisor of each other.
Rounds rounded_sums(const ir::PoolNest& nest, int64_t most_divisor) {
  const double most_in = largest(nest.input.dtype), most_out = largest(nest.output.dtype);
  const double per_number = double(nest.full_taps()) / double(most_divisor);
  Rounds rounds;
  double coarse = double(most_divisor);
  if (nest.quantization) {
    const ir::Quantization& q = *nest.quantization;
    const double ratio = q.scale / q.output_scale, slope = ratio * std::max(per_number, 1.0);
    const auto number = [&](double stored) { return (stored - double(q.output_zero_point)) / slope; };
    const double low =
        std::max(smallest(nest.input.dtype) - double(q.zero_point), number(smallest(nest.output.dtype)));
    const double high = std::min(most_in - double(q.zero_point), number(most_out));
    rounds.least = q.zero_point + int64_t(std::ceil(low));
    rounds.range = std::max<int64_t>(int64_t(high) - int64_t(std::ceil(low)) + 1, 2);
    coarse /= ratio;
  } else {
    double most = std::min({most_in, most_out / std::max(per_number, 1.0), double(most_integers)});
    if (ir::is_float(nest.input.dtype)) most = std::min(most, float_sum / double(nest.full_taps()));
    rounds.range = std::max<int64_t>(int64_t(most) + 1, 2);
  }
  const double agreement = (2 * coarse + 1) / double(rounds.range);
  if (agreement < 0.9) return with_agreement(rounds, agreement);
  rounds.claim = Claim::one_tap;
  return with_agreement(rounds, 1 - std::min(0.5, double(rounds.range - 1) / (4 * coarse)));
}

// Multiples of all divisors make each quotient whole, so that every unit of a weight shows.
std::optional<Rounds> whole_quotients(const ir::PoolNest& nest, const std::set<int64_t>& counts) {
  const double growth = std::max(1.0, double(nest.full_taps()) / double(*counts.rbegin()));
  const double most = std::min({largest(nest.input.dtype), largest(nest.output.dtype) / growth, 0x1p62});
  const auto multiple = common_multiple(counts, int64_t(most));
  if (!multiple || nest.quantization) return std::nullopt;
  Rounds rounds;
  rounds.step = *multiple;
  rounds.range = std::min(int64_t(most / double(*multiple)) + 1, most_integers);
  const double by_divisor = double(*counts.rbegin() + 2) / double(rounds.range);
  if (by_divisor < 0.5) return with_agreement(rounds, by_divisor);
  rounds.claim = Claim::right_divisor;
  return with_agreement(rounds, 1.0 / double(rounds.range));
}

Rounds sums(const ir::PoolNest& nest) {
  if (ir::is_float(nest.output.dtype) && !nest.quantization) return float_sums(nest);
  const std::set<int64_t> counts = divisors(nest);
  const Rounds plain = rounded_sums(nest, *counts.rbegin());
  if (ir::is_float(nest.input.dtype)) return plain;
  const auto whole = whole_quotients(nest, counts);
  return whole ? better(plain, *whole) : plain;
}

// --- norms

// Of either sign. A sum of magnitudes: a|x| + bx takes a value for one half of the numbers at most. Of
// squares: a polynomial of degree 2 has two zeros. A root is told from the next one's in half of an output's
// digits.
Rounds norms(const ir::PoolNest& nest) {
  const int64_t taps = nest.full_taps();
  const bool is_square = nest.norm_type == 2;
  if (has_tested_values(nest)) {
    const int64_t most = nest.norm_type > 16 ? 1 : test_numbers;
    return {.rounds = test_rounds, .least = -most, .range = 2 * most + 1, .unit = probe_unit(nest)};
  }
  const int64_t most = exact_sum(nest.output.dtype) / (is_square ? 2 : 1), share = most / taps;
  const int64_t size =
      std::clamp<int64_t>(is_square ? int64_t(std::sqrt(double(share))) : share, 1, most_range / 2);
  const Rounds rounds = {.least = -size, .range = 2 * size + 1};
  if (is_sparse(taps, most)) return sparse(taps, most, true, Claim::any);
  return with_agreement(rounds, double(is_square ? 2 : size + 1) / double(rounds.range));
}

// --- products

// Powers of two of either sign, whose exponents add up. Integers that stay integers are odd numbers: each has
// an inverse modulo 2^n, so that no two of them give one product.
Rounds products(const ir::PoolNest& nest) {
  const ir::DType input = nest.input.dtype, output = nest.result_dtype();
  const Claim claim = has_tested_values(nest) ? Claim::tested : Claim::factors;
  if (!ir::is_float(input) && !ir::is_float(output)) return with_agreement({.claim = claim}, 0.5);
  // Exponents up to this one have numbers on either side, whatever the sum of some taps is.
  const auto most_exponent = [](ir::DType dtype) -> int64_t {
    if (!ir::is_float(dtype)) return ir::info(dtype).bits - 2;
    const int digits = ir::info(dtype).bits - ir::mantissa_bits(dtype) - 2;
    return (int64_t{1} << digits) - 2;
  };
  const int64_t most = std::min({most_exponent(output), most_exponent(nest.output.dtype),
                                 ir::is_float(input) ? most_exponent(input) : int64_t{62}});
  const bool both_signs = ir::is_float(input) && ir::is_float(nest.output.dtype);
  const int64_t taps = nest.full_taps();
  if (is_sparse(taps, most)) return sparse(taps, most, both_signs, claim);
  const int64_t size = std::min(most / taps, most_exponent(input));
  const Rounds rounds = {
      .least = both_signs ? -size : 0, .range = (both_signs ? 2 : 1) * size + 1, .claim = claim};
  return with_agreement(rounds, 1.0 / double(rounds.range));
}

// --- gradients

bool is_exact(ir::DType dtype, int64_t number) {
  while (number != 0 && number % 2 == 0) number /= 2;
  return number < int64_t{2} << ir::mantissa_bits(dtype);
}

// Multiples of each window's own divisor. No rounds: they would not be exact.
Rounds shared(const ir::PoolNest& nest) {
  const std::set<int64_t> counts = divisors(forward_of(nest));
  const int64_t taps = nest.full_taps();
  Rounds rounds;
  rounds.range = std::clamp<int64_t>(exact_sum(nest.output.dtype) / taps, 2, most_range);
  const auto are_exact = [&] {
    return std::ranges::all_of(counts, [&](int64_t count) {
      for (int64_t r = 0; r < rounds.range; ++r)
        if (!is_exact(nest.input.dtype, r * count)) return false;
      return true;
    });
  };
  while (rounds.range > 2 && !are_exact()) --rounds.range;
  if (!are_exact()) return {.rounds = 0};
  // By a wrong divisor a quotient is off by 1 / (divisor + 1) at least; rounding must not hide that.
  const double rounding =
      double(taps * taps * rounds.range) * std::ldexp(1.0, -ir::mantissa_bits(nest.output.dtype));
  const bool any = rounding * 4 * double(*counts.rbegin() + 1) <= 1 && rounds.range > 3;
  rounds.claim = any ? Claim::any : Claim::right_divisor;
  if (is_sparse(taps, exact_sum(nest.output.dtype)))
    return sparse(taps, exact_sum(nest.output.dtype), false, Claim::right_divisor);
  return with_agreement(rounds, (any ? 2.0 : 1.0) / double(rounds.range));
}

int64_t most_taps(const ir::PoolNest& forward) {
  int64_t taps = 1;
  for (const ir::NestDim& dim : forward.dims) taps *= dim.most_taps();
  return taps;
}

// With a gradient and all indices but one fixed, the index has to be one of its window's, at least, to show a
// fault.
Rounds chosen(const ir::PoolNest& nest) {
  Rounds rounds;
  rounds.range = std::clamp<int64_t>(exact_sum(nest.output.dtype) / nest.full_taps(), 2, most_range);
  const double choices = double(most_taps(forward_of(nest)) + 1);
  const double shown = (1 - 1.0 / double(elsewhere)) / choices * (1 - 1.0 / double(rounds.range));
  return with_agreement(rounds, 1 - shown);
}

// --- planes

uint64_t factor(const ir::PoolNest& nest, int64_t exponent, uint64_t random) {
  const ir::DType dtype = nest.input.dtype;
  if (!ir::is_float(dtype) && !ir::is_float(nest.result_dtype()))
    return ir::bits_of_integer(dtype, static_cast<int64_t>(random | 1));
  const bool is_negative = random % 2 != 0 && (ir::is_float(dtype) || ir::is_signed_int(dtype));
  const double power = std::ldexp(1.0, static_cast<int>(exponent));
  return bits_of(dtype, is_negative ? -power : power);
}

Plane random_numbers(const ir::PoolNest& nest, const Rounds& rounds, std::mt19937_64& random) {
  const bool is_shared = argument_of(nest) == ProofArgument::shared,
             is_product = argument_of(nest) == ProofArgument::product;
  const ir::PoolNest forward = is_shared ? forward_of(nest) : ir::PoolNest{};
  std::vector<ir::Window> windows(nest.dims.size());
  return make_plane(nest, [&](const Positions& at) {
    const bool is_zero = rounds.sparse > 1 && random() % uint64_t(rounds.sparse) != 0;
    int64_t number = rounds.least + rounds.step * int64_t(random() % uint64_t(rounds.range));
    for (size_t d = 0; is_shared && d < at.size(); ++d) windows[d] = forward.dims[d].window(at[d]);
    if (is_shared) number *= divisor(forward, windows);
    if (is_zero) number = 0;
    if (is_product) return factor(nest, number, random());
    return rounds.unit == 1 ? ir::bits_of_integer(nest.input.dtype, number)
                            : bits_of(nest.input.dtype, double(number) * rounds.unit);
  });
}

// Of each window a tap, or none; some others, where an index of the window could not be one of another tap.
Plane random_indices(const ir::PoolNest& nest, std::mt19937_64& random) {
  const ir::PoolNest forward = forward_of(nest);
  const bool can_be_any = nest.index_scope != ir::IndexScope::window;
  int64_t positions = 1;
  for (const ir::NestDim& dim : forward.dims) positions *= dim.input;
  return make_plane(nest, [&](const Positions& at) {
    if (random() % uint64_t(elsewhere) == 0) return can_be_any ? random() % uint64_t(positions) : no_index;
    int64_t taps = 1;
    for (size_t d = 0; d < at.size(); ++d) taps *= forward.dims[d].window(at[d]).taps;
    const auto tap = int64_t(random() % uint64_t(taps + 1));
    return tap == taps ? no_index : tap_position(forward, at, tap);
  });
}

}  // namespace

bool has_tested_values(const ir::PoolNest& nest) {
  if (argument_of(nest) == ProofArgument::product) return !nest.epilogue.empty();
  if (argument_of(nest) != ProofArgument::norm || std::isinf(nest.norm_type)) return false;
  return (nest.norm_type != 1 && nest.norm_type != 2) || !ir::is_float(nest.output.dtype);
}

std::string_view sentence(Claim claim) { return sentences[size_t(claim)]; }

std::optional<Rounds> rounds_needed(const ir::PoolNest& nest) {
  if (!nest.epilogue.empty() && !nest.is_extreme() && !std::isinf(nest.norm_type) && !has_tested_values(nest))
    return step_rounds(nest);
  switch (*argument_of(nest)) {
    case ProofArgument::extremum:
      return std::nullopt;
    case ProofArgument::sum:
      return sums(nest);
    case ProofArgument::norm:
      return std::isinf(nest.norm_type) ? std::nullopt : std::optional(norms(nest));
    case ProofArgument::product:
      return products(nest);
    case ProofArgument::shared:
      return shared(nest);
    case ProofArgument::chosen:
      return chosen(nest);
  }
  return std::nullopt;
}

double probe_unit(const ir::PoolNest& nest) {
  if (nest.epilogue.empty() || argument_of(nest) == ProofArgument::extremum ||
      argument_of(nest) == ProofArgument::product)
    return 1;
  if (argument_of(nest) == ProofArgument::norm && (std::isinf(nest.norm_type) || has_tested_values(nest)))
    return norm_unit(nest);
  return step_rounds(nest).unit;
}

Probe random_probe(const ir::PoolNest& nest, const Rounds& rounds, uint64_t seed) {
  std::mt19937_64 random(seed);
  Probe probe;
  probe.part = Part::weight;
  for (size_t i = 0; i < random_planes; ++i) {
    probe.planes.push_back(random_numbers(nest, rounds, random));
    if (argument_of(nest) == ProofArgument::chosen) probe.indices.push_back(random_indices(nest, random));
  }
  probe.chosen = [seed, channels = nest.channels](int64_t n, int64_t c) {
    uint64_t hash = (seed + uint64_t(n * channels + c)) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9;
    return size_t(hash >> 32) % random_planes;
  };
  return probe;
}

}  // namespace pooljit::runtime
