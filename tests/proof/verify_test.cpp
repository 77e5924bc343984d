// The proof of machine code can succeed, for every engine, and can fail: each part is shown a kernel that
// breaks it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "jit/inspect.h"
#include "pooljit.hpp"
#include "runtime/cpu_features.h"
#include "runtime/proof/verify.h"

namespace pooljit::runtime {
namespace {

using Role = ir::Param::Role;

std::vector<Choices> native_choices() {
  std::vector<Choices> all;
  for (const EngineInfo& engine : engines())
    for (const ir::IsaInfo& isa : ir::isa_table)
      if (engine.is_native && is_built(engine.engine) && can_run(isa.isa))
        all.push_back({engine.engine, isa.isa, std::nullopt});
  return all;
}

void expect_proved(const char* spec, bool is_read) {
  for (const Choices& choices : native_choices()) {
    const auto proof = verify(spec, choices);
    ASSERT_TRUE(proof) << spec << "\n" << ir::to_string(proof.error());
    EXPECT_TRUE(proof->ok()) << print(*proof);
    if (is_read) {
      EXPECT_GT(proof->program_outputs, 0) << print(*proof);
    }
    EXPECT_GT(proof->probes.count(Part::memory), 0) << print(*proof);
    const auto rounds = rounds_needed(frontend::make_nest(*frontend::parse_spec(spec)));
    const bool has_weights = rounds && rounds->log2_error != 0;
    EXPECT_LE(proof->probes.rounds.log2_error, has_weights ? -64 : 0) << print(*proof);
  }
}

TEST(Verify, KernelsOfEachKindAreProved) {
  for (const char* spec : {
           "max_pool2d(float32[2,9,11,20], kernel_size=3, stride=2, padding=1, return_indices=True)",
           "max_pool2d(float32[1,17,5,9]:nhwc, kernel_size=2, nan=ignore, zeros=first)",
           "max_pool3d(uint8[1,3,5,6,7], kernel_size=2, padding=1)",
           "max_pool1d(float32[2,3,40], kernel_size=3, dilation=2, output_strides=[240,80,2])",
           "avg_pool2d(float32[2,5,9,20], kernel_size=3, stride=2, padding=1)",
           "avg_pool2d(uint8[1,33,6,7]:nhwc, kernel_size=[2,3], count_include_pad=False)",
           "avg_pool1d(uint8[1,4,33], kernel_size=5, divisor_override=3)",
       })
    expect_proved(spec, true);
}

// Their Programs have no symbolic reading.
TEST(Verify, KernelsOfEachOperatorAreProved) {
  for (const char* spec : {
           "max_pool2d(float16[1,3,7,20], kernel_size=3, return_indices=True)",
           "max_pool2d(float32[1,2,9,20], kernel_size=7, stride=1, padding=3)",  // by keys
           "quantized_avg_pool2d(quint8[1,3,6,7], kernel_size=3, scale=0.5, zero_point=3, output_scale=2)",
           "sum_pool2d(int32[1,3,6,9], kernel_size=3, stride=2, padding=1)",
           "avg_pool2d(int64[1,3,6,9], kernel_size=3, stride=2, padding=1, count_include_pad=False)",
           "avg_pool1d(int32[1,2,40], kernel_size=7, stride=1)",
           "adaptive_avg_pool2d(bfloat16[1,3,20,20], output_size=1)",
           "lp_pool2d(float32[1,3,6,9], kernel_size=3, norm_type=1)",
           "lp_pool2d(float32[1,17,6,5]:nhwc, kernel_size=2, norm_type=2)",
           "lp_pool1d(float64[1,3,20], kernel_size=3, norm_type=2)",
           "lp_pool1d(float16[1,3,20], kernel_size=3, norm_type=inf)",
           "lp_pool1d(float32[1,3,20], kernel_size=3, norm_type=3)",
           "avg_pool2d_backward(float32[1,3,7,9], kernel_size=3, stride=2, padding=1, "
           "count_include_pad=False)",
           "avg_pool1d_backward(bfloat16[1,9,12]:nwc, kernel_size=3, stride=1)",
           "max_pool1d_backward(float32[1,3,21], kernel_size=3, stride=2, padding=1)",
           "max_pool2d_backward(float64[1,3,5,5], kernel_size=2, stride=1, index_dtype=int32)",
           "max_pool1d_backward(float16[1,9,12]:nwc, kernel_size=2, index_scope=nhwc, index_dtype=int32)",
           "max_pool1d_backward(float32[1,3,21], kernel_size=2, index_scope=window, index_dtype=uint8)",
       })
    expect_proved(spec, false);
}

// That keys keep the order of floats is said to be left where the Program compares keys, and only there.
TEST(Verify, KeysAreSaidOfTheProgramsThatHaveThem) {
  const auto says_keys = [](const char* spec, const char* schedule) {
    Choices choices;
    choices.schedule = *ir::parse_schedule(schedule);
    const auto proof = verify(spec, choices);
    EXPECT_TRUE(proof && proof->ok()) << spec << ' ' << schedule;
    return proof && std::ranges::any_of(proof->left, [](const std::string& left) {
             return left.find("integer keys") != std::string::npos;
           });
  };
  const char* const wide = "max_pool2d(float32[1,2,9,20], kernel_size=5, stride=1, padding=2)";
  EXPECT_TRUE(says_keys(wide, "channels_first(lanes=8, unroll=2, order=rows_first)"));
  EXPECT_FALSE(says_keys(wide, "channels_last(lanes=1)"));
  const char* const small = "max_pool2d(float32[1,2,9,20], kernel_size=3, stride=1, padding=1)";
  EXPECT_FALSE(says_keys(small, "channels_first(lanes=8, order=rolling)"));
}

TEST(Verify, ALargeTensorIsProbedSmaller) {
  const auto proof = verify("max_pool2d(float32[1,64,500,500], kernel_size=3)", {}, {.work = 5e7});
  ASSERT_TRUE(proof) << ir::to_string(proof.error());
  EXPECT_TRUE(proof->ok()) << print(*proof);
  ASSERT_FALSE(proof->left.empty());
  EXPECT_NE(proof->left[0].find("what was probed is max_pool2d("), std::string::npos) << proof->left[0];
  const auto none = verify("max_pool2d(float32[1,64,500,500], kernel_size=3)", {}, {.work = 10});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, "prove.size");
}

TEST(Verify, CompileHandsOutProvedKernels) {
  const char* const spec = "max_pool1d(float32[1,3,21], kernel_size=2)";
  const pooljit::Kernel kernel = pooljit::compile(spec, pooljit::parse_options("verify=1 backend=xbyak"));
  EXPECT_EQ(kernel.proof().substr(0, 18), "proved: max_pool1d") << kernel.proof();
  EXPECT_EQ(pooljit::compile(spec).proof(), "");
  EXPECT_EQ(pooljit::compile(spec, {.backend = "xbyak", .verify = true}).proof(), kernel.proof());
}

// --- code that does a little more than it should

class Meddled final : public Code {
 public:
  using Meddle = std::function<void(const Call&)>;
  Meddled(std::shared_ptr<const Code> code, Meddle meddle)
      : Code(code->info), code_(std::move(code)), meddle_(std::move(meddle)) {}
  void run(const Call& call, const TaskRanges& ranges) const override {
    code_->run(call, ranges);
    meddle_(call);
  }

 private:
  std::shared_ptr<const Code> code_;
  Meddle meddle_;
};

std::string failure(const char* text, const Meddled::Meddle& meddle) {
  const auto spec = frontend::parse_spec(text);
  const Choices choices = {Engine::xbyak, ir::Isa::avx2, std::nullopt};
  const auto code = info(choices.engine).make(frontend::make_nest(*spec), choices);
  const auto proof = prove_code(Meddled(*code, meddle), *spec, choices);
  return proof ? proof->failure : ir::to_string(proof.error());
}

const char* const small = "max_pool1d(float32[2,10], kernel_size=3, stride=1, return_indices=True)";
const char* const chosen = "max_pool1d_backward(float32[2,10], kernel_size=3, stride=1)";
const char* const shared = "avg_pool1d_backward(float32[2,10], kernel_size=3, stride=1)";
const char* const averaged = "avg_pool1d(float32[2,10], kernel_size=3, stride=1)";

struct Wrong {
  const char* spec;
  Meddled::Meddle meddle;
  const char* sentence;
};

const Wrong wrongs[] = {
    {small, [](const Call&) {}, ""},
    {small, [](const Call& call) { static_cast<float*>(call.output)[3] = 7; },
     "value: the output at n=0 c=0 [3]"},
    {small, [](const Call& call) { static_cast<int64_t*>(call.indices)[9] += 1; },
     "value: the index at n=0 c=1 [1]"},
    {small,
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       auto* y = static_cast<float*>(call.output);
       y[2] = std::max(y[2], x[1]);
     },
     "outside: the output at n=0 c=0 [2]"},
    {small,
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       auto* i = static_cast<int64_t*>(call.indices);
       if (x[2] == x[3]) i[1] = 3;
     },
     "the index at n=0 c=0 [1]"},
    {small,
     [](const Call& call) {
       auto* y = static_cast<float*>(call.output);
       if (y[0] != y[0]) y[0] = 1;
     },
     "nan: the output at n=0 c=0 [0]"},
    {small, [](const Call& call) { static_cast<volatile float*>(call.output)[16] = 0; },
     "memory: the kernel died"},
    {small, [](const Call& call) { static_cast<void>(static_cast<const volatile float*>(call.input)[20]); },
     "memory: the kernel died"},
    {small, [](const Call& call) { static_cast<void>(static_cast<const volatile float*>(call.input)[-1]); },
     "memory: the kernel died"},
    {"max_pool1d(float32[2,10], kernel_size=3, stride=1, output_strides=[20,2])",
     [](const Call& call) { static_cast<float*>(call.output)[1] = 0; }, "memory: byte 4 of the output"},
    {averaged,
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       static_cast<float*>(call.output)[2] += (x[2] - x[3]) / 3;
     },
     "weight: the output at n=0 c=0 [2]"},
    {averaged,
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       static_cast<float*>(call.output)[2] += 0 * x[9];
     },
     "outside: the output at n=0 c=0 [2]"},
    {"avg_pool1d(int64[2,10], kernel_size=3, stride=1)",
     [](const Call& call) {
       const auto* x = static_cast<const int64_t*>(call.input);
       static_cast<int64_t*>(call.output)[2] += (x[2] - x[3]) / 3;
     },
     "weight: the output at n=0 c=0 [2]"},
    {chosen, [](const Call&) {}, ""},
    {chosen,
     [](const Call& call) {  // a gradient that was asked for is missing
       if (static_cast<int64_t*>(call.indices)[3] == 4)
         static_cast<float*>(call.output)[4] -= static_cast<const float*>(call.input)[3];
     },
     "the output at n=0 c=0 [4]"},
    {chosen,
     [](const Call& call) {  // one of another channel is added
       if (static_cast<int64_t*>(call.indices)[8 + 3] == 4)
         static_cast<float*>(call.output)[4] += static_cast<const float*>(call.input)[8 + 3];
     },
     "weight: the output at n=0 c=0 [4]"},
    {chosen,
     [](const Call& call) {
       static_cast<float*>(call.output)[2] += 0 * static_cast<const float*>(call.input)[0];
     },
     "nan: the output at n=0 c=0 [2]"},
    {chosen, [](const Call& call) { static_cast<int64_t*>(call.indices)[15] = 0; },
     "the index at n=0 c=1 [7]"},
    {shared, [](const Call&) {}, ""},
    {shared,
     [](const Call& call) {
       const auto* g = static_cast<const float*>(call.input);
       static_cast<float*>(call.output)[3] += (g[3] - g[2]) / 3;
     },
     "weight: the output at n=0 c=0 [3]"},
    {shared,
     [](const Call& call) {
       const auto* g = static_cast<const float*>(call.input);
       static_cast<float*>(call.output)[0] = g[0] / 4;
     },
     "weight: the output at n=0 c=0 [0]"},
    {"lp_pool1d(float32[2,10], kernel_size=3, stride=1, norm_type=1)",
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       static_cast<float*>(call.output)[2] += x[2] - std::abs(x[2]);
     },
     "the output at n=0 c=0 [2]"},
    {"lp_pool1d(float32[2,10], kernel_size=3, stride=1, norm_type=2)",
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       static_cast<float*>(call.output)[2] = std::sqrt(x[2] * x[2] + x[3] * x[4] + x[4] * x[4]);
     },
     "the output at n=0 c=0 [2]"},
    {"lp_pool1d(float32[2,10], kernel_size=3, stride=1, norm_type=inf)",
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       auto* y = static_cast<float*>(call.output);
       y[2] = std::max(y[2], std::abs(x[5]));
     },
     "outside: the output at n=0 c=0 [2]"},
    {"lp_pool1d(float32[2,10], kernel_size=3, stride=1, norm_type=3)",
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       auto* y = static_cast<float*>(call.output);
       y[2] = std::cbrt(y[2] * y[2] * y[2] + std::abs(x[5] * x[5] * x[5]));
     },
     "outside: the output at n=0 c=0 [2]"},
};

TEST(Verify, EachPartCanFail) {
  for (const Wrong& wrong : wrongs) {
    const std::string why = failure(wrong.spec, wrong.meddle);
    EXPECT_NE(why.find(wrong.sentence), std::string::npos) << wrong.sentence << "\n" << why;
    EXPECT_EQ(why.empty(), *wrong.sentence == '\0') << why;
  }
}

// --- bytes that no proof allows

struct Bytes {
  const char* assembly;
  std::vector<uint8_t> code;
  const char* sentence;  // empty: allowed
};

const std::vector<ir::Param> params = {
    {Role::input, 0}, {Role::output, 0}, {Role::table, 0}, {Role::count, 0}};

const Bytes listings[] = {
    {"mov rax,[rdi]; vmovups ymm0,[rax]; mov rcx,[rdi+8]; vmovups [rcx],ymm0; ret",
     {0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x00, 0x48, 0x8b, 0x4f, 0x08, 0xc5, 0xfc, 0x11, 0x01, 0xc3},
     ""},
    {"mov rax,[rdi+24]; dec rax; jnz back; ret",
     {0x48, 0x8b, 0x47, 0x18, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3},
     ""},
    {"mov rax,[rdi]; mov rax,[rax]; dec rax; jnz back; ret",
     {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x00, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3},
     "a branch that depends on data"},
    {"mov rax,[rdi]; mov rcx,[rax]; vmovups ymm0,[rax+rcx]; ret",
     {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x08, 0xc5, 0xfc, 0x10, 0x04, 0x08, 0xc3},
     "an address that depends on data"},
    {"mov rax,[rdi+16]; mov rcx,[rax]; mov rax,[rdi]; vmovups ymm0,[rax+rcx]; ret",
     {0x48, 0x8b, 0x47, 0x10, 0x48, 0x8b, 0x08, 0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x04, 0x08, 0xc3},
     ""},
    {"mov rax,[rdi]; vmovups ymm0,[rax]; vptest ymm0,ymm0; jz next; ret",
     {0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x00, 0xc4, 0xe2, 0x7d, 0x17, 0xc0, 0x74, 0x00, 0xc3},
     "not known to touch data"},
    {"mov rax,[rdi]; mov [rax],rcx; ret",
     {0x48, 0x8b, 0x07, 0x48, 0x89, 0x08, 0xc3},
     "a write to what is no output"},
    {"two masks side by side on the stack: one of data, one of a count, which guards a store",
     {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x4f, 0x08, 0x48, 0x8b, 0x57, 0x18, 0x62, 0xf1, 0x7c,
      0x48, 0x10, 0x00, 0x62, 0xf1, 0x7c, 0x48, 0xc2, 0xc8, 0x03, 0xc5, 0xf8, 0x91, 0x4c,
      0x24, 0xf0, 0xc5, 0xf8, 0x92, 0xca, 0xc5, 0xf8, 0x91, 0x4c, 0x24, 0xf2, 0xc5, 0xf8,
      0x90, 0x4c, 0x24, 0xf2, 0x62, 0xf1, 0x7c, 0x49, 0x11, 0x01, 0xc3},
     ""},
    {"the same, but the mask of data guards it",
     {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x4f, 0x08, 0x48, 0x8b, 0x57, 0x18, 0x62, 0xf1, 0x7c,
      0x48, 0x10, 0x00, 0x62, 0xf1, 0x7c, 0x48, 0xc2, 0xc8, 0x03, 0xc5, 0xf8, 0x91, 0x4c,
      0x24, 0xf0, 0xc5, 0xf8, 0x92, 0xca, 0xc5, 0xf8, 0x91, 0x4c, 0x24, 0xf2, 0xc5, 0xf8,
      0x90, 0x4c, 0x24, 0xf0, 0x62, 0xf1, 0x7c, 0x49, 0x11, 0x01, 0xc3},
     "a mask that depends on data guards memory"},
    {"jmp rax", {0xff, 0xe0}, "an indirect branch"},
    {"call next; ret", {0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3}, "it leaves the kernel"},
    {"push rax; ret", {0x50, 0xc3}, "another stack pointer"},
    {"xor ebx,ebx; ret", {0x31, 0xdb, 0xc3}, "a register changed that it has to keep"},
    {"push rbx; xor ebx,ebx; pop rbx; ret", {0x53, 0x31, 0xdb, 0x5b, 0xc3}, ""},
    {"jmp into the middle", {0xeb, 0xff, 0xc3}, "overlap"},
    {"nop", {0x90}, "control leaves the code"},
};

struct Factors {
  const char* assembly;  // behind vmovups ymm0,[rax], where rax points to the input
  std::vector<uint8_t> code;
  bool products, squares;
};
const Factors factors[] = {
    {"vaddps ymm0,ymm0,ymm0", {0xc5, 0xfc, 0x58, 0xc0}, false, false},
    {"vmulps ymm0,ymm0,ymm0", {0xc5, 0xfc, 0x59, 0xc0}, false, true},
    {"vcvtsi2sd xmm1,xmm0,rdx; vunpcklpd xmm1,xmm1,xmm1; vdivpd ymm0,ymm0,ymm1",
     {0xc4, 0xe1, 0xfb, 0x2a, 0xca, 0xc5, 0xf1, 0x14, 0xc9, 0xc5, 0xfd, 0x5e, 0xc1},
     false,
     false},
    {"vcvtsi2sd xmm1,xmm0,rdx; vdivpd ymm0,ymm0,ymm1",
     {0xc4, 0xe1, 0xfb, 0x2a, 0xca, 0xc5, 0xfd, 0x5e, 0xc1},
     true,
     false},
    {"vmulps ymm0,ymm0,[rax]", {0xc5, 0xfc, 0x59, 0x00}, true, false},
    {"vdivps ymm0,ymm0,ymm0", {0xc5, 0xfc, 0x5e, 0xc0}, true, false},
    {"vfmadd231ps ymm1,ymm0,ymm0", {0xc4, 0xe2, 0x7d, 0xb8, 0xc8}, false, true},
    {"vfmadd213ps ymm0,ymm0,[rax]", {0xc4, 0xe2, 0x7d, 0xa8, 0x00}, false, true},
    {"vfmadd231ps ymm1,ymm0,[rax]", {0xc4, 0xe2, 0x7d, 0xb8, 0x08}, true, false},
};

TEST(Inspect, TellsSquaresFromProducts) {
  for (const Factors& row : factors) {
    std::vector<uint8_t> code = {0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x00};
    code.insert(code.end(), row.code.begin(), row.code.end());
    code.push_back(0xc3);
    jit::CodeBlob blob;
    blob.code = code;
    blob.entry = reinterpret_cast<jit::KernelFunction>(reinterpret_cast<uintptr_t>(code.data()));
    const auto facts = jit::inspect(blob, params);
    ASSERT_TRUE(facts) << row.assembly << ": " << facts.error().message;
    EXPECT_EQ(facts->products, row.products) << row.assembly;
    EXPECT_EQ(facts->squares, row.squares) << row.assembly;
  }
}

TEST(Inspect, AllowsWhatIsIndependentOfData) {
  for (const Bytes& bytes : listings) {
    jit::CodeBlob blob;
    blob.code = bytes.code;
    blob.entry = reinterpret_cast<jit::KernelFunction>(reinterpret_cast<uintptr_t>(bytes.code.data()));
    const auto facts = jit::inspect(blob, params);
    EXPECT_EQ(facts.has_value(), *bytes.sentence == '\0')
        << bytes.assembly << ": " << (facts ? "" : facts.error().message);
    if (!facts) {
      EXPECT_NE(facts.error().message.find(bytes.sentence), std::string::npos) << facts.error().message;
    }
  }
}

}  // namespace
}  // namespace pooljit::runtime
