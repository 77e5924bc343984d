// Nests that are made here rather than from a spec, through every engine, ISA and schedule: windows of every
// kind along every dimension, small enough to be run exhaustively.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "ir/agreement.h"
#include "ir/choose/enumerate.h"
#include "ir/reference.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "runtime/cpu_features.h"
#include "runtime/engines.h"
#include "runtime/memory_view.h"
#include "tests/schedule_words.h"

namespace pooljit {
namespace {

using ir::NestDim;
using ir::PoolNest;

NestDim adaptive(int64_t input, int64_t output) {
  NestDim dim;
  dim.kind = ir::DimKind::adaptive, dim.input = input, dim.output = output;
  return dim;
}

NestDim window(int64_t input, int64_t kernel, int64_t stride, int64_t pad) {
  NestDim dim;
  dim.input = input, dim.kernel = kernel, dim.stride = stride, dim.pad_begin = dim.pad_end = pad;
  dim.output = (input + 2 * pad - kernel) / stride + 1;
  return dim;
}

ir::View packed(const PoolNest& nest, int64_t NestDim::*extent, bool channels_last, ir::DType dtype) {
  ir::View view{.dtype = dtype, .batch_stride = 0, .channel_stride = 1, .strides = {}};
  int64_t step = channels_last ? nest.channels : 1;
  view.strides.resize(nest.dims.size());
  for (size_t i = nest.dims.size(); i-- > 0; step *= nest.dims[i].*extent) view.strides[i] = step;
  if (!channels_last) view.channel_stride = step;
  view.batch_stride = channels_last ? step : step * nest.channels;
  return view;
}

// Nests of the dims, in both layouts, as maximum, maximum with indices, and average.
std::vector<PoolNest> nests_of(const std::vector<NestDim>& dims, int64_t channels) {
  std::vector<PoolNest> nests;
  for (const bool channels_last : {false, true})
    for (const ir::DType dtype : {ir::DType::f32, ir::DType::u8})
      for (const int variant : {0, 1, 2}) {
        PoolNest nest;
        nest.channels = channels;
        nest.dims = dims;
        nest.input = packed(nest, &NestDim::input, channels_last, dtype);
        nest.output = packed(nest, &NestDim::output, channels_last, dtype);
        if (variant == 1) nest.indices = packed(nest, &NestDim::output, channels_last, ir::DType::i64);
        if (variant == 2) nest.reduction = ir::Reduction::avg;
        nests.push_back(nest);
      }
  return nests;
}

struct IndexKind {
  ir::IndexScope scope;
  ir::DType dtype;
  bool column_major = false;
};
constexpr IndexKind index_kinds[] = {
    {ir::IndexScope::plane, ir::DType::i32},  {ir::IndexScope::plane, ir::DType::i64, true},
    {ir::IndexScope::tensor, ir::DType::i64}, {ir::IndexScope::tensor, ir::DType::i32, true},
    {ir::IndexScope::nhwc, ir::DType::i32},   {ir::IndexScope::nhwc_batch, ir::DType::i64},
    {ir::IndexScope::window, ir::DType::u8},  {ir::IndexScope::window, ir::DType::i32},
    {ir::IndexScope::window, ir::DType::i64},
};

// Maxima with indices of every kind.
std::vector<PoolNest> indexed_nests(const std::vector<NestDim>& dims, int64_t channels) {
  std::vector<PoolNest> nests;
  for (const PoolNest& base : nests_of(dims, channels)) {
    if (!base.indices) continue;
    for (const IndexKind& kind : index_kinds) {
      nests.push_back(base);
      nests.back().indices->dtype = kind.dtype;
      nests.back().index_scope = kind.scope;
      nests.back().column_major = kind.column_major;
    }
  }
  return nests;
}

// The backward passes of the nests with windows: of averages in all ways to count, and of maxima by indices
// that the forward pass made.
std::vector<PoolNest> backward_nests(const std::vector<NestDim>& dims, int64_t channels) {
  std::vector<PoolNest> nests;
  for (PoolNest nest : indexed_nests(dims, channels)) {
    const bool is_picked = nest.indices->dtype == ir::DType::u8 || nest.index_scope == ir::IndexScope::nhwc ||
                           (nest.index_scope == ir::IndexScope::plane && nest.column_major);
    if (nest.input.dtype == ir::DType::f32 && is_picked) nests.push_back(nest);
  }
  for (PoolNest nest : nests_of(dims, channels)) {
    if (nest.input.dtype != ir::DType::f32 || nest.reduction != ir::Reduction::avg) continue;
    nests.push_back(nest);
    nest.count_include_pad = false;
    nests.push_back(nest);
    nest.divisor_override = 3;
    nests.push_back(nest);
  }
  for (PoolNest& nest : nests) {
    nest.direction = ir::Direction::backward;
    std::swap(nest.input, nest.output);
    for (NestDim& dim : nest.dims) {
      std::swap(dim.input, dim.output);
      if (dim.kind == ir::DimKind::pool) dim.kind = ir::DimKind::gather;
    }
  }
  return nests;
}

struct Result {
  std::vector<std::byte> output, indices;
  bool operator==(const Result&) const = default;
};

constexpr int64_t batch = 2;

std::vector<std::byte> random_input(const PoolNest& nest) {
  const auto count = static_cast<size_t>(runtime::input_view(nest, batch).span_bytes());
  std::vector<std::byte> bytes(count);
  std::mt19937 random(7);
  if (nest.input.dtype == ir::DType::f32)
    for (size_t i = 0; i < count; i += 4) {
      const float value = static_cast<float>(random() % 9) - 4;
      std::memcpy(&bytes[i], &value, 4);
    }
  else
    for (std::byte& byte : bytes) byte = std::byte(random() % 5);
  return bytes;
}

// Backward: the indices that the forward pass makes of some input.
std::vector<std::byte> forward_indices(const PoolNest& nest) {
  if (!nest.is_backward() || !nest.indices) return {};
  const PoolNest forward = forward_of(nest);
  std::vector<std::byte> output(static_cast<size_t>(runtime::output_view(forward, batch).span_bytes()));
  std::vector<std::byte> indices(static_cast<size_t>(runtime::indices_view(forward, batch).span_bytes()));
  ir::evaluate(forward, batch, random_input(forward).data(), output.data(), indices.data());
  return indices;
}

Result run(const runtime::Code& code, const std::vector<std::byte>& input,
           const std::vector<std::byte>& indices) {
  const PoolNest& nest = code.info.nest;
  Result result;
  result.output.resize(static_cast<size_t>(runtime::output_view(nest, batch).span_bytes()));
  result.indices = indices;
  result.indices.resize(static_cast<size_t>(runtime::indices_view(nest, batch).span_bytes()));
  runtime::TaskRanges ranges{};
  for (size_t i = 0; i < code.info.tasks.size(); ++i) {
    const int64_t extent = code.info.tasks[i].extent;
    ranges[i] = {0, extent == ir::TaskDim::batch_extent ? batch : extent};
  }
  code.run({input.data(), result.output.data(), result.indices.data(), batch}, ranges);
  return result;
}

bool is_any(const ir::Schedule&) { return true; }

void check(const PoolNest& nest, bool (*is_wanted)(const ir::Schedule&) = is_any) {
  const std::vector<std::byte> input = random_input(nest), indices = forward_indices(nest);
  for (const ir::IsaInfo& isa : ir::isa_table) {
    static int number = 0;  // LLVM takes milliseconds: one schedule of every third nest and ISA
    bool first = ++number % 3 == 0;
    for (const ir::Schedule& schedule : ir::enumerate_schedules(nest, isa.isa)) {
      if (!is_wanted(schedule)) continue;
      SCOPED_TRACE(nest.print() + std::string(isa.text) + " " + print(schedule));
      std::optional<Result> expected;
      for (const auto engine :
           {runtime::Engine::interpreter, runtime::Engine::xbyak, runtime::Engine::llvm}) {
        const bool is_native = runtime::info(engine).is_native;
        if (engine == runtime::Engine::llvm && !std::exchange(first, false)) continue;
        if (!runtime::is_built(engine) || (is_native && !runtime::can_run(isa.isa))) continue;
        const auto code = runtime::info(engine).make(nest, {engine, isa.isa, schedule});
        ASSERT_TRUE(code) << to_string(code.error());
        const Result result = run(**code, input, indices);
        if (!expected) {
          const auto sentence =
              ir::disagreement(nest, batch, input.data(), result.output.data(), result.indices.data());
          ASSERT_FALSE(sentence) << *sentence;
          expected = result;
        }
        ASSERT_TRUE(result == *expected) << runtime::info(engine).text << " differs from the interpreter";
      }
    }
  }
}

TEST(NestEngines, TallWindows) {
  for (const PoolNest& nest : nests_of({window(14, 9, 1, 1), window(20, 3, 1, 1)}, 2)) check(nest);
  for (const PoolNest& nest : nests_of({window(13, 7, 2, 3), window(19, 5, 1, 2)}, 2)) check(nest);
}

void expect_default_compiles(const PoolNest& nest) {
  for (const ir::IsaInfo& isa : ir::isa_table) {
    if (!runtime::can_run(isa.isa)) continue;
    const ir::Schedule schedule = ir::enumerate_schedules(nest, isa.isa, 1).front();
    const auto code =
        runtime::info(runtime::Engine::xbyak).make(nest, {runtime::Engine::xbyak, isa.isa, schedule});
    EXPECT_TRUE(code) << nest.print() << isa.text << ' ' << print(schedule) << ' ' << to_string(code.error());
  }
}

// What a schedule holds is an estimate until registers are given out; a default must never be wrong by it.
TEST(NestEngines, DefaultsFitTheRegisters) {
  for (const auto& [height, width] : {std::pair{14, 20}, {30, 7}, {9, 33}})
    for (int rows = 2; rows <= std::min(height, 13); ++rows)
      for (const int columns : {1, 2, 3, 5, 7})
        for (const int stride : {1, 2})
          for (PoolNest nest :
               nests_of({window(height, rows, stride, 1), window(width, columns, stride, columns / 2)}, 2)) {
            expect_default_compiles(nest);
            if (nest.indices) continue;
            nest.count_include_pad = false;
            nest.input.dtype = nest.output.dtype =
                nest.input.dtype == ir::DType::u8 ? ir::DType::bf16 : ir::DType::f64;
            expect_default_compiles(nest);
            nest.reduction = ir::Reduction::lp, nest.norm_type = 2;
            expect_default_compiles(nest);
          }
}

TEST(NestEngines, AdaptiveColumns) {
  for (const auto& [input, output] :
       {std::pair{7, 5}, {5, 7}, {40, 17}, {12, 20}, {9, 33}, {30, 4}, {70, 50}})
    for (const PoolNest& nest : nests_of({adaptive(4, 3), adaptive(input, output)}, 3)) check(nest);
}

TEST(NestEngines, AdaptiveChannelsLast) {
  for (const int channels : {1, 17, 64})
    for (const PoolNest& nest : nests_of({adaptive(7, 3), adaptive(3, 7)}, channels)) check(nest);
}

TEST(NestEngines, AdaptiveMixesWithWindows) {
  for (const PoolNest& nest : nests_of({adaptive(3, 6), window(5, 3, 2, 1), adaptive(10, 4)}, 5)) check(nest);
}

// A maximum, and an average whose divisors differ at every border; channels last.
std::vector<PoolNest> extreme_and_average(const std::vector<NestDim>& dims, int64_t channels,
                                          ir::DType dtype) {
  PoolNest nest;
  nest.channels = channels;
  nest.dims = dims;
  nest.input = packed(nest, &NestDim::input, true, dtype);
  nest.output = packed(nest, &NestDim::output, true, dtype);
  nest.count_include_pad = false;
  PoolNest average = nest;
  average.reduction = ir::Reduction::avg;
  return {nest, average};
}

// Strips that leave outputs over, a tail of channels, windows that step; large images offer them, smaller
// ones can have them.
TEST(NestEngines, Strips) {
  const auto in_strips = [](const ir::Schedule& schedule) { return ir::scan_of(schedule) == "strips"; };
  for (const NestDim& columns : {window(853, 3, 1, 1), window(1203, 5, 2, 3), window(860, 7, 1, 0)})
    for (const PoolNest& nest : extreme_and_average({window(4, 3, 1, 1), columns}, 70, ir::DType::f64)) {
      const auto offered = ir::enumerate_schedules(nest, ir::Isa::avx512);
      EXPECT_TRUE(std::any_of(offered.begin(), offered.end(), in_strips)) << nest.print();
      check(nest, in_strips);
    }
  const PoolNest small =
      extreme_and_average({window(4, 3, 1, 1), window(35, 3, 1, 1)}, 70, ir::DType::f32)[0];
  const auto offered = ir::enumerate_schedules(small, ir::Isa::avx2);
  EXPECT_TRUE(std::none_of(offered.begin(), offered.end(), in_strips));
  const ir::Schedule strips{.own = ir::ChannelsLastFields{.scan = ir::ChannelsLastFields::Scan::strips},
                            .lanes = 8};
  EXPECT_TRUE(ir::lower(small, strips, ir::Isa::avx2));
  const PoolNest short_rows =
      extreme_and_average({window(4, 3, 1, 1), window(15, 3, 1, 1)}, 70, ir::DType::f32)[0];
  EXPECT_EQ(ir::lower(short_rows, strips, ir::Isa::avx2).error().id, "schedule.scan");
}

// Rows that scratch memory does not hold at once are done in bands; a band's windows count from its own first
// row, its divisors from the image's.
TEST(NestEngines, BandsOfRows) {
  for (const PoolNest& nest :
       extreme_and_average({window(26, 9, 1, 4), window(200, 9, 1, 4)}, 16, ir::DType::f32))
    check(nest);
}

// Rows that roll on in strips, which hold what they share with the one before.
TEST(NestEngines, RowsThatRollOn) {
  for (const PoolNest& nest : nests_of({window(23, 20, 1, 1), window(1300, 18, 1, 9)}, 1))
    if (!nest.indices && nest.reduction == ir::Reduction::max) check(nest);
}

TEST(NestEngines, IndicesOfEveryKind) {
  NestDim dilated = window(9, 3, 1, 3);
  dilated.dilation = 2, dilated.output = 11;
  for (const PoolNest& nest : indexed_nests({window(5, 3, 2, 1), dilated}, 17)) check(nest);
  for (const PoolNest& nest : indexed_nests({window(4, 2, 2, 2), adaptive(2, 3), adaptive(20, 17)}, 3))
    check(nest);
}

TEST(NestEngines, BackwardOfWindows) {
  NestDim dilated = window(21, 3, 2, 3);
  dilated.dilation = 3, dilated.output = 11;
  NestDim cropped = window(20, 3, 2, 1);
  cropped.pad_end = -2, cropped.output = 9;
  for (const NestDim& columns : {window(37, 3, 2, 1), window(20, 2, 2, 0), window(19, 3, 1, 1), dilated,
                                 cropped, window(40, 4, 3, 0), window(24, 2, 5, 1), window(60, 29, 1, 0)})
    for (const PoolNest& nest : backward_nests({window(5, 3, 2, 1), columns}, 3)) check(nest);
}

TEST(NestEngines, BackwardChannelsLast) {
  for (const PoolNest& nest : backward_nests({window(7, 3, 2, 1), window(6, 3, 1, 1)}, 17)) check(nest);
  for (const PoolNest& nest : backward_nests({window(8, 4, 4, 0), window(120, 120, 1, 60)}, 4)) check(nest);
}

TEST(NestEngines, BackwardOfAdaptiveWindows) {
  for (const PoolNest& nest : backward_nests({adaptive(3, 5), adaptive(20, 12)}, 3))
    if (!nest.indices || nest.index_scope != ir::IndexScope::window) check(nest);
}

}  // namespace
}  // namespace pooljit
