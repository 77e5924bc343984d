// Results of mixed layouts, by way of scratch memory: what is transposed there, which layers do so, and that
// they are right.
#include "ir/schedules/lowering/staging.h"

#include <gtest/gtest.h>

#include <numeric>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/lowering/transpose.h"
#include "lab/check.h"
#include "programs/engines.h"

namespace pooljit::ir {
namespace {

struct Shape {
  int64_t rows, columns;
  int64_t block = 0;  // of rows that lie together; 0: all
};

// Rows lie `gap` elements apart beyond their columns; columns of the result, beyond their rows.
constexpr int64_t gap = 3;

int64_t place_in_column(const Shape& shape, int64_t row, int64_t block_elements) {
  const int64_t block = shape.block > 0 ? shape.block : shape.rows;
  return row / block * block_elements + row % block;
}

test::Case transposed(Isa isa, DType dtype, const Shape& shape) {
  const int64_t element = bytes(dtype), block = shape.block > 0 ? shape.block : shape.rows;
  const int64_t column = (block + gap) * element, block_bytes = shape.columns * column;
  Builder b("transpose", isa);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  transpose(b, {dtype,
                shape.rows,
                shape.columns,
                {in, {}, 0},
                (shape.columns + gap) * element,
                {out, {}, 0},
                column,
                block,
                block_bytes});
  b.ret();
  test::Case c{.name = "transpose", .program = b.finish(), .input = {}, .output_bytes = 0};
  c.output_bytes = static_cast<size_t>((shape.rows + block - 1) / block * block_bytes);
  c.input.resize(static_cast<size_t>(shape.rows * (shape.columns + gap) * element));
  for (size_t i = 0; i < c.input.size(); ++i) c.input[i] = static_cast<uint8_t>(1 + i * 37 % 251);
  return c;
}

void check(Isa isa, DType dtype, const Shape& shape) {
  SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns << " in blocks of " << shape.block
                                  << ", " << info(dtype).text << ", " << info(isa).text);
  const test::Case c = transposed(isa, dtype, shape);
  const int64_t element = bytes(dtype), block = shape.block > 0 ? shape.block : shape.rows;
  for (const test::Run& run : test::run_everywhere(c)) {
    ASSERT_TRUE(run.result) << run.engine << ": " << to_string(run.result.error());
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t column = 0; column < shape.columns; ++column) {
        const auto from = c.input.begin() + (row * (shape.columns + gap) + column) * element;
        const int64_t to =
            column * (block + gap) + place_in_column(shape, row, shape.columns * (block + gap));
        ASSERT_TRUE(std::equal(from, from + element, run.result->output.begin() + to * element))
            << run.engine << ", row " << row << ", column " << column;
      }
  }
}

TEST(Transpose, PutsEachElementInItsPlace) {
  const Shape shapes[] = {{1, 1},   {1, 7},      {2, 3},      {3, 2},      {4, 4},        {5, 9},
                          {8, 16},  {16, 8},     {17, 5},     {31, 33},    {64, 17},      {70, 49},
                          {129, 6}, {20, 13, 8}, {8, 5, 8},   {40, 4, 16}, {35, 18, 16},  {3, 20, 8},
                          {12, 1},  {1, 40},     {16, 4, 16}, {66, 66},    {100, 100, 16}};
  for (const IsaInfo& isa : isa_table)
    for (const DType dtype : {DType::u8, DType::i16, DType::bf16, DType::f32, DType::f64, DType::i64})
      for (const Shape& shape : shapes) check(isa.isa, dtype, shape);
}

// Each output of a row is in some piece, and none is longer than asked for, but for single tiles.
TEST(RowPieces, HoldEveryOutput) {
  for (const int64_t most : {4, 16, 40, 100, 1000})
    for (const char* spec : {"max_pool1d(float32[1,4,300], kernel_size=3, stride=1, padding=1)",
                             "max_pool1d(float32[1,4,301], kernel_size=2)",
                             "max_pool1d(float32[1,4,9], kernel_size=7, stride=1, padding=3)",
                             "adaptive_avg_pool1d(float32[1,4,300], output_size=200)"})
      for (const Tail tail : {Tail::mask, Tail::overlap, Tail::split}) {
        const NestDim row = frontend::make_nest(*frontend::parse_spec(spec)).dims.back();
        std::vector<int> stored(static_cast<size_t>(row.output), 0);
        for (const RowPiece& piece : pieces_of(cut_row(row, {8, {}, tail, true, false}), most)) {
          EXPECT_LE(piece.columns, std::max<int64_t>(most, 8)) << spec;
          for (int64_t i = 0; i < piece.count * piece.columns; ++i)
            stored[static_cast<size_t>(piece.first + i / piece.columns * piece.outputs + i % piece.columns)] =
                1;
        }
        EXPECT_EQ(std::accumulate(stored.begin(), stored.end(), int64_t{0}), row.output)
            << spec << ' ' << most;
      }
}

enum class Staged { columns, pixels, pixels_of_many_lanes, no };

struct Layer {
  Staged staged;
  const char* spec;
};

constexpr Layer layers[] = {
    {Staged::columns,
     "max_pool2d(float32[2,20,9,13], kernel_size=3, stride=2, padding=1, output_layout=nhwc)"},
    {Staged::columns, "avg_pool2d(uint8[1,67,6,11], kernel_size=2, stride=1, padding=1, output_layout=nhwc)"},
    {Staged::columns,
     "max_pool2d(bfloat16[1,12,7,7], kernel_size=3, stride=1, padding=1, output_layout=nchw8c)"},
    {Staged::columns,
     "max_pool2d(float32[1,37,5,6], kernel_size=3, stride=1, padding=1, return_indices=True, "
     "output_layout=nchw16c)"},
    {Staged::columns,
     "max_pool1d(float32[2,48,1100], kernel_size=3, stride=1, padding=1, return_indices=True, "
     "output_layout=nhwc)"},
    {Staged::columns, "lp_pool3d(float16[1,9,3,4,21], kernel_size=2, stride=1, output_layout=nhwc)"},
    {Staged::columns, "adaptive_avg_pool2d(int16[1,6,9,30], output_size=[3,7], output_layout=nhwc)"},
    {Staged::columns,
     "avg_pool2d_backward(float32[1,17,8,9], kernel_size=3, stride=2, padding=1, "
     "count_include_pad=False, output_layout=nhwc)"},
    {Staged::columns,
     "max_pool1d_backward(float32[1,9,1200], kernel_size=3, stride=1, padding=1, "
     "output_layout=nhwc)"},
    // Vectors that move on from tile to tile, in each repetition of a piece.
    {Staged::columns, "max_pool2d(float32[1,4,12,1029], kernel_size=5, stride=1, output_layout=nhwc)"},
    {Staged::columns, "max_pool2d(float32[1,4,8,1544], kernel_size=[3,9], stride=1, output_layout=nhwc)"},
    {Staged::columns, "avg_pool2d(uint8[1,4,6,1090], kernel_size=5, stride=1, output_layout=nhwc)"},
    // More channels than one group, and a last group with more.
    {Staged::columns, "max_pool2d(float32[1,300,3,40], kernel_size=2, stride=1, output_layout=nhwc)"},
    {Staged::columns,
     "avg_pool2d(int8[2,10,5,9], kernel_size=3, stride=2, output_layout=nhwc, "
     "epilogue=[relu])"},
    {Staged::pixels_of_many_lanes,
     "max_pool2d(float32[2,20,9,13]:nhwc, kernel_size=3, stride=2, padding=1, "
     "output_layout=nchw)"},
    {Staged::pixels,
     "avg_pool2d(uint8[1,67,6,11]:nhwc, kernel_size=2, stride=1, padding=1, "
     "output_layout=nchw)"},
    {Staged::pixels,
     "max_pool2d(float32[1,40,6,9]:nchw16c, kernel_size=2, stride=1, return_indices=True, "
     "output_layout=nchw)"},
    {Staged::pixels,
     "max_pool1d(uint8[1,70,1000]:nhwc, kernel_size=3, stride=1, padding=1, "
     "output_layout=nchw)"},
    {Staged::pixels,
     "avg_pool3d_backward(float32[1,33,3,4,8]:nhwc, kernel_size=2, stride=1, "
     "output_layout=nchw)"},
    {Staged::pixels,
     "max_pool2d(float16[1,600,5,40]:nhwc, kernel_size=3, stride=1, padding=1, "
     "output_layout=nchw)"},
    {Staged::columns, "lp_pool2d(float32[1,67,31,31], kernel_size=3, norm_type=2.5, output_layout=nhwc)"},
    {Staged::columns, "sum_pool2d(int64[1,37,60,60], kernel_size=2, output_layout=nhwc)"},
    // Nothing to transpose; elements of 8 bytes in the caches; too few columns or channels; operands that
    // would be read where the output is.
    {Staged::no, "sum_pool2d(int64[1,37,20,20], kernel_size=2, output_layout=nhwc)"},
    {Staged::no, "max_pool2d(float32[2,20,9,13], kernel_size=3)"},
    {Staged::no, "max_pool2d(float32[2,20,9,13]:nhwc, kernel_size=3)"},
    {Staged::no, "max_pool2d(float32[2,3,9,13], kernel_size=3, output_layout=nhwc)"},
    {Staged::no, "max_pool2d(float32[2,20,9,13], kernel_size=4, output_layout=nhwc)"},
    {Staged::no,
     "max_pool2d(float32[2,20,9,20], kernel_size=3, output_layout=nhwc, epilogue=[add(float32)])"},
};

Staged staged(const PoolNest& nest, Isa isa) {
  if (staged_columns(nest, 1)) return Staged::columns;
  return staged_pixels(nest, isa) ? Staged::pixels : Staged::no;
}

TEST(Staging, ServesMixedLayouts) {
  for (const auto& [expected, spec] : layers) {
    const auto parsed = frontend::parse_spec(spec);
    ASSERT_TRUE(parsed) << to_string(parsed.error());
    const PoolNest nest = frontend::make_nest(*parsed);
    for (const IsaInfo& isa : isa_table) {
      const bool are_few = expected == Staged::pixels_of_many_lanes;
      const Staged own = !are_few ? expected : isa.vector_bytes > 32 ? Staged::pixels : Staged::no;
      EXPECT_EQ(staged(nest, isa.isa), own) << spec << ' ' << isa.text;
      const auto report = runtime::check(spec, {.schedules = runtime::CheckOptions::Schedules::best,
                                                .isa = isa.isa,
                                                .backend = runtime::Engine::xbyak});
      ASSERT_TRUE(report) << spec << "\n" << to_string(report.error());
      EXPECT_TRUE(report->ok()) << runtime::print(*report);
    }
  }
}

}  // namespace
}  // namespace pooljit::ir
