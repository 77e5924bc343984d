#include "runtime/tuning/numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <ranges>

#include "ir/element_type.h"

namespace pooljit::runtime {
namespace {

constexpr size_t block = 4099;  // a prime: no stride of a tensor is a multiple of it

// Repeats what make(random) gives.
template <typename T, typename Make>
void fill_by_blocks(uint64_t seed, std::span<std::byte> bytes, Make make) {
  std::mt19937_64 random(seed + 1);
  const size_t count = std::min(block, bytes.size() / sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    const T value = make(random());
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof value);
  }
  for (size_t done = count * sizeof(T); done > 0 && done < bytes.size();) {
    const size_t more = std::min(done, bytes.size() - done);
    std::memcpy(bytes.data() + done, bytes.data(), more);
    done += more;
  }
}

// Fraction bits with which the sum of a window, of squares for p = 2, fits the 24 bits of a float32.
int exact_bits(const ir::PoolNest& nest) {
  constexpr int bits = 23, most = 6;
  const int of_taps = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(nest.full_taps(), 1)));
  const int left = nest.is_norm() ? (bits - of_taps - 1) / 2 : bits - of_taps;
  return std::clamp(left, 0, most);
}

template <typename T>
T telling_of_extremes(uint64_t random) {
  constexpr uint64_t nan_share = 64;
  if (random % nan_share != 0) return static_cast<T>(random & 64 ? -0.0 : 0.0);
  T nan = static_cast<T>(std::nan(""));
  // The lowest byte is part of the payload.
  auto bits = std::bit_cast<std::array<std::byte, sizeof(T)>>(nan);
  bits[0] = static_cast<std::byte>(random >> 32);
  return std::bit_cast<T>(bits);
}

// `small` is lost when it is added to `large`, in the accumulator.
template <typename T>
T telling_of_sums(uint64_t random) {
  const double large = std::ldexp(1, 15);
  const double small = std::ldexp(1, sizeof(T) == sizeof(double) ? 15 - 56 : 15 - 27);
  const double sign = random & 1 ? -1 : 1;
  if (random & 2) return static_cast<T>(sign * large);
  return static_cast<T>(sign * small * (1 + std::ldexp(static_cast<double>(random >> 12), -52)));
}

// Nearly all 1, so that the product of a large window is a number.
template <typename T>
T power_of_two(uint64_t random) {
  constexpr uint64_t share = 64;
  const double size = random % share != 0 ? 1 : (random >> 8) % 2 != 0 ? 2 : 0.5;
  return static_cast<T>((random >> 16) % 2 != 0 ? size : -size);
}

// Around 1, of all digits.
template <typename T>
T telling_of_products(uint64_t random) {
  return static_cast<T>(0.5 + std::ldexp(static_cast<double>(random >> 12), -52));
}

}  // namespace

void fill_with_exact_sums(const ir::PoolNest& nest, uint64_t seed, ir::DType dtype,
                          std::span<std::byte> bytes) {
  const int bits = std::ranges::min(pools_of(nest) | std::views::transform(exact_bits));
  const bool is_product = std::ranges::any_of(pools_of(nest), [](const ir::PoolNest& pool) {
    return info(pool.reduction).kind == ir::ReductionKind::product;
  });
  ir::with_element_type(dtype, [&]<typename T>(T) {
    fill_by_blocks<T>(seed, bytes, [&](uint64_t random) {
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(random);
      else if (is_product)
        return power_of_two<T>(random);
      else
        return static_cast<T>(
            1 + std::ldexp(static_cast<double>(random >> (64 - 8) & ((1U << bits) - 1)), -bits));
    });
  });
}

void fill_telling_orders(const ir::PoolNest& nest, uint64_t seed, ir::DType dtype,
                         std::span<std::byte> bytes) {
  const ir::PoolNest& pool = pools_of(nest)[seed % pools_of(nest).size()];
  ir::with_element_type(dtype, [&]<typename T>(T) {
    fill_by_blocks<T>(seed, bytes, [&](uint64_t random) {
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(random);
      } else {
        switch (pool.is_backward() ? ir::ReductionKind::sum : info(pool.reduction).kind) {
          case ir::ReductionKind::extreme:
            return telling_of_extremes<T>(random);
          case ir::ReductionKind::product:
            return telling_of_products<T>(random);
          case ir::ReductionKind::sum:
          case ir::ReductionKind::norm:
            return telling_of_sums<T>(random);
        }
        return T{};
      }
    });
  });
}

}  // namespace pooljit::runtime
