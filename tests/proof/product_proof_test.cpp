// Programs that multiply are read as the products of their windows; wrong ones are not.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

#include "frontend/dialects.h"
#include "ir/builder.h"
#include "ir/choose/enumerate.h"
#include "ir/passes/pipeline.h"
#include "ir/schedules/lower.h"
#include "proof/program/prove.h"

namespace pooljit {
namespace {

// As lowered and as the passes leave it, with the default schedules; none may be left unread.
TEST(ProductProof, EachOutputIsTheProductOfItsWindow) {
  for (const std::string_view text :
       {"prod_pool2d(float32[1,3,7,20], kernel_size=3, stride=2, padding=1)",
        "prod_pool2d(bfloat16[1,17,5,5]:nhwc, kernel_size=2, stride=1)",
        "prod_pool1d(float16[1,3,40], kernel_size=5, output_dtype=float32)",
        "prod_pool1d(uint8[1,40,9]:nwc, kernel_size=3)",
        "prod_pool1d(int8[1,3,40], kernel_size=3, output_dtype=int32)",
        "prod_pool1d(int64[1,4,9]:nwc, kernel_size=3)",
        "prod_pool1d(int64[1,4,9]:nwc, 3, output_dtype=uint8)",
        "prod_pool1d(int16[1,3,40], kernel_size=4, output_dtype=float32)",
        "prod_pool1d(int32[1,3,40], kernel_size=4, epilogue=[scale(0.5,1)], output_dtype=float32)"}) {
    const ir::PoolNest nest = make_nest(*frontend::parse_spec(text));
    for (const ir::IsaInfo& isa : ir::isa_table) {
      const auto affine = ir::lower(nest, enumerate_schedules(nest, isa.isa)[0], isa.isa);
      ASSERT_TRUE(affine) << text;
      const auto legal = ir::legalize(*affine);
      ASSERT_TRUE(legal) << text;
      for (const ir::Program* program : {&*affine, &*legal}) {
        const auto proof = ir::prove(*program, nest);
        EXPECT_TRUE(proof) << text << " " << isa.text << "\n" << (proof ? "" : ir::to_string(proof.error()));
      }
    }
  }
}

struct WrongProduct {
  const char* what;
  std::function<bool(ir::Inst&)> change;  // true: it was this one
  const char* found;
};

const char* const of_floats = "prod_pool1d(float32[1,1,40], kernel_size=3)";

const WrongProduct wrong_products[] = {
    {"another offset", [](ir::Inst& inst) { return inst.op == ir::Op::load && (inst.addr.offset += 4) != 0; },
     "it is the product of the elements"},
    {"a factor is squared",
     [](ir::Inst& inst) {
       if (inst.op != ir::Op::mul || inst.args[0] == inst.args[1]) return false;
       inst.args[0] = inst.args[1];
       return true;
     },
     "it is the product of the elements"},
    {"a factor is added",
     [](ir::Inst& inst) { return inst.op == ir::Op::mul && (inst.op = ir::Op::add) == ir::Op::add; },
     "add of input elements"},
};

TEST(ProductProof, WhatIsWrongFails) {
  for (const WrongProduct& wrong : wrong_products) {
    const ir::PoolNest nest = make_nest(*frontend::parse_spec(of_floats));
    auto program = ir::lower(nest, enumerate_schedules(nest, ir::Isa::avx512)[0], ir::Isa::avx512);
    ASSERT_TRUE(program) << wrong.what;
    bool is_changed = false;
    for (ir::Inst& inst : program->insts) is_changed = is_changed || wrong.change(inst);
    ASSERT_TRUE(is_changed) << wrong.what;
    const auto proof = ir::prove(*program, nest);
    ASSERT_FALSE(proof) << wrong.what;
    EXPECT_NE(ir::to_string(proof.error()).find(wrong.found), std::string::npos)
        << wrong.what << ": " << ir::to_string(proof.error());
  }
}

// Two elements are multiplied in 16 bits, where 32 are asked for; and in 32.
TEST(ProductProof, AllBitsOfTheOutputAreMultiplied) {
  const ir::PoolNest nest =
      make_nest(*frontend::parse_spec("prod_pool1d(int16[1,16,2]:nwc, kernel_size=2, output_dtype=int32)"));
  for (const ir::DType lanes : {ir::DType::i16, ir::DType::i32}) {
    ir::Builder b("product", ir::Isa::avx512);
    const ir::Value in = b.param(ir::Param::Role::input), out = b.param(ir::Param::Role::output);
    const ir::Type pixel = ir::Type::vec(ir::DType::i16, 16);
    const ir::Value first = b.cvt(lanes, b.load(pixel, {in, {}, 0})),
                    second = b.cvt(lanes, b.load(pixel, {in, {}, 32}));
    b.store({out, {}, 0}, b.cvt(ir::DType::i32, b.binary(ir::Op::mul, first, second)));
    b.ret();
    const auto proof = ir::prove(b.finish(), nest);
    EXPECT_EQ(proof.has_value(), lanes == ir::DType::i32);
    if (!proof) {
      EXPECT_NE(proof.error().message.find("of the product it has 16 bits"), std::string::npos)
          << proof.error().message;
    }
  }
}

}  // namespace
}  // namespace pooljit
