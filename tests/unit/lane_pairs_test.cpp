// LanePairs, on every engine: the low byte of a word is the largest byte of its window, in one vector and in
// two; and which planes are reduced so.
#include "ir/schedules/lanes/lane_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "frontend/pool_spec.h"
#include "ir/schedules/families/whole_planes_tiles.h"
#include "programs/engines.h"

namespace pooljit::ir {
namespace {

constexpr int vector_bytes = 64;

PoolNest nest_of(const std::string& layer) {
  return frontend::make_nest(*frontend::parse_spec("max_pool2d(uint8[1,1," + layer + ")"));
}

// Of some outputs, how far from each other their windows begin, and the taps from there on.
std::vector<PlacedLanes::List> lists_of(int64_t lanes, int64_t outputs, int64_t first,
                                        const std::vector<int64_t>& taps) {
  std::vector<PlacedLanes::List> lists = PlacedLanes::strided(static_cast<int>(lanes), 2, taps);
  for (PlacedLanes::List& list : lists)
    for (size_t lane = 0; lane < list.size(); ++lane)
      list[lane] = static_cast<int64_t>(lane) < outputs ? list[lane] + first : PlacedLanes::anything;
  return lists;
}

test::Case reduced(const PoolNest& nest, const LanePairs& pairs, int vectors,
                   const std::vector<uint8_t>& input) {
  Builder b("pairs", Isa::avx512);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  const auto reducer = make_reducer(nest, b, LaneUse::moved);
  std::vector<Value> bytes;
  for (int i = 0; i < vectors; ++i)
    bytes.push_back(b.load(Type::vec(DType::u8, vector_bytes), {in, {}, i * vector_bytes}));
  b.store({out, {}, 0}, LanePairs::low_bytes(b, DType::u8, pairs.reduced(b, **reducer, bytes)));
  b.ret();
  test::Case c{.name = "pairs", .program = b.finish(), .input = {}, .output_bytes = input.size() / 2};
  c.input = input;
  return c;
}

TEST(LanePairs, EachWindowIsReducedToOneByte) {
  const PoolNest nest = nest_of("8,8], kernel_size=2");
  const struct {
    int vectors;
    int64_t outputs, first;
    std::vector<int64_t> taps;
  } table[] = {
      {1, 32, 0, {0, 1}},           {1, 31, 0, {0, 1, 2}},    {1, 30, 1, {0, 1, 2}},
      {1, 28, 0, {0, 1, 2, 3, 4}},  {1, 25, 0, {0, 3, 6, 9}}, {1, 29, 1, {0, 2, 4}},
      {2, 64, 0, {0, 1}},           {2, 63, 0, {0, 1, 2}},    {2, 56, 0, {0, 1, 2, 3, 4, 5, 6}},
      {2, 40, 1, {0, 1, 2, 3, 46}},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(testing::Message() << row.vectors << " vectors, " << row.outputs << " outputs from byte "
                                    << row.first << ", " << row.taps.size() << " taps");
    std::vector<uint8_t> input(static_cast<size_t>(row.vectors * vector_bytes));
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<uint8_t>(i * 197 % 251);
    const int64_t words = row.vectors * vector_bytes / 2;
    const auto pairs = LanePairs::of(lists_of(words, row.outputs, row.first, row.taps), words);
    ASSERT_TRUE(pairs);
    for (const test::Run& run : test::run_everywhere(reduced(nest, *pairs, row.vectors, input))) {
      ASSERT_TRUE(run.result) << run.engine << ": " << to_string(run.result.error());
      for (int64_t output = 0; output < row.outputs; ++output) {
        uint8_t largest = 0;
        for (const int64_t tap : row.taps)
          largest = std::max(largest, input[static_cast<size_t>(row.first + 2 * output + tap)]);
        EXPECT_EQ(run.result->output[static_cast<size_t>(output)], largest) << run.engine << ", " << output;
      }
    }
  }
}

TEST(LanePairs, WhatHasNoByteIsRefused) {
  EXPECT_FALSE(LanePairs::of(lists_of(32, 32, 0, {0, 1, 2}), 32)) << "byte 64 of 64";
  std::vector<PlacedLanes::List> lists = lists_of(32, 31, 0, {0});
  lists[0][5] = 11;
  EXPECT_FALSE(LanePairs::of(lists, 32)) << "an odd byte among even ones";
}

// With which of them the lines of a plane are reduced so, and in how many vectors the taps of a tile lie.
TEST(LanePairs, PlanesThatFit) {
  const struct {
    const char* layer;
    int lanes;
    bool has_pairs;
    int64_t vectors;
  } table[] = {
      {"17,17], kernel_size=3, stride=2", 32, true, 2},  // two lines in each
      {"17,17], kernel_size=3, stride=2", 16, true, 2},
      {"14,14], kernel_size=3, stride=2, ceil_mode=True", 32, true, 2},
      {"9,7], kernel_size=3, stride=2, padding=1", 32, true, 2},
      {"56,56], kernel_size=7, stride=2, padding=3", 32, true, 1},
      {"17,17], kernel_size=3, stride=2", 64, false, 8},                     // no vector of 128 bytes
      {"65,65], kernel_size=3, stride=2", 32, false, 0},                     // nor of 65
      {"17,17], kernel_size=3, stride=1", 32, false, 0},                     // windows move by one
      {"50,64], kernel_size=[2,6], stride=2, padding=[1,3]", 32, false, 0},  // 33 results, 32 words
      {"24,24], kernel_size=2, stride=2, padding=1", 32, false, 0},          // a window without its even tap
      {"16,16], kernel_size=4, stride=[3,2], padding=2, ceil_mode=True", 32, true,
       3},  // two lines do not fit
  };
  for (const auto& row : table) {
    const PoolNest nest = nest_of(row.layer);
    const Layer layer = *Layer::of(nest, Isa::avx512);
    const PlaneTiles tiles(layer, schedule_of(Family::whole_planes, row.lanes));
    EXPECT_EQ(tiles.pairs() != nullptr, row.has_pairs) << row.layer << ", " << row.lanes << " lanes";
    if (row.vectors > 0) {
      EXPECT_EQ(tiles.most_line_vectors(), row.vectors) << row.layer << ", " << row.lanes << " lanes";
    }
    EXPECT_FALSE(PlaneTiles(*Layer::of(nest, Isa::avx2), schedule_of(Family::whole_planes, 16)).pairs());
  }
}

}  // namespace
}  // namespace pooljit::ir
