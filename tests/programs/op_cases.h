// Every op on every type and lane count that an ISA's Programs may have, as cases for the engines. One
// function per group of ops; each makes the cases of one (ISA, dtype).
#pragma once

#include "ir/passes/legal.h"
#include "programs/bundle.h"

namespace pooljit::test {

inline std::vector<int> lane_counts(Isa isa, DType dtype) {
  std::vector<int> counts;
  for (int lanes = 1; lanes * ir::bytes(dtype) <= ir::info(isa).vector_bytes; lanes *= 2)
    counts.push_back(lanes);
  return counts;
}

inline std::string case_name(std::string_view group, Isa isa, const Type& type) {
  return fmt::format("{} {} {}", group, ir::info(isa).text, ir::print(type));
}

inline std::vector<Case> arithmetic_cases(Isa isa, DType dtype) {
  std::vector<Case> cases;
  if (ir::is_half(dtype)) return cases;  // verify.half
  for (int lanes : lane_counts(isa, dtype)) {
    const Type type = Type::vec(dtype, lanes);
    Bundle bundle(case_name("arithmetic", isa, type), isa);
    Builder& b = bundle.builder();
    const Value x = bundle.operand(type), y = bundle.operand(type), z = bundle.operand(type);
    const bool floating = ir::is_float(dtype);
    for (Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max, Op::propagate, Op::and_, Op::or_}) {
      if ((op == Op::div || op == Op::propagate) && !floating) continue;
      const bool computes = op == Op::add || op == Op::sub || op == Op::mul || op == Op::div;
      bundle.result(std::string(ir::info(op).text), b.binary(op, x, y), floating && computes);
      bundle.result(std::string(ir::info(op).text) + " same", b.binary(op, x, x), floating && computes);
    }
    if (floating) {
      bundle.result("fma", b.fma(x, y, z), true);
      bundle.result("mul then add", b.binary(Op::add, b.binary(Op::mul, x, y), z), true);
      bundle.result("sqrt", b.sqrt(x), true);
    } else {
      const int bits = ir::info(dtype).bits;
      if (bits == 16) bundle.result("mulh", b.binary(Op::mulh, x, y));
      if (dtype == DType::u64) bundle.result("mull", b.binary(Op::mull, x, y));
      for (int by : {0, 1, bits / 2 - 1, bits / 2, bits - 1}) {
        bundle.result(fmt::format("shl {}", by), b.shift(Op::shl, x, by));
        bundle.result(fmt::format("shr {}", by), b.shift(Op::shr, x, by));
      }
      bundle.result("splat",
                    b.splat(type, b.iadd(b.imul(bundle.row(), b.iconst(0x123456789)), b.iconst(-7))));
    }
    bundle.result("constant", b.vconst_splat(type, static_cast<int64_t>(special_values(dtype).back())));
    cases.push_back(bundle.finish());
  }
  return cases;
}

// What can be compared in place of a value: of a half, its bits.
inline Value comparable(Builder& b, Value x) {
  const Type& type = b.type(x);
  return ir::is_half(type.dtype) ? b.bitcast(Type::vec(DType::i16, type.lanes), x) : x;
}

// Comparisons, masks, choosing; what schedules make of them.
inline std::vector<Case> mask_cases(Isa isa, DType dtype) {
  std::vector<Case> cases;
  for (int lanes : lane_counts(isa, dtype)) {
    const Type type = Type::vec(dtype, lanes);
    Bundle bundle(case_name("masks", isa, type), isa);
    Builder& b = bundle.builder();
    const Value x = bundle.operand(type), y = bundle.operand(type);
    const Value p = comparable(b, x), q = comparable(b, y);
    std::vector<Value> masks;
    for (int pred = 0; pred <= static_cast<int>(ir::Predicate::un); ++pred) {
      masks.push_back(b.cmp(static_cast<ir::Predicate>(pred), p, q));
      bundle.result("cmp " + std::to_string(pred), masks.back());
      bundle.result("select " + std::to_string(pred), b.select(masks.back(), x, y));
    }
    std::vector<int64_t> odd;
    for (int lane = 0; lane < lanes; ++lane) odd.push_back(lane % 3 == 1 || lane == 0);
    masks.push_back(b.vmask(type.mask_of(), odd));
    bundle.result("vmask", masks.back());
    bundle.result("select vmask", b.select(masks.back(), x, y));
    const Value zeros = b.vconst_splat(type, 0), number = b.vconst_splat(type, 0x55);
    for (const Value mask : {masks[0], masks.back()}) {
      bundle.result("zeros elsewhere", b.select(mask, x, zeros));
      bundle.result("zeros", b.select(mask, zeros, y));
      bundle.result("a number, zeros elsewhere", b.select(mask, number, zeros));
      bundle.result("zeros, a number elsewhere", b.select(mask, zeros, number));
      bundle.result("zeros everywhere", b.select(mask, zeros, zeros));
    }
    bundle.result("and", b.binary(Op::and_, masks[2], masks[1]));
    bundle.result("or", b.binary(Op::or_, masks[4], masks[6]));
    bundle.result("and vmask", b.binary(Op::and_, masks[1], masks.back()));
    const Value most = b.binary(Op::max, p, q);
    bundle.result("max with NaN", b.select(b.cmp(ir::Predicate::un, p, p), p, most));
    cases.push_back(bundle.finish());
  }
  return cases;
}

inline bool may_convert(DType from, DType to) {
  const auto wide_signed = [](DType dtype) { return ir::is_signed_int(dtype) && ir::bytes(dtype) >= 4; };
  if (ir::is_half(from) || ir::is_half(to)) return (ir::is_half(from) ? to : from) == DType::f32;
  if (ir::is_float(from) && ir::is_float(to)) return from != to;
  if (ir::is_float(from) || ir::is_float(to)) return wide_signed(ir::is_float(from) ? to : from);
  return ir::bytes(from) != ir::bytes(to);
}

// From one dtype to all others: cvt, and bitcast of what has the same bytes.
inline std::vector<Case> conversion_cases(Isa isa, DType from) {
  std::vector<Case> cases;
  for (int lanes : lane_counts(isa, from)) {
    const Type type = Type::vec(from, lanes);
    Bundle bundle(case_name("conversions", isa, type), isa);
    Builder& b = bundle.builder();
    const Value any = bundle.operand(type);
    for (const ir::DTypeInfo& to : ir::dtype_table) {
      const Type result = Type::vec(to.dtype, type.vector_bytes() / ir::bytes(to.dtype));
      if (result.lanes > 0) bundle.result("bitcast " + ir::print(result), b.bitcast(result, any));
      const bool fits = lanes * ir::bytes(to.dtype) <= ir::info(isa).vector_bytes;
      if (!fits || !may_convert(from, to.dtype)) continue;
      const Value x = bundle.operand(type, values_for_cvt(from, to.dtype));
      const bool any_nan = ir::is_float(to.dtype) && !ir::is_half(from) && !ir::is_half(to.dtype);
      bundle.result(fmt::format("cvt {}", to.text), b.cvt(to.dtype, x), any_nan);
      if (ir::is_half(from)) bundle.result("there and back", b.cvt(from, b.cvt(to.dtype, any)));
      const bool narrows =
          !ir::is_float(from) && !ir::is_float(to.dtype) && ir::bytes(to.dtype) < ir::bytes(from);
      if (narrows) bundle.result(fmt::format("cvt {} saturate", to.text), b.cvt(to.dtype, any, true));
    }
    cases.push_back(bundle.finish());
  }
  return cases;
}

// --- shuffles

struct LaneList {
  std::string name;
  std::vector<int64_t> lanes;
};

// The patterns that schedules use, for operands of n lanes each and results of `count`; then random ones.
inline std::vector<LaneList> lane_lists(int n, int operands, int count) {
  const int all = n * operands;
  std::vector<LaneList> lists;
  const auto add = [&](const std::string& name, auto lane_of) {
    std::vector<int64_t> lanes;
    for (int i = 0; i < count; ++i) lanes.push_back(lane_of(i));
    for (int64_t lane : lanes)
      if (lane < 0 || lane >= all) return;
    lists.push_back({name, std::move(lanes)});
  };
  for (int first : {0, 1, n / 4, n / 2, n - count, n, n + 1, all - count})
    add(fmt::format("run from {}", first), [&](int i) { return first + i; });
  for (int stride : {2, 3, 4, 5, 7})
    for (int first : {0, 1, stride - 1})
      add(fmt::format("stride {} from {}", stride, first), [&](int i) { return (first + i * stride) % all; });
  for (int lane : {0, 1, n - 1, all - 1}) add(fmt::format("broadcast {}", lane), [&](int) { return lane; });
  add("reversed", [&](int i) { return all - 1 - i; });
  add("interleaved", [&](int i) { return i / 2 + (i % 2) * n; });
  add("interleaved upper", [&](int i) { return n / 2 + i / 2 + (i % 2) * n; });
  add("blend", [&](int i) { return i + (i % 3 == 0) * n; });
  add("pairs swapped", [&](int i) { return i ^ 1; });
  add("lower repeated", [&](int i) { return i % std::max(1, n / 2); });
  std::mt19937 random(static_cast<unsigned>(n * 1000 + operands * 100 + count));
  for (int i = 0; i < 6; ++i)
    add(fmt::format("random {}", i),
        [&](int) { return static_cast<int64_t>(random() % static_cast<unsigned>(all)); });
  return lists;
}

inline std::vector<Case> shuffle_cases(Isa isa, DType dtype) {
  std::vector<Case> cases;
  for (int n : lane_counts(isa, dtype))
    for (int count : lane_counts(isa, dtype)) {
      const Type type = Type::vec(dtype, n);
      Bundle bundle(case_name("shuffle", isa, type) + " to " + std::to_string(count), isa);
      Builder& b = bundle.builder();
      const Value x = bundle.operand(type), y = bundle.operand(type);
      for (const LaneList& list : lane_lists(n, 1, count))
        bundle.result("one " + list.name, b.shuffle(x, ir::no_value, list.lanes));
      for (const LaneList& list : lane_lists(n, 2, count))
        bundle.result("two " + list.name, b.shuffle(x, y, list.lanes));
      cases.push_back(bundle.finish());
    }
  return cases;
}

// --- memory

// Which lanes a mask lets through: prefixes, suffixes, holes, none, all.
inline std::vector<LaneList> lane_masks(int lanes) {
  std::vector<LaneList> masks;
  const auto add = [&](const std::string& name, auto is_on) {
    masks.push_back({name, {}});
    for (int lane = 0; lane < lanes; ++lane) masks.back().lanes.push_back(is_on(lane));
  };
  add("all", [](int) { return true; });
  add("none", [](int) { return false; });
  add("first", [](int lane) { return lane == 0; });
  add("but the first", [](int lane) { return lane != 0; });
  add("but the last", [&](int lane) { return lane != lanes - 1; });
  add("upper half", [&](int lane) { return lane >= lanes / 2; });
  add("holes", [](int lane) { return lane % 3 != 1; });
  return masks;
}

inline std::vector<Case> memory_cases(Isa isa, DType dtype) {
  std::vector<Case> cases;
  for (int lanes : lane_counts(isa, dtype)) {
    const Type type = Type::vec(dtype, lanes);
    Bundle plain(case_name("memory", isa, type), isa);
    plain.result("copy", plain.operand(type));
    // Odd addresses: nothing in memory is aligned.
    ir::Address odd = plain.raw_operand(Type::vec(DType::u8, 64));
    if (type.vector_bytes() < 64) odd.offset += 1;
    plain.result("unaligned", plain.builder().load(type, odd));
    cases.push_back(plain.finish());

    Bundle masked(case_name("masked memory", isa, type), isa);
    Builder& b = masked.builder();
    const Value pass = masked.operand(type), zero = b.vconst_splat(type, 0);
    for (const LaneList& lanes_on : lane_masks(lanes)) {
      const Value mask = b.vmask(type.mask_of(), lanes_on.lanes);
      masked.result("load " + lanes_on.name, b.load(type, masked.raw_operand(type), mask, pass));
      masked.result("load or zero " + lanes_on.name, b.load(type, masked.raw_operand(type), mask, zero));
      b.store(masked.result_place("store " + lanes_on.name, type), pass, mask);
    }
    const Value other = masked.operand(type);
    const Value computed = b.cmp(ir::Predicate::lt, comparable(b, pass), comparable(b, other));
    masked.result("load where less", b.load(type, masked.raw_operand(type), computed, pass));
    b.store(masked.result_place("store where less", type), pass, computed);
    Case c = masked.finish();
    if (!ir::has_masked_access(isa, dtype)) c.may_refuse = "legal.mask";
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace pooljit::test
