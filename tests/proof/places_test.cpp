// Winners that are joined by where they lie are proved, and wrong ones are not
// (proof/program/provenance_places.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "proof/program/prove.h"

namespace pooljit {
namespace {

using ir::Inst;
using ir::Op;
using ir::Predicate;

// Another comparison in place of the first one that `is_it` finds.
ir::Result<void> prove_with(const std::function<bool(const Inst&)>& is_it, Predicate other) {
  const ir::PoolNest nest =
      make_nest(*frontend::parse_spec("max_pool1d(float32[1,1,150], kernel_size=150, return_indices=True)"));
  const ir::Schedule schedule = *ir::parse_schedule("window_rows(lanes=8, tail=overlap)");
  ir::Program program = *ir::lower(nest, schedule, ir::Isa::avx2);
  const auto found = std::ranges::find_if(program.insts, is_it);
  if (found != program.insts.end()) found->pred = other;
  const auto proof = ir::prove(program, nest);
  if (!proof) return tl::unexpected(proof.error());
  return {};
}

bool compares(const Inst& inst, Predicate pred) { return inst.op == Op::cmp && inst.pred == pred; }

TEST(Places, WinnersJoinedByPlaceAreProved) {
  const auto proof = prove_with([](const Inst&) { return false; }, Predicate::eq);
  EXPECT_TRUE(proof) << ir::to_string(proof.error());
}

TEST(Places, TheLaterOfTwoEqualOnesIsRefused) {
  EXPECT_FALSE(prove_with([](const Inst& inst) { return compares(inst, Predicate::lt); }, Predicate::gt));
}

TEST(Places, ATieOfWhatDiffersIsRefused) {
  EXPECT_FALSE(prove_with([](const Inst& inst) { return compares(inst, Predicate::eq); }, Predicate::ne));
}

TEST(Places, TheEarlierOfTwoNaNsIsRefused) {
  // Behind the question whether the other is a number.
  bool is_next = false;
  const auto is_it = [&](const Inst& inst) {
    if (inst.op != Op::cmp) return false;
    const bool is_place = is_next && inst.pred == Predicate::gt;
    is_next = inst.pred == Predicate::eq && inst.args[0] == inst.args[1];
    return is_place;
  };
  EXPECT_FALSE(prove_with(is_it, Predicate::lt));
}

}  // namespace
}  // namespace pooljit
