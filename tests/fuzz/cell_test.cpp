// What a case's time is: the engine's calls, and not the search for an explanation of what it gave.
#include "tools/fuzz/cell.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace pooljit::fuzz {
namespace {

constexpr double case_seconds = 0.2;

void sleep_for_two_cases() { std::this_thread::sleep_for(std::chrono::duration<double>(2 * case_seconds)); }

ir::Result<Cell::End> end_of(const std::function<void()>& work) {
  const auto cell = Cell::make();
  if (!cell) return tl::unexpected(cell.error());
  return cell->run(
      [&] {
        work();
        return nlohmann::json("done");
      },
      case_seconds, case_seconds);
}

TEST(Cell, EndsWorkThatTakesLongerThanItsCase) {
  const auto end = end_of(sleep_for_two_cases);
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->is_done());
  EXPECT_EQ(end->death.kind, Kind::hang);
}

TEST(Cell, DoesNotChargeWhatIsNotTheEngines) {
  const auto end = end_of([] {
    const Cell::Charge ours(false);
    sleep_for_two_cases();
    { const Cell::Charge engine(true); }
    sleep_for_two_cases();
  });
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->is_done()) << end->death.failure;
}

TEST(Cell, ChargesAnEngineThatIsCalledWhileOthersAreNotCharged) {
  const auto end = end_of([] {
    const Cell::Charge ours(false);
    const Cell::Charge engine(true);
    sleep_for_two_cases();
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(end->death.kind, Kind::hang);
}

TEST(Cell, WhatIsLeftIsLeftForTheNextCall) {
  const auto end = end_of([] {
    const Cell::Charge ours(false);
    for (int call = 0; call < 4; ++call) {
      const Cell::Charge engine(true);
      std::this_thread::sleep_for(std::chrono::duration<double>(case_seconds / 2));
    }
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(end->death.kind, Kind::hang);
}

}  // namespace
}  // namespace pooljit::fuzz
