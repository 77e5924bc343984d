// Loops, indexes, addresses and tables: what surrounds the lanes.
#pragma once

#include "programs/bundle.h"

namespace pooljit::test {

using ir::Param;

// in[count * 64 bytes] -> out; the body gets the builder, both pointers and the count.
template <typename Body>
Case control_case(const std::string& name, Isa isa, int64_t count, Body body) {
  Builder b(name, isa);
  b.add_task("n", 64);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  body(b, in, out, b.param(Param::Role::count, 0));
  b.ret();
  Case c{fmt::format("{} {} count {}", name, ir::info(isa).text, count), b.finish(),
         std::vector<uint8_t>(4096), 4096};
  c.begin = 3;
  c.count = count;
  std::mt19937 random(7);
  for (uint8_t& byte : c.input) byte = static_cast<uint8_t>(random() % 100);  // no NaN as f32
  return c;
}

inline Value sum_of_rows(Builder& b, Value in, Value trip, const Type& type) {
  const auto loop = b.begin_loop(trip, {b.vconst_splat(type, 0)});
  b.prefetch({in, {{loop.iv, 64}}, 1 << 30});  // beyond the buffer: a hint may point anywhere
  const Value row = b.load(type, {in, {{loop.iv, 64}}, 0});
  return b.end_loop({b.binary(Op::add, loop.carried[0], row)})[0];
}

inline void nested_loops(Builder& b, Value in, Value out, Value count) {
  const Type type = Type::vec(DType::i32, 4);
  const auto outer = b.begin_loop(count, {b.vconst_splat(type, 1), in});
  const auto inner = b.begin_loop(outer.iv, {outer.carried[0]});
  const Value x = b.load(type, {in, {{outer.iv, 32}, {inner.iv, 4}}, 8});
  const auto innermost = b.begin_loop(b.iconst(2), {inner.carried[0], x});
  const auto finals = b.end_loop({b.binary(Op::add, innermost.carried[0], x), innermost.carried[0]});
  const Value inner_final = b.end_loop({b.binary(Op::max, finals[0], finals[1])})[0];
  const Value y = b.load(type, {outer.carried[1], {}, 0});
  b.store({out, {{outer.iv, 16}}, 0}, inner_final);
  const auto all =
      b.end_loop({b.binary(Op::add, inner_final, y), b.ptradd({outer.carried[1], {{outer.iv, 8}}, 4})});
  b.store({out, {}, 2048}, all[0]);
}

// Values that change places, one that stays, and a counter of each kind.
inline void carried_values(Builder& b, Value in, Value out, Value count) {
  const Type type = Type::vec(DType::f32, 8);
  const Value x = b.load(type, {in, {}, 0}), y = b.load(type, {in, {}, 32});
  const Value mask = b.cmp(ir::Predicate::lt, x, y),
              none = b.vmask(type.mask_of(), std::vector<int64_t>(8, 0));
  const auto loop = b.begin_loop(count, {x, y, x, b.iconst(5), out, mask, none});
  const auto& c = loop.carried;
  b.store({c[4], {}, 64}, b.select(c[5], c[0], c[2]));
  b.store({c[4], {}, 96}, b.splat(Type::vec(DType::i32, 8), c[3]));
  const auto finals =
      b.end_loop({c[1], c[0], c[2], b.iadd(c[3], loop.iv), b.ptradd({c[4], {}, 64}), c[6], c[5]});
  for (int i = 0; i < 3; ++i) b.store({out, {}, 3072 + 32 * i}, finals[static_cast<size_t>(i)]);
  b.store({out, {}, 3200}, b.splat(Type::vec(DType::i64, 2), finals[3]));
  b.store({out, {}, 3232}, b.select(finals[5], x, y));
}

// Loops whose trip counts come from a table: 0 and 1 stand for conditions.
inline void table_loops(Builder& b, Value in, Value out, Value count) {
  const Type type = Type::vec(DType::i32, 4);
  const Value table = b.param(Param::Role::table, b.add_table({0, 64, 1, 0, 3, 128, 2, 1, 0, -16, 1, 192}));
  const auto rows = b.begin_loop(b.imin(count, b.iconst(6)));
  const Value trip = b.iload({table, {{rows.iv, 16}}, 0}), offset = b.iload({table, {{rows.iv, 16}}, 8});
  const auto taps = b.begin_loop(trip, {b.vconst_splat(type, -1)});
  const Value from = b.ptradd({in, {{taps.iv, 4}}, 64}, offset);
  const Value sum = b.end_loop({b.binary(Op::add, taps.carried[0], b.load(type, {from, {}, 0}))})[0];
  b.store({out, {{rows.iv, 16}}, 0}, sum);
  b.end_loop();
}

inline void index_arithmetic(Builder& b, Value, Value out, Value count) {
  const Value begin = b.param(Param::Role::begin, 0), large = b.iconst(0x123456789abcdef);
  const Value values[] = {begin,
                          count,
                          b.iadd(begin, count),
                          b.iadd(count, b.iconst(-5)),
                          b.iadd(count, large),
                          b.imul(count, begin),
                          b.imul(count, b.iconst(24)),
                          b.imul(count, b.iconst(-3)),
                          b.imul(count, large),
                          b.imin(count, begin),
                          b.imin(count, b.iconst(1)),
                          b.imax(count, begin),
                          b.imax(b.iconst(-1), b.imul(count, b.iconst(-1)))};
  int64_t at = 0;
  for (Value value : values) {
    b.store({out, {}, at}, b.splat(Type::vec(DType::i64, 2), value));
    at += 16;
  }
}

inline void far_offsets(Builder& b, Value in, Value out, Value count) {
  const Type type = Type::vec(DType::f32, 4);
  const auto loop = b.begin_loop(count);
  const Value back = b.ptradd({in, {{loop.iv, 16}}, 0x40000000}, b.iconst(-0x40000000));
  b.store({out, {{loop.iv, 16}}, 0}, b.load(type, {back, {{loop.iv, -8}}, 0}));
  b.end_loop();
}

inline std::vector<Case> control_cases(Isa isa) {
  std::vector<Case> cases;
  for (int64_t count : {0, 1, 2, 5}) {
    cases.push_back(control_case("sum", isa, count, [](Builder& b, Value in, Value out, Value trip) {
      b.store({out, {}, 0}, sum_of_rows(b, in, trip, Type::vec(DType::i32, 8)));
    }));
    cases.push_back(control_case("nested loops", isa, count, nested_loops));
    cases.push_back(control_case("carried values", isa, count, carried_values));
    cases.push_back(control_case("table loops", isa, count, table_loops));
    cases.push_back(control_case("index arithmetic", isa, count, index_arithmetic));
    cases.push_back(control_case("far offsets", isa, count, far_offsets));
  }
  return cases;
}

}  // namespace pooljit::test
