// Layers as data: text and struct give the same spec, and a wrong field is named.
#include "runtime/layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "matrix/specs.h"

namespace pooljit::runtime {
namespace {

std::string round_trip(const frontend::PoolSpec& spec) {
  const LayerStruct layer(spec);
  const auto made = spec_of(*layer.get());
  return made ? print(*made) : to_string(made.error());
}

TEST(Layer, OfASpecMakesTheSpecOverTheMatrix) {
  for (const tests::MatrixSpec& each : tests::matrix()) EXPECT_EQ(round_trip(each.spec), print(each.spec));
  for (const std::string& text : tests::long_row_specs())
    EXPECT_EQ(round_trip(*frontend::parse_spec(text)), text);
}

TEST(Layer, SaysWhatTheMatrixDoesNot) {
  for (const char* text :
       {"max_pool2d(float32[N,64,112,112], kernel_size=3, stride=2, padding=1)",
        "max_pool2d(float32[0,3,8,8], kernel_size=2)",
        "avg_pool2d(float32[N,8,9,9]:nhwc, kernel_size=3, count_include_pad=False, divisor_override=-7)",
        "avg_pool2d(int8[N,8,9,9], kernel_size=2, rounding=half_away)",
        "max_unpool2d(float32[1,3,4,5], kernel_size=3, stride=2, padding=1, output_size=[8,9])",
        "max_unpool2d_backward(float32[1,3,4,5], kernel_size=3, stride=2, padding=1, output_size=[8,9])",
        "max_unpool1d_backward(uint8[2,3,9]:nhwc, kernel_size=2, index_dtype=int32, index_scope=nhwc)",
        "adaptive_avg_pool2d_backward(float32[1,3,9,7], output_size=[4,5])",
        "adaptive_max_pool1d_backward(float32[2,3,9], output_size=4, index_dtype=int32)",
        "lp_pool2d_backward(float32[2,3,9,8], kernel_size=3, stride=2, ceil_mode=True, norm_type=3)",
        "global_avg_pool2d(float32[N,8,9,9]:nhwc)", "lp_pool1d(float32[2,9], kernel_size=3, norm_type=inf)",
        "max_pool2d(float32[1,16,8,8], kernel_size=2, epilogue=[clamp(-inf,6), scale(0.5,1), add(float16)])",
        "max_pool2d(float32[2,3,8,8]:nhwc, kernel_size=2, output_layout=nchw, strides=[1000,1,90,5])"})
    EXPECT_EQ(round_trip(*frontend::parse_spec(text)), text);
}

// The example of the header, with nothing set that has a default.
pooljit_layer stem() {
  pooljit_layer layer = {};
  layer.size = sizeof layer;
  layer.operation = "max";
  layer.spatial_rank = 2;
  layer.input.dtype = "float32";
  layer.input.dims[0] = 1, layer.input.dims[1] = 64, layer.input.dims[2] = layer.input.dims[3] = 112;
  for (int d = 0; d < 2; ++d) {
    layer.kernel[d] = 3;
    layer.stride[d] = 2;
    layer.pad_begin[d] = layer.pad_end[d] = 1;
  }
  return layer;
}

TEST(Layer, ZeroIsTheDefault) {
  const auto spec = spec_of(stem());
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(print(*spec), "max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)");
  pooljit_layer average = stem();
  average.operation = "avg";
  EXPECT_EQ(print(*spec_of(average)),
            "avg_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)");
}

// Its window is the input, whatever the dims become.
TEST(Layer, AGlobalPoolStaysOneWithOtherDims) {
  const LayerStruct layer(*frontend::parse_spec("onnx.GlobalAveragePool(float32[1,64,14,14])"));
  pooljit_layer other = *layer.get();
  EXPECT_EQ(other.kernel[0], 14);
  other.input.dims[2] = 17, other.input.dims[3] = 19;
  std::ranges::fill(other.input.strides, 0);
  const auto spec = spec_of(other);
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_EQ(print(*spec), "global_avg_pool2d(float32[1,64,17,19])");
  EXPECT_EQ(output_shape(*spec), (std::vector<int64_t>{1, 64, 1, 1}));
}

struct Wrong {
  const char* field;  // that the message names
  const char* id;
  void (*spoil)(pooljit_layer&);
};
void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.field; }
class WrongLayer : public testing::TestWithParam<Wrong> {};
TEST_P(WrongLayer, IsRefusedByName) {
  pooljit_layer layer = stem();
  GetParam().spoil(layer);
  const auto spec = spec_of(layer);
  ASSERT_FALSE(spec) << print(*spec);
  EXPECT_EQ(spec.error().id, GetParam().id);
  EXPECT_NE(spec.error().message.find(GetParam().field), std::string::npos) << spec.error().message;
}
using Layout = pooljit_layer;
INSTANTIATE_TEST_SUITE_P(
    Fields, WrongLayer,
    testing::Values(
        Wrong{"size", "layer.size", [](Layout& l) { l.size = 0; }},
        Wrong{"size", "layer.size", [](Layout& l) { l.size = 16; }},
        Wrong{"operation", "layer.field", [](Layout& l) { l.operation = nullptr; }},
        Wrong{"operation", "layer.field", [](Layout& l) { l.operation = "maximum"; }},
        Wrong{"spatial_rank", "layer.field", [](Layout& l) { l.spatial_rank = 4; }},
        Wrong{"spatial_rank", "layer.field", [](Layout& l) { l.spatial_rank = -1; }},
        Wrong{"input.rank", "layer.field", [](Layout& l) { l.input.rank = 3; }},
        Wrong{"input.dtype", "layer.field", [](Layout& l) { l.input.dtype = "f32"; }},
        Wrong{"input.dtype", "layer.field", [](Layout& l) { l.input.dtype = nullptr; }},
        Wrong{"input.layout", "layer.field", [](Layout& l) { l.input.layout = "chwn"; }},
        Wrong{"output.dtype", "layer.field", [](Layout& l) { l.output.dtype = "real"; }},
        Wrong{"output.layout", "layer.field", [](Layout& l) { l.output.layout = "x"; }},
        Wrong{"output.dims[0]", "layer.field", [](Layout& l) { l.output.rank = 4; }},
        Wrong{"output.rank", "layer.field", [](Layout& l) { l.adaptive = 1; }},
        Wrong{"indices.dtype", "layer.field", [](Layout& l) { l.indices.dtype = "int"; }},
        Wrong{"index_scope", "layer.field", [](Layout& l) { l.index_scope = "row"; }},
        Wrong{"ceil_mode", "layer.field", [](Layout& l) { l.ceil_mode = 3; }},
        Wrong{"global", "layer.field", [](Layout& l) { l.global = l.adaptive = 1, l.output.rank = 4; }},
        Wrong{"float32", "spec.rounding", [](Layout& l) { l.operation = "avg", l.half_away = 1; }},
        Wrong{"epilogue_steps", "layer.field", [](Layout& l) { l.epilogue_steps = 5; }},
        Wrong{"epilogue[0].name", "layer.field", [](Layout& l) { l.epilogue_steps = 1; }},
        Wrong{"epilogue[0].numbers[0]", "layer.field",
              [](Layout& l) {
                l.epilogue_steps = 1, l.epilogue[0] = {"relu", {1, 0}, nullptr};
              }},
        Wrong{"epilogue[0].dtype", "layer.field",
              [](Layout& l) {
                l.epilogue_steps = 1, l.epilogue[0] = {"relu", {0, 0}, "float32"};
              }},
        Wrong{"free_batch", "layer.field", [](Layout& l) { l.unbatched = l.free_batch = 1; }},
        // What nothing reads.
        Wrong{"kernel[2]", "layer.field", [](Layout& l) { l.kernel[2] = 3; }},
        Wrong{"stride[7]", "layer.field", [](Layout& l) { l.stride[7] = 1; }},
        Wrong{"dilation[2]", "layer.field", [](Layout& l) { l.dilation[2] = 1; }},
        Wrong{"pad_begin[2]", "layer.field", [](Layout& l) { l.pad_begin[2] = 1; }},
        Wrong{"pad_end[3]", "layer.field", [](Layout& l) { l.pad_end[3] = 1; }},
        Wrong{"input.dims[4]", "layer.field", [](Layout& l) { l.input.dims[4] = 1; }},
        Wrong{"input.strides[4]", "layer.field", [](Layout& l) { l.input.strides[4] = 1; }},
        Wrong{"output.dims[4]", "layer.field", [](Layout& l) { l.output.dims[4] = 1; }},
        Wrong{"input.strides[0]", "layer.field",
              [](Layout& l) { l.input.layout = "nhwc", l.input.strides[0] = 7; }},
        Wrong{"input.channel_block", "layer.field",
              [](Layout& l) { l.input.layout = "nhwc", l.input.channel_block = 8; }},
        Wrong{"indices.dims[0]", "layer.field",
              [](Layout& l) { l.indices.dtype = "int64", l.indices.rank = 4; }},
        Wrong{"input.dims[0]", "layer.field", [](Layout& l) { l.free_batch = 1, l.input.dims[0] = 4; }},
        Wrong{"input.dims[0]", "layer.field", [](Layout& l) { l.unbatched = 1, l.input.dims[0] = 4; }},
        Wrong{"free_batch", "layer.field", [](Layout& l) { l.free_batch = 2; }},
        Wrong{"nan_ignore", "layer.field", [](Layout& l) { l.nan_ignore = -1; }},
        Wrong{"epilogue[0]", "layer.field", [](Layout& l) { l.epilogue[0].name = "relu"; }},
        Wrong{"epilogue[3]", "layer.field", [](Layout& l) { l.epilogue[3].numbers[1] = 1; }},
        Wrong{"output_zero_point", "layer.field", [](Layout& l) { l.output_zero_point = 3; }},
        Wrong{"kernel[0]", "layer.field",
              [](Layout& l) { l.adaptive = 1, l.output = l.input, l.output.rank = 4; }},
        Wrong{"count_include_pad", "spec.option", [](Layout& l) { l.count_exclude_pad = 1; }},
        Wrong{"storage_order", "spec.option", [](Layout& l) { l.storage_order = 1; }},
        // What a text could say as well breaks the rules of texts.
        Wrong{"kernel_size", "spec.kernel_size", [](Layout& l) { l.kernel[1] = 0; }},
        Wrong{"stride", "spec.stride", [](Layout& l) { l.stride[0] = -1; }},
        Wrong{"dilation", "spec.dilation", [](Layout& l) { l.dilation[0] = -1; }},
        Wrong{"padding", "spec.padding", [](Layout& l) { l.pad_begin[0] = -1; }},
        Wrong{"N=-1", "spec.size", [](Layout& l) { l.input.dims[0] = -1; }},
        Wrong{"C=0", "spec.size", [](Layout& l) { l.input.dims[1] = 0; }},
        Wrong{"scale", "spec.quantized", [](Layout& l) { l.scale = 2; }},
        Wrong{"norm_type", "spec.option", [](Layout& l) { l.norm_type = 3; }},
        Wrong{"divisor_override", "spec.option", [](Layout& l) { l.divisor_override = 3; }}));

// --- several pools

std::string round_trip_of_pools(const std::string& text) {
  const auto spec = frontend::parse_spec(text);
  if (!spec) return to_string(spec.error());
  const PoolsStruct layers(*spec);
  const auto made = spec_of(*layers.get());
  return made ? print(*made) : to_string(made.error());
}

TEST(Pools, AsDataMakeTheSpecThatTheyAreOf) {
  for (const char* text :
       {"pools(float32[1,512,19,19], max_pool2d(kernel_size=5, stride=1, padding=2), "
        "max_pool2d(kernel_size=9, stride=1, padding=4), concat=True, include_input=True)",
        "pools(float32[N,16,60,60], adaptive_avg_pool2d(output_size=1), adaptive_avg_pool2d(output_size=2))",
        "pools(uint8[8,64,56,56]:nhwc, avg_pool2d(kernel_size=3, stride=1, padding=1), "
        "max_pool2d(kernel_size=3, stride=1, padding=1, return_indices=True))",
        "pools(float32[2,3,8,8], max_pool2d(kernel_size=3, stride=1, padding=1), "
        "max_pool2d(kernel_size=5, stride=1, padding=2), concat=True, output_layout=nhwc, "
        "strides=[1000,200,20,2])",
        "pools(float32[2,3,8,8], max_pool2d(kernel_size=2, epilogue=[scale_channel]), "
        "avg_pool2d(kernel_size=2))"})
    EXPECT_EQ(round_trip_of_pools(text), text);
  EXPECT_EQ(round_trip_of_pools("max_pool2d(float32[1,3,8,8], kernel_size=2)"),
            "max_pool2d(float32[1,3,8,8], kernel_size=2)");
}

struct WrongPools {
  const char* field;
  const char* id;
  void (*spoil)(pooljit_pools& pools, pooljit_layer* members);
};
class WrongPoolsOf : public testing::TestWithParam<WrongPools> {};
TEST_P(WrongPoolsOf, AreRefusedByName) {
  pooljit_layer members[] = {stem(), stem()};
  pooljit_pools pools = {};
  pools.size = sizeof pools;
  pools.members = members;
  pools.member_count = 2;
  ASSERT_TRUE(spec_of(pools));
  GetParam().spoil(pools, members);
  const auto spec = spec_of(pools);
  ASSERT_FALSE(spec) << print(*spec);
  EXPECT_EQ(spec.error().id, GetParam().id);
  EXPECT_NE(spec.error().message.find(GetParam().field), std::string::npos) << spec.error().message;
}
INSTANTIATE_TEST_SUITE_P(
    Fields, WrongPoolsOf,
    testing::Values(
        WrongPools{"size", "layer.size", [](auto& p, auto*) { p.size = 8; }},
        WrongPools{"member_count", "layer.field", [](auto& p, auto*) { p.member_count = 0; }},
        WrongPools{"member_count", "layer.field", [](auto& p, auto*) { p.member_count = 9; }},
        WrongPools{"members", "layer.field", [](auto& p, auto*) { p.members = nullptr; }},
        WrongPools{"concat", "layer.field", [](auto& p, auto*) { p.concat = 2; }},
        WrongPools{"members[1].size", "layer.field", [](auto&, auto* m) { m[1].size = 8; }},
        WrongPools{"members[1]: kernel[2]", "layer.field", [](auto&, auto* m) { m[1].kernel[2] = 8; }},
        WrongPools{"members[1].input", "layer.field", [](auto&, auto* m) { m[1].input.dims[2] = 8; }},
        WrongPools{"members[1].input", "layer.field", [](auto&, auto* m) { m[1].input.layout = "nhwc"; }},
        WrongPools{"members[1]", "spec.chain", [](auto& p, auto*) { p.chain = 1; }},
        WrongPools{"include_input", "spec.option", [](auto& p, auto*) { p.include_input = 1; }},
        WrongPools{"output_layout", "spec.option", [](auto& p, auto*) { p.output.layout = "nhwc"; }}));

TEST(Pools, AChainBecomesPoolsOfTheInput) {
  pooljit_layer one = stem();
  for (int d = 0; d < 2; ++d) one.kernel[d] = 5, one.stride[d] = 1, one.pad_begin[d] = one.pad_end[d] = 2;
  const pooljit_layer members[] = {one, one, one};
  pooljit_pools pools = {};
  pools.size = sizeof pools;
  pools.members = members;
  pools.member_count = 3;
  pools.chain = pools.concat = 1;
  EXPECT_EQ(
      print(*spec_of(pools)),
      print(*frontend::parse_spec("pools(float32[1,64,112,112], max_pool2d(5, 1, 2), max_pool2d(5, 1, 2), "
                                  "max_pool2d(5, 1, 2), chain=True, concat=True)")));
}

TEST(Layer, OfALaterVersionIsReadWhereWhatIsNewIsZero) {
  struct Later {
    pooljit_layer layer;
    int64_t news[3];
  } later = {stem(), {}};
  later.layer.size = sizeof later;
  EXPECT_TRUE(spec_of(later.layer));
  later.news[2] = 1;
  const auto refused = spec_of(later.layer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "layer.size");
}

}  // namespace
}  // namespace pooljit::runtime
