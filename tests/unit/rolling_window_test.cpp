// RollingWindow: every window is reduced from exactly its columns, a column twice only where that is allowed.
#include "ir/schedules/windows/rolling_window.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace pooljit::ir {
namespace {

// Columns as counts: a value is how often each position was taken in.
class Columns {
 public:
  Value column(int64_t position) {
    taken_.push_back({{position, 1}});
    return static_cast<Value>(taken_.size() - 1);
  }
  Value join(Value a, Value b) {
    std::map<int64_t, int64_t> both = taken_[static_cast<size_t>(a)];
    for (const auto& [position, times] : taken_[static_cast<size_t>(b)]) both[position] += times;
    taken_.push_back(both);
    return static_cast<Value>(taken_.size() - 1);
  }
  const std::map<int64_t, int64_t>& of(Value value) const { return taken_[static_cast<size_t>(value)]; }

 private:
  std::vector<std::map<int64_t, int64_t>> taken_;
};

void expect_windows(int64_t kernel, int64_t stride, bool idempotent) {
  SCOPED_TRACE("kernel " + std::to_string(kernel) + ", stride " + std::to_string(stride) +
               (idempotent ? ", idempotent" : ""));
  const RollingWindow window(kernel, stride, idempotent);
  EXPECT_LE(static_cast<int64_t>(window.held().size()), kernel - stride);
  EXPECT_LE(window.combinations(), kernel - 1);
  Columns columns;
  const auto join = [&](Value a, Value b) { return columns.join(a, b); };
  std::vector<Value> first;
  for (int64_t i = 0; i < kernel - stride; ++i) first.push_back(i < 2 ? no_value : columns.column(i));
  RollingWindow::Held held = window.begin(first, join);
  for (int64_t output = 0; output < 2 * kernel; ++output) {
    std::vector<Value> fresh;
    for (int64_t i = 0; i < stride; ++i) {
      const int64_t position = output * stride + kernel - stride + i;
      fresh.push_back(position < 2 ? no_value : columns.column(position));
    }
    const Value found = window.advance(held, fresh, join);
    std::map<int64_t, int64_t> expected;
    for (int64_t i = std::max<int64_t>(2, output * stride); i < output * stride + kernel; ++i)
      expected[i] = 1;
    if (expected.empty()) {
      EXPECT_EQ(found, no_value);
      continue;
    }
    std::map<int64_t, int64_t> taken = columns.of(found);
    if (idempotent)
      for (auto& [position, times] : taken) times = 1;
    EXPECT_EQ(taken, expected) << "output " << output;
  }
}

TEST(RollingWindow, TakesEachColumnOfItsWindow) {
  for (int64_t kernel = 2; kernel <= 24; ++kernel)
    for (int64_t stride = 1; stride < kernel && stride <= 5; ++stride)
      for (bool idempotent : {false, true}) expect_windows(kernel, stride, idempotent);
}

TEST(RollingWindow, LongWindowsCostTheLogarithm) {
  EXPECT_EQ(RollingWindow(13, 1, true).combinations(), 4);
  EXPECT_EQ(RollingWindow(16, 1, true).combinations(), 4);
  EXPECT_EQ(RollingWindow(16, 1, false).combinations(), 4);
  EXPECT_EQ(RollingWindow(3, 2, true).combinations(), 2);
}

}  // namespace
}  // namespace pooljit::ir
