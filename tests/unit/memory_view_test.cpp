// Which views overlap: compared with the bytes themselves.
#include "runtime/memory_view.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "lab/check_data.h"

namespace pooljit::runtime {
namespace {

MemoryView make_view(int64_t element_bytes, std::initializer_list<MemoryView::Dim> dims) {
  MemoryView view;
  view.element_bytes = element_bytes;
  for (const MemoryView::Dim& dim : dims) view.room[view.rank++] = dim;
  return view;
}

const char* const base = reinterpret_cast<const char*>(0x10000);

bool overlap_at(const MemoryView& a, int64_t a_offset, const MemoryView& b, int64_t b_offset) {
  return overlap(a, base + a_offset, b, base + b_offset);
}

std::set<int64_t> bytes_of(const MemoryView& view, int64_t begin) {
  std::set<int64_t> bytes;
  for_each_element(view, [&](int64_t offset) {
    for (int64_t i = 0; i < view.element_bytes; ++i) bytes.insert(begin + offset + i);
  });
  return bytes;
}

TEST(MemoryView, SpansFromFirstToLastByte) {
  EXPECT_EQ(make_view(4, {{2, 100}, {3, 8}, {5, 4}}).span_bytes(), 100 + 16 + 16 + 4);
  EXPECT_EQ(make_view(4, {{0, 100}, {3, 8}}).span_bytes(), 0);
  EXPECT_EQ(MemoryView{}.span_bytes(), 0);
}

TEST(Overlap, SlicesOfOneTensorAreApart) {
  // Channels 0..15 and 16..31 of 32, channels last: blocks of 64 bytes in pixels of 128.
  const MemoryView channels = make_view(4, {{2, 128 * 49}, {16, 4}, {7, 128 * 7}, {7, 128}});
  EXPECT_FALSE(overlap_at(channels, 0, channels, 64));
  EXPECT_TRUE(overlap_at(channels, 0, channels, 60));
  EXPECT_TRUE(overlap_at(channels, 0, channels, 128));
  // The same, channels first, two batches.
  const MemoryView planes = make_view(4, {{2, 4 * 49 * 32}, {16, 4 * 49}, {7, 28}, {7, 4}});
  EXPECT_FALSE(overlap_at(planes, 0, planes, 4 * 49 * 16));
  EXPECT_TRUE(overlap_at(planes, 0, planes, 4 * 49 * 15));
  // Left and right half of an image; even and odd rows.
  const MemoryView half = make_view(1, {{1, 0}, {1, 0}, {8, 16}, {8, 1}});
  EXPECT_FALSE(overlap_at(half, 0, half, 8));
  EXPECT_TRUE(overlap_at(half, 0, half, 7));
  const MemoryView rows = make_view(1, {{1, 0}, {1, 0}, {8, 32}, {16, 1}});
  EXPECT_FALSE(overlap_at(rows, 0, rows, 16));
}

TEST(Overlap, FalseIsAlwaysRight) {
  std::mt19937 random(1);
  const auto draw = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  int shared = 0, apart = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto any_view = [&] {
      return make_view(draw(1, 4),
                       {{draw(1, 2), draw(0, 60)}, {draw(1, 3), draw(0, 20)}, {draw(1, 4), draw(1, 8)}});
    };
    const MemoryView a = any_view(), b = any_view();
    const int64_t shift = draw(-80, 80);
    const std::set<int64_t> a_bytes = bytes_of(a, 0);
    bool really = false;
    for (int64_t byte : bytes_of(b, shift)) really = really || a_bytes.contains(byte);
    const bool said = overlap_at(a, 0, b, shift);
    EXPECT_TRUE(said || !really);
    shared += really;
    apart += !said;
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(apart, 1000);
}

}  // namespace
}  // namespace pooljit::runtime
