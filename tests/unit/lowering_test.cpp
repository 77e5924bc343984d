// What each schedule family makes of a spec, as text: tests/golden/lowering/.
#include <gtest/gtest.h>

#include "frontend/pool_spec.h"
#include "golden.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace pooljit {
namespace {

std::string lowered(const test::GoldenKeys& keys) {
  const auto spec = frontend::parse_spec(keys.at("spec"));
  if (!spec) return ir::to_string(spec.error()) + "\n";
  const ir::PoolNest nest = frontend::make_nest(*spec);
  const ir::Isa isa = *ir::find_isa(keys.at("isa"));
  auto schedule = ir::parse_schedule(keys.at("schedule"));
  if (!schedule) return ir::to_string(schedule.error()) + "\n";
  const auto program = ir::lower(nest, *schedule, isa);
  if (!program) return ir::to_string(program.error()) + "\n";
  if (const auto verified = ir::verify(*program); !verified) return ir::to_string(verified.error()) + "\n";
  return ir::print(*program);
}

TEST(Lowering, Golden) { test::check_golden("lowering", lowered); }

}  // namespace
}  // namespace pooljit
