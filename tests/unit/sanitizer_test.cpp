// What a call asks AddressSanitizer, which this program plays itself: of each buffer, whatever takes it.
#include "runtime/sanitizer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/compile.h"

namespace {

const std::byte* poison = nullptr;  // the one byte that is

}  // namespace

// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's own
extern "C" void* __asan_region_is_poisoned(void* begin, size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(begin);
  return poison >= first && poison < first + bytes ? const_cast<std::byte*>(poison) : nullptr;
}

namespace pooljit::runtime {
namespace {

constexpr const char* pools =
    "pools(float32[N,3,8,9], max_pool2d(kernel_size=3, stride=1, padding=1, return_indices=True), "
    "avg_pool2d(kernel_size=3, stride=1, padding=1, epilogue=[scale_channel, add]))";

// Buffers of all kinds for two images, and the call with them.
struct Buffers {
  explicit Buffers(const KernelPtr& of) : kernel(of) {
    const auto add = [](std::vector<std::vector<std::byte>>& all, const MemoryView& view) {
      all.emplace_back(size_t(view.with_batch(2).span_bytes()));
    };
    add(inputs, kernel->input_view());
    for (const MemoryView& view : kernel->output_views()) add(outputs, view);
    for (const MemoryView& view : kernel->index_views()) add(indices, view);
    for (const MemoryView& view : kernel->operand_views()) add(operands, view);
  }
  std::string run() {
    std::vector<void*> out, index;
    std::vector<const void*> operand;
    for (auto& buffer : outputs) out.push_back(buffer.data());
    for (auto& buffer : indices) index.push_back(buffer.data());
    for (auto& buffer : operands) operand.push_back(buffer.data());
    const auto done = kernel->run(inputs[0].data(), {out, index}, nullptr, 2, operand);
    return done ? "" : done.error().id + ": " + done.error().message;
  }

  KernelPtr kernel;
  std::vector<std::vector<std::byte>> inputs, outputs, indices, operands;
};

TEST(Sanitizer, IsAskedOfEachBuffer) {
  for (const char* spec : {pools, "max_pool2d(float32[N,3,8,9], kernel_size=2, return_indices=True)",
                           "avg_pool2d(float32[N,3,8,9]:nhwc, kernel_size=2, epilogue=[add, mul_channel])",
                           "max_pool2d_backward(float32[N,3,8,9], kernel_size=2)"}) {
    const auto kernel = runtime::compile(spec, {.threads = 1});
    ASSERT_TRUE(kernel) << ir::to_string(kernel.error());
    Buffers buffers(*kernel);
    poison = nullptr;
    EXPECT_EQ(buffers.run(), "") << spec;
    const std::pair<const char*, std::vector<std::vector<std::byte>>*> kinds[] = {
        {"input", &buffers.inputs},
        {"output", &buffers.outputs},
        {"indices", &buffers.indices},
        {"operand", &buffers.operands}};
    for (const auto& [what, all] : kinds)
      for (size_t i = 0; i < all->size(); ++i)
        for (const size_t at : {size_t{0}, (*all)[i].size() - 1}) {
          poison = (*all)[i].data() + at;
          EXPECT_EQ(buffers.run(), "run.buffer: " + std::string(what) +
                                       (all->size() > 1 ? " " + std::to_string(i) : "") +
                                       " may not be touched at byte " + std::to_string(at) + " of " +
                                       std::to_string((*all)[i].size()) + ", says AddressSanitizer")
              << spec;
        }
  }
  poison = nullptr;
}

TEST(Sanitizer, IsAskedOfTheCallersScratchMemory) {
  const auto kernel = runtime::compile(
      "max_pool2d(float32[1,64,24,24]:nhwc, kernel_size=9, stride=1, padding=4)", {.threads = 1});
  ASSERT_TRUE(kernel);
  const auto needed = size_t((*kernel)->scratch_bytes());
  ASSERT_GT(needed, 0U);
  std::vector<std::byte> input(size_t((*kernel)->input_view().span_bytes())), output(input.size()),
      scratch(needed + ir::scratch_alignment);
  auto* const aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + ir::scratch_alignment - 1) /
                                   ir::scratch_alignment * ir::scratch_alignment);
  const auto run = [&] {
    void* const outputs[] = {output.data()};
    return (*kernel)->run_part(input.data(), {outputs, {}}, {.part = 0, .parts = 1, .scratch = aligned});
  };
  EXPECT_TRUE(run());
  poison = aligned + needed - 1;
  const auto done = run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().id, "run.buffer");
  poison = nullptr;
}

// Every element of a strided view is asked of, and nothing between.
TEST(Sanitizer, IsAskedOfElementsOnly) {
  MemoryView view{.rank = 3, .element_bytes = 4};
  view.room[0] = {2, 160, 1};  // images
  view.room[1] = {5, 64, 4};   // channels in blocks of 4
  view.room[2] = {3, 20, 1};   // 4 bytes between pixels
  std::array<std::byte, 400> memory{};
  std::array<bool, 400> is_element{};
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t c = 0; c < 5; ++c)
      for (int64_t x = 0; x < 3; ++x)
        for (int64_t byte = 0; byte < 4; ++byte)
          is_element[size_t(n * 160 + view.room[1].offset(c, 4) + x * 20 + byte)] = true;
  for (size_t at = 0; at < memory.size(); ++at) {
    poison = memory.data() + at;
    EXPECT_EQ(first_poisoned(view, memory.data()), is_element[at] ? int64_t(at) : -1) << at;
  }
  poison = nullptr;
}

}  // namespace
}  // namespace pooljit::runtime
