// Nests that are made here rather than from a spec, through every engine, ISA and schedule: windows of every
// kind along every dimension, small enough to be run exhaustively.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <utility>

#include "ir/agreement.h"
#include "ir/reference.h"
#include "runtime/cpu_features.h"
#include "runtime/engines.h"
#include "runtime/memory_view.h"

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

Result run(const runtime::Code& code, const std::vector<std::byte>& input) {
  const PoolNest& nest = code.info.nest;
  Result result;
  result.output.resize(static_cast<size_t>(runtime::output_view(nest, batch).span_bytes()));
  result.indices.resize(static_cast<size_t>(runtime::indices_view(nest, batch).span_bytes()));
  runtime::TaskRanges ranges{};
  for (size_t i = 0; i < code.info.tasks.size(); ++i) {
    const int64_t extent = code.info.tasks[i].extent;
    ranges[i] = {0, extent == ir::TaskDim::batch_extent ? batch : extent};
  }
  code.run({input.data(), result.output.data(), result.indices.data(), batch}, ranges);
  return result;
}

void check(const PoolNest& nest) {
  const std::vector<std::byte> input = random_input(nest);
  for (const ir::IsaInfo& isa : ir::isa_table) {
    bool first = true;  // LLVM takes milliseconds: one schedule each
    for (const ir::Schedule& schedule : ir::enumerate_schedules(nest, isa.isa)) {
      SCOPED_TRACE(nest.print() + std::string(isa.text) + " " + print(schedule));
      std::optional<Result> expected;
      for (const auto engine :
           {runtime::Engine::interpreter, runtime::Engine::xbyak, runtime::Engine::llvm}) {
        const bool is_native = runtime::info(engine).is_native;
        if (engine == runtime::Engine::llvm && !std::exchange(first, false)) continue;
        if (!runtime::is_built(engine) || (is_native && !runtime::can_run(isa.isa))) continue;
        const auto code = runtime::info(engine).make(nest, {engine, isa.isa, schedule});
        ASSERT_TRUE(code) << to_string(code.error());
        const Result result = run(**code, input);
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

TEST(NestEngines, IndicesOfEveryKind) {
  NestDim dilated = window(9, 3, 1, 3);
  dilated.dilation = 2, dilated.output = 11;
  for (const PoolNest& nest : indexed_nests({window(5, 3, 2, 1), dilated}, 17)) check(nest);
  for (const PoolNest& nest : indexed_nests({window(4, 2, 2, 2), adaptive(2, 3), adaptive(20, 17)}, 3))
    check(nest);
}

}  // namespace
}  // namespace pooljit
