#include "runtime/check_data.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "ir/check.h"

namespace pooljit::runtime {
namespace {

using Random = std::mt19937_64;

constexpr std::array all_kinds = {DataKind::plain, DataKind::ties, DataKind::special, DataKind::range};

// Bits of float32 values that engines are likely to treat differently.
constexpr std::array<uint32_t, 14> special_floats = {
    0x00000000, 0x80000000,  // zeros
    0x7f800000, 0xff800000,  // infinities
    0x7fc00000, 0xffc00000,  // quiet NaNs
    0x7f800001, 0xff8fffff,  // signalling NaNs
    0x00000001, 0x807fffff,  // denormals
    0x7f7fffff, 0xff7fffff,  // the largest and the lowest number
    0x00800000, 0x3f800000,  // the smallest normal number; 1
};

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

float uniform(Random& random, float from, float to) {
  return std::uniform_real_distribution<float>(from, to)(random);
}

uint32_t random_float(DataKind kind, Random& random) {
  const uint64_t draw = random();
  switch (kind) {
    case DataKind::plain:
      return bits_of(uniform(random, -100, 100));
    case DataKind::ties: {
      constexpr std::array<float, 5> few = {-1.0F, -0.0F, 0.0F, 1.0F, 2.0F};
      return bits_of(few[draw % few.size()]);
    }
    case DataKind::special:
      if (draw % 3 == 0) return bits_of(uniform(random, -2, 2));
      // NaNs get distinct payloads: one that takes another's place is seen.
      if (draw % 64 == 1) return uint32_t(0x7f800000 | (random() & 0x807fffff));
      return special_floats[(draw >> 8) % special_floats.size()];
    case DataKind::range:
      return bits_of(std::ldexp(uniform(random, -1, 1), int(draw % 60) - 30));
  }
  return 0;
}

uint8_t random_byte(DataKind kind, Random& random) {
  const uint64_t draw = random();
  return static_cast<uint8_t>(kind == DataKind::ties ? 127 + draw % 3 : draw);
}

// Largest for a maximum, and changes every average.
void fill_gaps(ir::DType dtype, std::span<std::byte> memory) {
  if (!ir::is_float(dtype)) {
    std::ranges::fill(memory, std::byte{0xff});
    return;
  }
  constexpr float huge = 3.0e38F;
  for (size_t i = 0; i + sizeof huge <= memory.size(); i += sizeof huge)
    std::memcpy(&memory[i], &huge, sizeof huge);
}

}  // namespace

std::string_view name(DataKind kind) {
  constexpr std::array<std::string_view, all_kinds.size()> names = {"plain", "ties", "special", "range"};
  return names[static_cast<size_t>(kind)];
}

std::span<const DataKind> data_kinds(const ir::PoolNest& nest) {
  return std::span(all_kinds).first(ir::is_float(nest.input.dtype) ? all_kinds.size() : 2);
}

void for_each_element(const MemoryView& view, const std::function<void(int64_t)>& visit) {
  const int64_t count = view.element_count();
  std::array<int64_t, max_task_dims> at{};
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(offset);
    for (size_t d = view.rank; d-- > 0;) {
      const MemoryView::Dim& dim = view.dims()[d];
      offset += dim.stride;
      if (++at[d] < dim.extent) break;
      offset -= dim.extent * dim.stride;
      at[d] = 0;
    }
  }
}

void fill_input(const MemoryView& view, ir::DType dtype, DataKind kind, uint64_t seed,
                std::span<std::byte> memory) {
  Random random(seed);
  fill_gaps(dtype, memory);
  switch (dtype) {
    case ir::DType::f32:
      return for_each_element(view, [&](int64_t offset) {
        const uint32_t value = random_float(kind, random);
        std::memcpy(&memory[size_t(offset)], &value, sizeof value);
      });
    case ir::DType::u8:
      return for_each_element(
          view, [&](int64_t offset) { memory[size_t(offset)] = std::byte{random_byte(kind, random)}; });
    default:
      POOLJIT_CHECK(false, "check() has no data for this dtype");
  }
}

}  // namespace pooljit::runtime
