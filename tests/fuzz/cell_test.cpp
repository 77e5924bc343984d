// What a case's time is: the CPU time of the engine's calls. Neither other work on the machine counts nor the
// search for an explanation of what the engine gave.
#include "tools/fuzz/cell.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <thread>

namespace pooljit::fuzz {
namespace {

constexpr double case_seconds = 0.1;

void compute(double seconds) {
  const auto taken = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  for (const double end = taken() + seconds; taken() < end;) continue;
}
void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

ir::Result<Cell::End> end_of(double seconds, const std::function<void()>& work) {
  const auto cell = Cell::make();
  if (!cell) return tl::unexpected(cell.error());
  return cell->run(
      [&] {
        work();
        return nlohmann::json("done");
      },
      seconds, seconds);
}

TEST(Cell, EndsWorkThatComputesLongerThanItsCase) {
  const auto end = end_of(case_seconds, [] { compute(2 * case_seconds); });
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->is_done());
  EXPECT_EQ(end->death.kind, Kind::hang);
  EXPECT_EQ(end->death.failure, "not done after 0.1 seconds of CPU time");
}

// As it waits on a machine that is busy.
TEST(Cell, LetsWorkWaitLongerThanItsCase) {
  const auto end = end_of(case_seconds, [] { sleep(4 * case_seconds); });
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->is_done()) << end->death.failure;
}

TEST(Cell, EndsWorkThatSleepsForEver) {
  const auto end = end_of(0.01, [] {
    for (;;) ::pause();
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(end->death.kind, Kind::hang);
  EXPECT_EQ(end->death.failure, "not done after 0.3 seconds, though it took less than 0.01 of CPU time");
}

TEST(Cell, DoesNotChargeWhatIsNotTheEngines) {
  const auto end = end_of(case_seconds, [] {
    const Cell::Charge ours(false);
    compute(2 * case_seconds);
    { const Cell::Charge engine(true); }
    compute(2 * case_seconds);
  });
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->is_done()) << end->death.failure;
}

TEST(Cell, ChargesAnEngineThatIsCalledWhileOthersAreNotCharged) {
  const auto end = end_of(case_seconds, [] {
    const Cell::Charge ours(false);
    const Cell::Charge engine(true);
    compute(2 * case_seconds);
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(end->death.kind, Kind::hang);
}

TEST(Cell, WhatIsLeftIsLeftForTheNextCall) {
  const auto end = end_of(case_seconds, [] {
    const Cell::Charge ours(false);
    for (int call = 0; call < 4; ++call) {
      const Cell::Charge engine(true);
      compute(case_seconds / 2);
    }
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(end->death.kind, Kind::hang);
}

}  // namespace
}  // namespace pooljit::fuzz
