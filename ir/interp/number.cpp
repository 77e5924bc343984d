// Compiled without contraction of a * b + c: each operation rounds once.
#include "ir/interp/number.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/half.h"
#include "ir/interp/lane_type.h"

namespace pooljit::ir {
namespace {

constexpr size_t alignment = 64;

template <typename F>
void with_float(DType dtype, F&& f) {
  dtype == DType::f32 ? f(float{}) : f(double{});
}

// For what only moves bits: f gets an unsigned integer of the dtype's width.
template <typename F>
void with_bits(DType dtype, F&& f) {
  with_lane_type(unsigned_of(dtype), [&](auto zero) {
    if constexpr (std::is_unsigned_v<decltype(zero)>) f(zero);
  });
}

// One loop per case of the op, so that the compiler sees a constant op in each.
template <typename T, Op op>
void binary_lanes(const T* a, const T* b, T* to, int lanes) {
  for (int i = 0; i < lanes; ++i) to[i] = arithmetic(op, a[i], b[i]);
}

template <typename To, typename From>
To narrowed(From from, bool saturate) {
  if (!saturate) return static_cast<To>(from);
  using Limits = std::numeric_limits<To>;
  if (std::cmp_less(from, Limits::min())) return Limits::min();
  if (std::cmp_greater(from, Limits::max())) return Limits::max();
  return static_cast<To>(from);
}

// To the nearest integer, ties to even: the rounding that the process runs with.
template <typename To, typename From>
To rounded(From from) {
  const From whole = std::nearbyint(from);
  // 2^n is a float where the largest integer may not be.
  const From end = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  const From begin = std::is_signed_v<To> ? -end : From{0};
  if (!(whole >= begin && whole < end))
    throw Fault{FaultKind::cvt, fmt::format("{} does not fit into {} bits", from, sizeof(To) * 8)};
  return static_cast<To>(whole);
}

template <typename To, typename From>
To converted(From from, bool saturate) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return rounded<To>(from);
  else if constexpr (std::is_integral_v<To>)
    return narrowed<To>(from, saturate);
  else
    return static_cast<To>(from);
}

}  // namespace

Numbers::Numbers(const Program& program) : program_(program), offsets_(program.types.size()) {
  size_t bytes = 0;
  for (size_t i = 0; i < offsets_.size(); ++i) {
    offsets_[i] = bytes;
    bytes += (size(static_cast<Value>(i)) + alignment - 1) / alignment * alignment;
  }
  memory_.resize(bytes);
}

size_t Numbers::size(Value value) const {
  const Type& t = type(value);
  return static_cast<size_t>(t.kind == Type::Kind::mask ? t.lanes : t.vector_bytes());
}

int64_t Numbers::bits(Value value, int lane) const {
  const DType dtype = type(value).dtype;
  const auto width = static_cast<size_t>(bytes(dtype));
  int64_t bits = 0;
  std::memcpy(&bits, lanes(value) + static_cast<size_t>(lane) * width, width);
  return lane_bits(dtype, bits);
}

void Numbers::copy(Value to, Value from) { std::memcpy(lanes(to), lanes(from), size(to)); }

void Numbers::load(Value to, const Access& access, const uint8_t* mask, Value pass) {
  if (!mask) {
    std::memcpy(lanes(to), access.address, size(to));
    return;
  }
  const auto width = static_cast<size_t>(bytes(type(to).dtype));
  for (size_t i = 0; i < static_cast<size_t>(type(to).lanes); ++i)
    std::memcpy(lanes(to) + i * width, (mask[i] ? access.address : lanes(pass)) + i * width, width);
}

void Numbers::store(Value from, const Access& access, const uint8_t* mask) {
  if (!mask) {
    std::memcpy(access.address, lanes(from), size(from));
    return;
  }
  const auto width = static_cast<size_t>(bytes(type(from).dtype));
  for (size_t i = 0; i < static_cast<size_t>(type(from).lanes); ++i)
    if (mask[i]) std::memcpy(access.address + i * width, lanes(from) + i * width, width);
}

void Numbers::splat(Value to, int64_t index) {
  with_bits(type(to).dtype, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(as<T>(to), type(to).lanes, static_cast<T>(index));
  });
}

void Numbers::compute(const Inst& inst) {
  switch (inst.op) {
    case Op::vconst:
    case Op::vmask:
      return constant(inst);
    case Op::shuffle:
      return shuffle(inst);
    case Op::cmp:
      return compare(inst);
    case Op::select:
      return select(inst);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::mulh:
    case Op::mull:
    case Op::min:
    case Op::max:
      return binary(inst);
    case Op::div:
    case Op::propagate:
    case Op::fma:
    case Op::sqrt:
      return float_op(inst);
    case Op::and_:
    case Op::or_:
      return bitwise(inst);
    case Op::shl:
    case Op::shr:
      return shift(inst);
    case Op::cvt:
      return convert(inst);
    case Op::bitcast:
      return copy(inst.results[0], inst.args[0]);
    default:
      fail_check(__FILE__, __LINE__, "an op on lanes", info(inst.op).text);
  }
}

void Numbers::constant(const Inst& inst) {
  const Value to = inst.results[0];
  with_bits(inst.op == Op::vmask ? DType::u8 : type(to).dtype, [&](auto zero) {
    using T = decltype(zero);
    std::transform(inst.data.begin(), inst.data.end(), as<T>(to),
                   [](int64_t lane) { return static_cast<T>(lane); });
  });
}

void Numbers::shuffle(const Inst& inst) {
  with_bits(type(inst.results[0]).dtype, [&](auto zero) {
    using T = decltype(zero);
    const int64_t first_lanes = type(inst.args[0]).lanes;
    const T* const a = as<T>(inst.args[0]);
    const T* const b = as<T>(inst.args.back());
    T* to = as<T>(inst.results[0]);
    for (int64_t lane : inst.data) *to++ = lane < first_lanes ? a[lane] : b[lane - first_lanes];
  });
}

void Numbers::compare(const Inst& inst) {
  const Type& t = type(inst.args[0]);
  with_lane_type(t.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const a = as<T>(inst.args[0]);
    const T* const b = as<T>(inst.args[1]);
    uint8_t* const to = lanes(inst.results[0]);
    for (int i = 0; i < t.lanes; ++i) to[i] = holds(inst.pred, a[i], b[i]);
  });
}

void Numbers::select(const Inst& inst) {
  const Type& t = type(inst.results[0]);
  const uint8_t* const mask = lanes(inst.args[0]);
  with_bits(t.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const a = as<T>(inst.args[1]);
    const T* const b = as<T>(inst.args[2]);
    T* const to = as<T>(inst.results[0]);
    for (int i = 0; i < t.lanes; ++i) to[i] = mask[i] ? a[i] : b[i];
  });
}

void Numbers::binary(const Inst& inst) {
  const Type& t = type(inst.results[0]);
  with_lane_type(t.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const a = as<T>(inst.args[0]);
    const T* const b = as<T>(inst.args[1]);
    T* const to = as<T>(inst.results[0]);
    switch (inst.op) {
      case Op::add:
        return binary_lanes<T, Op::add>(a, b, to, t.lanes);
      case Op::sub:
        return binary_lanes<T, Op::sub>(a, b, to, t.lanes);
      case Op::mul:
        return binary_lanes<T, Op::mul>(a, b, to, t.lanes);
      case Op::mulh:
        return binary_lanes<T, Op::mulh>(a, b, to, t.lanes);
      case Op::mull:
        return binary_lanes<T, Op::mull>(a, b, to, t.lanes);
      case Op::min:
        return binary_lanes<T, Op::min>(a, b, to, t.lanes);
      default:
        return binary_lanes<T, Op::max>(a, b, to, t.lanes);
    }
  });
}

void Numbers::float_op(const Inst& inst) {
  const Type& t = type(inst.results[0]);
  with_float(t.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const a = as<T>(inst.args[0]);
    const T* const b = inst.args.size() > 1 ? as<T>(inst.args[1]) : nullptr;
    const T* const c = inst.args.size() > 2 ? as<T>(inst.args[2]) : nullptr;
    T* const to = as<T>(inst.results[0]);
    for (int i = 0; i < t.lanes; ++i) {
      if (inst.op == Op::div)
        to[i] = a[i] / b[i];
      else if (inst.op == Op::propagate)
        to[i] = a[i] != a[i] ? a[i] : b[i];
      else
        to[i] = inst.op == Op::sqrt ? std::sqrt(a[i]) : std::fma(a[i], b[i], c[i]);
    }
  });
}

void Numbers::bitwise(const Inst& inst) {
  const uint8_t* const a = lanes(inst.args[0]);
  const uint8_t* const b = lanes(inst.args[1]);
  uint8_t* const to = lanes(inst.results[0]);
  for (size_t i = 0; i < size(inst.results[0]); ++i) to[i] = inst.op == Op::and_ ? a[i] & b[i] : a[i] | b[i];
}

void Numbers::shift(const Inst& inst) {
  const Type& t = type(inst.results[0]);
  with_lane_type(t.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      const T* const a = as<T>(inst.args[0]);
      T* const to = as<T>(inst.results[0]);
      for (int i = 0; i < t.lanes; ++i)
        to[i] =
            static_cast<T>(inst.op == Op::shl ? static_cast<uint64_t>(a[i]) << inst.imm : a[i] >> inst.imm);
    }
  });
}

template <typename Half>
void Numbers::convert_half(const Inst& inst) {
  const int count = type(inst.args[0]).lanes;
  if (is_half(type(inst.args[0]).dtype))
    std::copy_n(as<Half>(inst.args[0]), count, as<float>(inst.results[0]));
  else
    std::transform(as<float>(inst.args[0]), as<float>(inst.args[0]) + count, as<Half>(inst.results[0]),
                   [](float value) { return Half(value); });
}

void Numbers::convert(const Inst& inst) {
  const Type& from_type = type(inst.args[0]);
  for (DType dtype : {from_type.dtype, type(inst.results[0]).dtype}) {
    if (dtype == DType::f16) return convert_half<Float16>(inst);
    if (dtype == DType::bf16) return convert_half<BFloat16>(inst);
  }
  with_lane_type(from_type.dtype, [&](auto from_zero) {
    with_lane_type(type(inst.results[0]).dtype, [&](auto to_zero) {
      using From = decltype(from_zero);
      using To = decltype(to_zero);
      const From* const from = as<From>(inst.args[0]);
      To* const to = as<To>(inst.results[0]);
      for (int i = 0; i < from_type.lanes; ++i) to[i] = converted<To>(from[i], inst.saturate);
    });
  });
}

std::span<const FaultInfo> faults() {
  static constexpr FaultInfo table[] = {
#define FAULT(fault, prose) {"interp." #fault, prose},
#include "ir/interp/faults.def"
#undef FAULT
  };
  return table;
}

Result<void> interpret(const Program& program, std::span<const uint64_t> args, const MemoryMap& memory) {
  Numbers numbers(program);
  return Interpreter<Numbers>(program, args, memory, numbers).run();
}

}  // namespace pooljit::ir
