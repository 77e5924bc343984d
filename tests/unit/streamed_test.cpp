// stores=streamed: whole vectors past the caches where the output is aligned to them, and code for outputs
// that are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "ir/agreement.h"
#include "ir/choose/enumerate.h"
#include "ir/reference.h"
#include "ir/schedule_text.h"
#include "runtime/memory_view.h"
#include "runtime/proof/verify.h"
#include "tests/native_choices.h"

namespace pooljit::runtime {
namespace {

constexpr int64_t line = 64;

ir::PoolNest nest_of(const char* spec) { return frontend::make_nest(*frontend::parse_spec(spec)); }

ir::Schedule streamed(const ir::PoolNest& nest, ir::Isa isa) {
  ir::Schedule schedule = ir::enumerate_schedules(nest, isa, 1).front();
  schedule.stores = ir::Stores::streamed;
  return schedule;
}

TEST(Streamed, IsSaidOnlyWhereItIsChosen) {
  const char* text =
      "channels_last(lanes=16, vectors_side_by_side=2, scan=rolling, tap_code=straight, tail=mask, "
      "stores=streamed)";
  const auto schedule = ir::parse_schedule(text);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->stores, ir::Stores::streamed);
  EXPECT_EQ(ir::print(*schedule), text);
  EXPECT_EQ(ir::print(ir::Schedule{}).find("stores"), std::string::npos);
}

// Outputs of 8 MB and more, packed, so that whole lines are written.
TEST(Streamed, IsTheDefaultWhereNoNearCacheKeepsTheOutput) {
  const struct {
    const char* spec;
    bool is_streamed;
    ir::Isa isa = ir::Isa::avx512;
  } table[] = {
      {"max_pool2d(float32[1,256,96,96]:nhwc, kernel_size=3, stride=1, padding=1)", true},
      {"max_pool2d(uint8[1,1,2160,3840], kernel_size=3, stride=1, padding=1)", true},
      {"max_pool2d(bfloat16[1,64,512,512]:nhwc, kernel_size=2)", true},
      {"max_pool2d(float32[1,64,112,112]:nhwc, kernel_size=3, stride=2, padding=1)", false},
      {"max_pool2d(float32[8,64,112,112]:nhwc, kernel_size=3, stride=2, padding=1)", false},
      {"max_pool2d(float32[1,64,512,512]:nhwc, kernel_size=4)", false},
      // Not all vectors lie at multiples of their size.
      {"max_pool2d(float32[1,255,97,97]:nhwc, kernel_size=3, stride=1, padding=1)", false},
      {"max_pool2d(float32[1,40,320,320]:nhwc, kernel_size=3, stride=1, padding=1)", false},
      // Half a line each.
      {"max_pool2d(float32[1,256,96,96]:nhwc, kernel_size=3, stride=1, padding=1)", false, ir::Isa::avx2},
      // Eight rows at once.
      {"max_pool2d(uint8[1,16,800,800], kernel_size=9, stride=1, padding=4)", false},
      // Sixteen, strip by strip.
      {"max_pool2d(uint8[1,1,2160,3840], kernel_size=31, stride=1, padding=15)", false},
      // Lines of which other channels have a part.
      {"max_pool2d(float32[1,256,96,96]:nhwc, kernel_size=3, stride=1, padding=1, "
       "output_strides=[4718592,1,49152,512])",
       false},
  };
  for (const auto& row : table) {
    const auto stores = ir::enumerate_schedules(nest_of(row.spec), row.isa, 1).front().stores;
    EXPECT_EQ(stores == ir::Stores::streamed, row.is_streamed) << row.spec << ' ' << ir::info(row.isa).text;
  }
}

const char* const layers[] = {
    "max_pool2d(float32[2,64,9,10]:nhwc, kernel_size=3, stride=1, padding=1)",
    "max_pool2d(float32[2,64,9,10]:nhwc, kernel_size=3, stride=2, return_indices=True)",
    "avg_pool2d(float32[2,32,9,10]:nhwc, kernel_size=2, epilogue=[relu])",
    "max_pool2d(uint8[2,128,9,10]:nhwc, kernel_size=[3,2])",
    "max_pool2d(float32[2,3,9,128], kernel_size=3, stride=1, padding=1)",
    "max_pool2d(float32[2,3,9,256], kernel_size=2)",
    "avg_pool2d(float32[2,2,9,256], kernel_size=3, stride=1, padding=1)",
    "avg_pool2d(uint8[2,64,5,6]:nhwc, kernel_size=2)",
    "max_pool2d(float32[2,64,9,10]:nhwc, kernel_size=2, output_strides=[5120,1,640,128])",
};

// The output `shift` bytes behind the beginning of a line, between bytes that have to stay.
void expect_right(const Code& code, const std::vector<float>& input, int64_t batch, int64_t shift) {
  const ir::PoolNest& nest = code.info.nest;
  const auto size = [&](const MemoryView& view) { return size_t(view.span_bytes()); };
  const size_t bytes = size(output_view(nest, batch)), indices_bytes = size(indices_view(nest, batch));
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  const size_t room = (bytes + 4 * line) / line * line;
  const std::unique_ptr<std::byte, Free> memory(static_cast<std::byte*>(std::aligned_alloc(line, room)));
  std::fill_n(memory.get(), room, std::byte{0x5a});
  std::vector<std::byte> expected(memory.get(), memory.get() + room);
  std::vector<std::byte> indices(indices_bytes), expected_indices(indices_bytes);
  std::byte* const output = memory.get() + line + shift;
  TaskRanges ranges{};
  for (size_t i = 0; i < code.info.tasks.size(); ++i) {
    const int64_t extent = code.info.tasks[i].extent;
    ranges[i] = {0, extent == ir::TaskDim::batch_extent ? batch : extent};
  }
  code.run({input.data(), output, indices_bytes > 0 ? indices.data() : nullptr, batch}, ranges);
  const auto sentence = ir::disagreement(nest, batch, input.data(), output, indices.data());
  EXPECT_FALSE(sentence) << *sentence;
  ir::evaluate(nest, batch, input.data(), expected.data() + line + shift,
               indices_bytes > 0 ? expected_indices.data() : nullptr);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.get())) << "bytes beside the elements";
  EXPECT_EQ(indices, expected_indices);
}

TEST(Streamed, OutputsOfAnyAlignmentAreRight) {
  for (const char* spec : layers)
    for (Choices choices : native_choices()) {
      const ir::PoolNest nest = nest_of(spec);
      choices.schedule = streamed(nest, choices.isa);
      SCOPED_TRACE(std::string(spec) + " " + print(*choices.schedule));
      const auto code = info(choices.engine).make(nest, choices);
      ASSERT_TRUE(code) << ir::to_string(code.error());
      ASSERT_EQ((*code)->versions().size(), 2u);
      EXPECT_GT((*code)->versions()[0]->info.output_alignment, 1);
      EXPECT_EQ((*code)->versions()[1]->info.output_alignment, 1);
      constexpr int64_t batch = 2;
      std::vector<float> input(size_t(input_view(nest, batch).span_bytes()) / sizeof(float));
      for (size_t i = 0; i < input.size(); ++i) input[i] = float(i * 7919 % 1009);
      for (int64_t shift = 0; shift <= line; shift += ir::bytes(nest.output.dtype))
        expect_right(**code, input, batch, shift);
    }
}

// Each is the definition of what the machine code does, and so says where its vectors lie.
TEST(Streamed, ProgramsStoreAtMultiplesOnly) {
  for (const char* spec : layers)
    for (const ir::IsaInfo& isa : ir::isa_table) {
      const ir::PoolNest nest = nest_of(spec);
      const auto proof = verify(spec, {Engine::interpreter, isa.isa, streamed(nest, isa.isa)});
      ASSERT_TRUE(proof) << ir::to_string(proof.error());
      EXPECT_TRUE(proof->ok()) << print(*proof);
    }
}

TEST(Streamed, BothVersionsAreProved) {
  for (const char* spec : layers)
    for (Choices choices : native_choices()) {
      choices.schedule = streamed(nest_of(spec), choices.isa);
      const auto proof = verify(spec, choices);
      ASSERT_TRUE(proof) << ir::to_string(proof.error());
      EXPECT_TRUE(proof->ok()) << print(*proof);
      EXPECT_EQ(proof->versions, 2);
    }
}

// A layer that is too large to be probed is made again smaller, with both versions.
TEST(Streamed, LargeLayersAreProvedOnSmallerOnes) {
  const char* spec = "max_pool2d(float32[1,256,96,96]:nhwc, kernel_size=3, stride=1, padding=1)";
  const ir::Schedule schedule = streamed(nest_of(spec), ir::Isa::avx2);
  const auto proof = verify(spec, {Engine::xbyak, ir::Isa::avx2, schedule}, {.work = 1e7});
  ASSERT_TRUE(proof) << ir::to_string(proof.error());
  EXPECT_TRUE(proof->ok()) << print(*proof);
  EXPECT_EQ(proof->versions, 2);
  const auto streams = [](const std::string& sentence) {
    return sentence.find("what was executed and probed") != std::string::npos &&
           sentence.find("stores=streamed") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(proof->left, streams), 1) << print(*proof);
}

// Planes of 16x17 hold whole vectors, the smaller tensor's do not: its code is another, and the report says
// so.
TEST(Streamed, WhatASmallerLayerCannotShowIsSaid) {
  const char* spec = "max_pool2d(float32[1,8192,17,18], kernel_size=2, stride=1)";
  Choices choices{Engine::xbyak, ir::Isa::avx2, std::nullopt};
  choices.schedule = streamed(nest_of(spec), choices.isa);
  const auto proof = verify(spec, choices, {.work = 2e7});
  ASSERT_TRUE(proof) << ir::to_string(proof.error());
  EXPECT_TRUE(proof->ok()) << print(*proof);
  const auto says = [](const std::string& sentence) {
    return sentence.find("read, not probed") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(proof->left, says), 1) << print(*proof);
}

class TwoVersions final : public Code {
 public:
  TwoVersions(std::shared_ptr<const Code> first, std::shared_ptr<const Code> second)
      : Code(first->info), first_(std::move(first)), second_(std::move(second)) {}
  void run(const Call& call, const TaskRanges& ranges) const override { first_->run(call, ranges); }
  std::vector<const Code*> versions() const override { return {first_.get(), second_.get()}; }

 private:
  std::shared_ptr<const Code> first_, second_;
};

TEST(Streamed, AWrongVersionIsFound) {
  const Choices choices{Engine::xbyak, ir::Isa::avx2, std::nullopt};
  const char *text = "max_pool2d(float32[1,8,6,6]:nhwc, kernel_size=2)",
             *other = "min_pool2d(float32[1,8,6,6]:nhwc, kernel_size=2)";
  const auto right = info(choices.engine).make(nest_of(text), choices),
             wrong = info(choices.engine).make(nest_of(other), choices);
  ASSERT_TRUE(right && wrong);
  (*wrong)->info.nest = (*right)->info.nest;
  const auto proof = prove_code(TwoVersions(*right, *wrong), *frontend::parse_spec(text), choices);
  ASSERT_TRUE(proof) << ir::to_string(proof.error());
  EXPECT_TRUE(proof->failure.starts_with("where the output is not aligned: ")) << print(*proof);
}

}  // namespace
}  // namespace pooljit::runtime
