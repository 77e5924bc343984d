// The proof of machine code can fail: each part is shown a kernel that breaks it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/schedule_text.h"
#include "runtime/proof/verify.h"

namespace pooljit::runtime {
namespace {

// Code that does a little more than it should

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

// Of the last line of its scratch memory the kernel uses the first half.
const char* const separated = "max_pool2d(float32[1,8,5,5]:nhwc, kernel_size=5, stride=1, padding=2)";
const char* const by_separable = "separable(lanes=8, scan=rolling, tail=mask)";
constexpr int separated_words = 5 * 5 * 8 + 8;

std::string failure(const char* text, const Meddled::Meddle& meddle) {
  const auto spec = frontend::parse_spec(text);
  Choices choices = {Engine::xbyak, ir::Isa::avx2, std::nullopt};
  if (text == separated) choices.schedule = *ir::parse_schedule(by_separable);
  const auto code = info(choices.engine).make(frontend::make_nest(*spec), choices);
  const auto proof = prove_code(Meddled(*code, meddle), *spec, choices);
  return proof ? proof->failure : ir::to_string(proof.error());
}

const char* const small = "max_pool1d(float32[2,10], kernel_size=3, stride=1, return_indices=True)";
const char* const chosen = "max_pool1d_backward(float32[2,10], kernel_size=3, stride=1)";
const char* const shared = "avg_pool1d_backward(float32[2,10], kernel_size=3, stride=1)";
const char* const activated = "max_pool1d(float32[2,10], kernel_size=3, stride=1, epilogue=[relu])";
const char* const biased = "max_pool1d(float32[3,10], kernel_size=3, stride=1, epilogue=[add_channel])";
const char* const added = "avg_pool1d(float32[2,10], kernel_size=3, stride=1, epilogue=[add, relu])";
const char* const scaled = "max_pool1d(uint8[2,10], kernel_size=3, stride=1, epilogue=[requantize(2,3)])";
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
    {separated, [](const Call& call) { static_cast<volatile char*>(call.scratch)[-1] = 0; },
     "memory: the kernel died"},
    // Scratch memory that nobody wrote in this run holds what the run before left, or a pattern.
    {separated,
     [](const Call& call) {
       auto* y = static_cast<float*>(call.output);
       y[0] = std::max(y[0], static_cast<const float*>(call.scratch)[separated_words - 1]);
     },
     "the output at n=0 c=0 [0,0]"},
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
    {activated, [](const Call&) {}, ""},
    {activated,
     [](const Call& call) {  // relu is missing
       const auto* x = static_cast<const float*>(call.input);
       static_cast<float*>(call.output)[2] = std::max({x[2], x[3], x[4]});
     },
     "the output at n=0 c=0 [2]"},
    {activated,
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       static_cast<float*>(call.output)[2] = std::max({x[2], x[4], 0.0F});
     },
     "the output at n=0 c=0 [2]"},
    {activated,
     [](const Call& call) {
       auto* y = static_cast<float*>(call.output);
       y[2] = std::max(y[2], static_cast<const float*>(call.input)[5]);
     },
     "outside: the output at n=0 c=0 [2]"},
    {biased, [](const Call&) {}, ""},
    {biased,
     [](const Call& call) {  // another channel's number
       const auto* b = static_cast<const float*>(call.operands[0]);
       static_cast<float*>(call.output)[8] += b[2] - b[1];
     },
     "operand: the output at n=0 c=1 [0]"},
    {biased,
     [](const Call& call) {  // twice
       static_cast<float*>(call.output)[8] += static_cast<const float*>(call.operands[0])[1];
     },
     "the output at n=0 c=1 [0]"},
    {biased,
     [](const Call& call) { static_cast<void>(static_cast<const volatile float*>(call.operands[0])[3]); },
     "memory: the kernel died"},
    {added, [](const Call&) {}, ""},
    {added,
     [](const Call& call) {  // another output's
       const auto* b = static_cast<const float*>(call.operands[0]);
       static_cast<float*>(call.output)[5] += b[6] - b[5];
     },
     "operand: the output at n=0 c=0 [5]"},
    {added,
     [](const Call& call) {
       const auto* x = static_cast<const float*>(call.input);
       static_cast<float*>(call.output)[2] += (x[2] - x[3]) / 3;
     },
     "weight: the output at n=0 c=0 [2]"},
    {scaled, [](const Call&) {}, ""},
    {scaled,
     [](const Call& call) {  // of one value only
       auto* y = static_cast<uint8_t*>(call.output);
       if (y[3] == 77) y[3] = 76;
     },
     "steps: the output at n=0 c=0 [3]"},
    {scaled,
     [](const Call& call) {  // another scale
       const auto* x = static_cast<const uint8_t*>(call.input);
       static_cast<uint8_t*>(call.output)[3] =
           static_cast<uint8_t>(std::nearbyint(std::max({x[3], x[4], x[5]}) / 2.1) + 3);
     },
     "the output at n=0 c=0 [3]"},
};

TEST(WrongKernels, EachPartCanFail) {
  for (const Wrong& wrong : wrongs) {
    const std::string why = failure(wrong.spec, wrong.meddle);
    EXPECT_NE(why.find(wrong.sentence), std::string::npos) << wrong.sentence << "\n" << why;
    EXPECT_EQ(why.empty(), *wrong.sentence == '\0') << why;
  }
}

}  // namespace
}  // namespace pooljit::runtime
