// Machine code for all extents: proved byte by byte for sizes that cover tails, borders and windows larger
// than the image, with the words of each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/general/general.h"
#include "ir/general/size_words.h"
#include "ir/passes/pipeline.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/lowering/size_layout.h"
#include "jit/backend.h"
#include "proof/bytes/inspect.h"
#include "proof/bytes/prove_bytes.h"
#include "runtime/proof/general.h"
#include "runtime/sized_code.h"

namespace pooljit {
namespace {

const char* const layers[] = {
    "max_pool2d(float32[1,17,{}]:nhwc, kernel_size=3, stride=2, padding=1)",
    "max_pool2d(float32[1,17,{}]:nhwc, kernel_size=3, stride=1, padding=1)",
    "max_pool2d(float32[1,3,{}]:nhwc, kernel_size=3, stride=1, padding=1)",
    "avg_pool2d(float32[1,3,{}]:nhwc, kernel_size=3, stride=1, padding=1, count_include_pad=False)",
    "max_pool2d(float32[1,3,{}]:nhwc, kernel_size=2, stride=2, padding=1)",
    "avg_pool2d(uint8[1,9,{}]:nhwc, kernel_size=3, stride=2, padding=1)",
    "max_pool2d(float32[1,9,{}]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True)",
    "max_pool2d(float32[1,40,{}]:nchw8c, kernel_size=3, stride=2, padding=1)",
    "avg_pool2d_backward(float32[1,9,{}]:nhwc, kernel_size=3, stride=2, padding=1, count_include_pad=False)",
    "avg_pool2d_backward(float32[1,2,{}], kernel_size=3, stride=2, padding=1, count_include_pad=False)",
    "max_pool2d(float32[1,2,{}], kernel_size=3, stride=2, padding=1)",
    "max_pool2d(float32[1,2,{}], kernel_size=3, stride=1, padding=1)",
    "max_pool2d(float32[1,2,{}], kernel_size=5, stride=1, padding=2)",
    "avg_pool2d(float32[1,2,{}], kernel_size=3, stride=1, padding=1)",
    "max_pool2d(uint8[1,2,{}], kernel_size=3, stride=1, padding=1)",
    "max_pool2d(float32[1,2,{}], kernel_size=3, stride=2, padding=1, return_indices=True)",
    "avg_pool2d(float32[1,2,{}], kernel_size=3, stride=2, padding=1, count_include_pad=False)",
    "max_pool2d(float32[1,9,{}]:nchw8c, kernel_size=3, stride=2, padding=1, output_layout=nchw, "
    "epilogue=[add])",
    "avg_pool2d(float32[1,9,{}], kernel_size=3, stride=2, padding=1, output_layout=nchw8c)",
    "max_pool2d(float32[1,9,{}]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True, "
    "index_dtype=int32, index_scope=tensor)",
    "max_pool2d(float32[1,2,{}], kernel_size=3, stride=2, padding=1, return_indices=True, "
    "index_dtype=int32, index_scope=tensor, storage_order=1)",
};
const char* const sizes[] = {"8,8", "1,1", "7,12", "2,5", "5,20", "3,37"};

// One piece of code for a layer, and what it is run at.
void prove(const std::string& layer, ir::Isa isa) {
  const auto at = [&](const char* size) {
    return make_nest(*frontend::parse_spec(fmt::format(fmt::runtime(layer), size)));
  };
  const ir::PoolNest any = *general_nest(at(sizes[0]), ir::Extents::any);
  const ir::Program program = *ir::legalize(*lower(any, ir::enumerate_schedules(any, isa, 1).front(), isa));
  const jit::CodeBlob blob = *jit::emit(jit::BackendId::xbyak, program);
  const auto facts = jit::inspect(blob, program.params);
  EXPECT_TRUE(facts) << (facts ? "" : to_string(facts.error()));
  for (const char* size : sizes) {
    SCOPED_TRACE(size);
    std::vector<std::vector<int64_t>> words = {*size_words(any, at(size))};
    const ir::PoolNest nest = at(size);
    jit::x86::KernelCode kernel{
        &blob, program.params, program.tasks, &program.tables, program.scratch_bytes, 1, 0, {&nest, 1}};
    kernel.sizes = words;
    const auto proof = jit::x86::prove_bytes(kernel, nest, 1, isa);
    EXPECT_TRUE(proof) << (proof ? "" : to_string(proof.error()));
    // The input's row stride, also of rows of pixels.
    words[0][2] += 4;
    if (has_pixel_rows_of_any_size(any))
      words[0][static_cast<size_t>(ir::SizeLayout(any).position(ir::SizeLayout::input, 0))] += 4;
    if (at(size).dims[0].input > 1) {
      EXPECT_FALSE(jit::x86::prove_bytes(kernel, at(size), 1, isa)) << "with another stride";
    }
  }
}

TEST(AnySize, CodeIsProvedSizeBySize) {
  for (const char* layer : layers)
    for (const ir::IsaInfo& isa : ir::isa_table) {
      SCOPED_TRACE(std::string(layer) + " " + std::string(isa.text));
      prove(layer, isa.isa);
    }
}

// Several pools of one tensor: each by itself, in code that reads words of each.
const char* const pools[] = {
    "pools(float32[1,9,H,1]:nhwc, max_pool2d(kernel_size=3, stride=1, padding=1), max_pool2d(kernel_size=5, "
    "stride=1, padding=2), concat=True, include_input=True)",
    "pools(uint8[1,5,L]:nwc, max_pool1d(kernel_size=3, stride=2, padding=1), global_avg_pool1d())",
    "pools(float32[1,2,H,3], max_pool2d(kernel_size=2, return_indices=True), avg_pool2d(kernel_size=3, "
    "stride=1, padding=1))",
};

TEST(AnySize, SeveralPoolsAreProvedOneByOne) {
  for (const char* text : pools) {
    SCOPED_TRACE(text);
    const auto spec = frontend::parse_spec(text, frontend::FreeDims::allowed);
    const runtime::Choices choices = {runtime::Engine::xbyak, ir::least_isa, std::nullopt};
    const auto general = make_general_code(*spec, choices);
    ASSERT_TRUE(general) << to_string(general.error());
    const auto proof = prove_general(*general, *spec, choices);
    ASSERT_TRUE(proof) << to_string(proof.error());
    EXPECT_TRUE(proof->ok()) << print(*proof);
    std::vector<int64_t> size;
    for (const frontend::SpecDim& dim : spec->dims) size.push_back(dim.is_free ? 9 : dim.input);
    const frontend::PoolSpec sized = *with_sizes(*spec, size);
    const ir::PoolNest nest = make_nest(sized);
    const auto words = *runtime::words_of_pools((*general)->info.nest, nest);
    runtime::Choices same = choices;
    same.schedule = *ir::parse_schedule((*general)->info.schedule);
    for (size_t member = 0; member < words.size(); ++member) {
      // Global windows do not read it.
      if (nest.members[member].dims[0].output == 1) continue;
      // A row less, or one behind the last: which of them is a fault is up to the family.
      const auto passes = [&](int64_t more) {
        auto wrong = words;
        wrong[member][static_cast<size_t>(ir::rows_word((*general)->info.nest.members[member]))] += more;
        const auto refused = prove_code(runtime::SizedCode(*general, nest, wrong), sized, same);
        return refused && refused->ok();
      };
      EXPECT_FALSE(passes(-1) && passes(1)) << "member " << member;
    }
  }
}

}  // namespace
}  // namespace pooljit
