// Winners of integers that are found by equality (proof/program/provenance_equals.cpp): what is wrong is
// refused, with a sentence that says so. That right Programs are read is a part of program_proof_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "frontend/dialects.h"
#include "ir/choose/enumerate.h"
#include "ir/schedules/lower.h"
#include "proof/program/prove.h"

namespace pooljit {
namespace {

using Change = std::function<bool(ir::Inst&)>;  // true: changed, so that one instruction is

Change compare(ir::Predicate other) {
  return [=](ir::Inst& inst) {
    return inst.op == ir::Op::cmp && inst.pred == ir::Predicate::eq && (inst.pred = other) == other;
  };
}
Change constant(int64_t bits, int64_t others) {
  return [=](ir::Inst& inst) {
    if (inst.op != ir::Op::vconst || inst.data.empty() || inst.data[0] != bits) return false;
    std::ranges::fill(inst.data, others);
    return true;
  };
}
// A vector's upper half is taken as its lower one: the first that begins with this lane, or the second.
Change lower_half(int64_t lane, int before) {
  return [=](ir::Inst& inst) mutable {
    if (inst.op != ir::Op::shuffle || inst.data[0] != lane || before-- > 0) return false;
    for (int64_t& taken : inst.data) taken -= lane;
    return true;
  };
}

const char* const tap_by_tap = "max_pool1d(uint8[1,1,40], kernel_size=3, return_indices=True)";
const char* const by_row = "max_pool1d(uint8[1,1,300], kernel_size=300, return_indices=True)";

const struct {
  const char* name;
  const char* spec;
  Change change;
  const char* sentence;
} wrong_winners[] = {
    {"an index that goes where it should stay", tap_by_tap, compare(ir::Predicate::ne), "is numbered"},
    {"an index that always stays", tap_by_tap, compare(ir::Predicate::ge), "one index for several elements"},
    {"what stands for no index is small", by_row, constant(255, 3), "beyond what stands for none"},
    {"numbers that do not ascend", by_row, constant(4, 1), "do not ascend"},
    {"numbers of shorter vectors", by_row, constant(32, 31), "two elements of one index"},
    {"the largest of indices", by_row,
     [](ir::Inst& inst) { return inst.op == ir::Op::min && (inst.op = ir::Op::max) == ir::Op::max; },
     "one index for several elements"},
    {"some lanes only", by_row, lower_half(8, 1), "goes with another value"},
};

TEST(EqualWinners, WhatIsWrongFails) {
  for (const auto& wrong : wrong_winners) {
    const ir::PoolNest nest = make_nest(*frontend::parse_spec(wrong.spec));
    ir::Program program = *ir::lower(nest, enumerate_schedules(nest, ir::Isa::avx2)[0], ir::Isa::avx2);
    ASSERT_TRUE(ir::prove(program, nest)) << wrong.name;
    bool is_changed = false;
    for (ir::Inst& inst : program.insts) is_changed = is_changed || wrong.change(inst);
    ASSERT_TRUE(is_changed) << wrong.name;
    const auto proof = ir::prove(program, nest);
    ASSERT_FALSE(proof) << wrong.name;
    EXPECT_NE(ir::to_string(proof.error()).find(wrong.sentence), std::string::npos)
        << wrong.name << ": " << ir::to_string(proof.error());
  }
}

}  // namespace
}  // namespace pooljit
