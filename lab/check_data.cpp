#include "lab/check_data.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ir/element_type.h"

namespace pooljit::runtime {
namespace {

using Random = std::mt19937_64;

constexpr std::array all_kinds = {DataKind::plain, DataKind::ties, DataKind::special, DataKind::range};

// Sizes of a float's fields: the exponent has what sign and mantissa leave.
struct FloatFormat {
  ir::DType dtype;
  int bits, mantissa;

  uint64_t sign() const { return uint64_t{1} << (bits - 1); }
  uint64_t infinity() const { return sign() - (uint64_t{1} << mantissa); }
  uint64_t one() const { return (infinity() >> 1) & ~((uint64_t{1} << mantissa) - 1); }
};

FloatFormat format_of(ir::DType dtype) {
  return ir::with_element_type(dtype, [&]<typename T>(T) {
    return FloatFormat{dtype, ir::info(dtype).bits, std::numeric_limits<T>::digits - 1};
  });
}

uint64_t bits_of(const FloatFormat& format, double value) {
  return ir::with_element_type(format.dtype, [&]<typename T>(T) {
    const auto element = static_cast<T>(value);
    uint64_t bits = 0;
    std::memcpy(&bits, &element, sizeof element);
    return bits;
  });
}

// Values that engines are likely to treat differently.
uint64_t special_float(const FloatFormat& format, uint64_t number) {
  const uint64_t sign = format.sign(), infinity = format.infinity(), normal = uint64_t{1} << format.mantissa;
  const std::array special = {
      uint64_t{0},
      sign,  // zeros
      infinity,
      sign | infinity,  // infinities
      infinity | normal / 2,
      sign | infinity | normal / 2,  // quiet NaNs
      infinity | 1,
      sign | infinity | (normal / 8 - 1),  // signalling NaNs
      uint64_t{1},
      sign | (normal - 1),  // denormals
      infinity - 1,
      sign | (infinity - 1),  // the largest and the lowest number
      normal,
      format.one(),  // the smallest normal number; 1
  };
  return special[number % special.size()];
}

double uniform(Random& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}

uint64_t random_float(const FloatFormat& format, DataKind kind, Random& random) {
  const uint64_t draw = random();
  switch (kind) {
    case DataKind::plain:
      return bits_of(format, uniform(random, -100, 100));
    case DataKind::ties: {
      constexpr std::array few = {-1.0, -0.0, 0.0, 1.0, 2.0};
      return bits_of(format, few[draw % few.size()]);
    }
    case DataKind::special:
      if (draw % 3 == 0) return bits_of(format, uniform(random, -2, 2));
      // NaNs get distinct payloads: one that takes another's place is seen.
      if (draw % 64 == 1) return format.infinity() | (random() & ~format.infinity());
      return special_float(format, draw >> 8);
    case DataKind::range:
      return bits_of(format, std::ldexp(uniform(random, -1, 1), static_cast<int>(draw % 60) - 30));
  }
  return 0;
}

uint64_t random_integer(ir::DType dtype, DataKind kind, Random& random) {
  const uint64_t draw = random();
  const uint64_t middle = uint64_t{1} << (ir::info(dtype).bits - 1);
  switch (kind) {
    case DataKind::ties:  // around zero, or the middle of what has no sign
      return (ir::is_signed_int(dtype) ? 0 : middle) + draw % 3 - 1;
    case DataKind::special: {
      const std::array special = {middle, middle - 1, middle + 1, middle - 2, uint64_t{0}, ~uint64_t{0}};
      return special[draw % special.size()];
    }
    default:
      return draw;
  }
}

uint64_t random_element(ir::DType dtype, DataKind kind, Random& random) {
  return ir::is_float(dtype) ? random_float(format_of(dtype), kind, random)
                             : random_integer(dtype, kind, random);
}

// Little-endian: the first bytes are the low ones.
void put(std::span<std::byte> memory, size_t offset, ir::DType dtype, uint64_t bits) {
  std::memcpy(&memory[offset], &bits, static_cast<size_t>(ir::bytes(dtype)));
}

// Largest and lowest in turn: one of them wins, and each changes every average.
void fill_gaps(ir::DType dtype, std::span<std::byte> memory) {
  const auto bytes = static_cast<size_t>(ir::bytes(dtype));
  const uint64_t sign = uint64_t{1} << (ir::info(dtype).bits - 1);
  const uint64_t magnitude = ir::is_float(dtype) ? format_of(dtype).infinity() - 1 : sign - 1;
  const bool is_unsigned = ir::info(dtype).cls == ir::DTypeClass::unsigned_int;
  const std::array extremes = {is_unsigned ? ~uint64_t{0} : magnitude, ir::is_float(dtype) ? sign | magnitude
                                                                       : is_unsigned       ? uint64_t{0}
                                                                                           : sign};
  for (size_t at = 0; at + bytes <= memory.size(); at += bytes)
    put(memory, at, dtype, extremes[at / bytes % 2]);
}

}  // namespace

std::string_view name(DataKind kind) {
  constexpr std::array<std::string_view, all_kinds.size()> names = {"plain", "ties", "special", "range"};
  return names[static_cast<size_t>(kind)];
}

std::optional<DataKind> find_data_kind(std::string_view text) {
  for (const DataKind kind : all_kinds)
    if (name(kind) == text) return kind;
  return std::nullopt;
}

std::span<const DataKind> data_kinds(const ir::PoolNest& nest) {
  return std::span(all_kinds).first(ir::is_float(nest.input.dtype) ? all_kinds.size() : 3);
}

void for_each_element(const MemoryView& view, const std::function<void(int64_t)>& visit) {
  const int64_t count = view.element_count();
  std::array<int64_t, max_task_dims> at{};
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(offset);
    for (size_t d = view.rank; d-- > 0;) {
      const MemoryView::Dim& dim = view.dims()[d];
      offset -= dim.offset(at[d], view.element_bytes);
      if (++at[d] == dim.extent) at[d] = 0;
      offset += dim.offset(at[d], view.element_bytes);
      if (at[d] != 0) break;
    }
  }
}

void put_elements(const MemoryView& view, ir::DType dtype, std::span<const uint64_t> elements,
                  std::span<std::byte> memory) {
  size_t number = 0;
  for_each_element(view, [&](int64_t offset) {
    put(memory, static_cast<size_t>(offset), dtype, elements[number++ % elements.size()]);
  });
}

void fill_input(const MemoryView& view, ir::DType dtype, DataKind kind, uint64_t seed,
                std::span<std::byte> memory) {
  Random random(seed);
  fill_gaps(dtype, memory);
  for_each_element(view, [&](int64_t offset) {
    put(memory, static_cast<size_t>(offset), dtype, random_element(dtype, kind, random));
  });
}

}  // namespace pooljit::runtime
