// Layers, and the sizes that one code for all sizes is run at.
#pragma once

#include <cstdint>
#include <vector>

namespace pooljit {

using Extents = std::vector<int64_t>;

// A spec whose spatial extents are written as SIZE.
struct SizedLayer {
  const char* text;
  std::vector<Extents> sizes;
};

// Smaller than the window, borders at both ends at once, no border, tails.
inline const std::vector<Extents> sizes_2d = {{8, 8}, {1, 1},  {2, 5},  {5, 2},
                                              {3, 3}, {7, 12}, {16, 9}, {1, 33}};
// Of less than a window, one piece and several (ir/schedules/lowering/pieces.h).
inline const std::vector<Extents> sizes_of_pieces = {{8, 8},   {1, 1},  {2, 5},   {17, 25}, {49, 16},
                                                     {24, 33}, {1, 97}, {100, 3}, {32, 48}};
inline const std::vector<Extents> sizes_of_whole = {{8, 8}, {3, 3}, {4, 7}, {9, 3}, {12, 17}};

inline const SizedLayer channels_last_layers[] = {
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"max_pool2d(float32[2,70,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)", sizes_2d},
    {"max_pool2d(uint8[2,65,SIZE]:nhwc, kernel_size=[3,2], stride=[1,2], padding=1)", sizes_2d},
    {"max_pool2d(bfloat16[2,24,SIZE]:nhwc, kernel_size=3, dilation=[1,2], padding=1)",
     {{8, 8}, {3, 5}, {4, 9}}},
    {"min_pool2d(float16[2,7,SIZE]:nhwc, kernel_size=2, stride=2)", {{8, 8}, {2, 2}, {5, 9}}},
    {"max_pool2d(float64[2,5,SIZE]:nhwc, kernel_size=3, stride=3, ceil_mode=True)", sizes_of_whole},
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True)",
     sizes_2d},
    {"max_pool2d(uint8[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True)", sizes_2d},
    {"max_pool2d(float16[2,9,SIZE]:nhwc, kernel_size=3, dilation=3, padding=3, return_indices=True)",
     sizes_2d},
    {"max_pool2d(float32[2,9,SIZE]:nhwc, kernel_size=2, return_indices=True, index_scope=nhwc_batch)",
     {{8, 8}, {2, 2}, {5, 9}}},
    {"max_pool2d(float32[2,9,SIZE]:nhwc, kernel_size=2, return_indices=True, index_dtype=uint8, "
     "index_scope=window)",
     {{8, 8}, {2, 2}, {5, 9}}},
    {"max_pool3d(float32[2,9,SIZE]:ndhwc, kernel_size=[2,3,2], stride=2, padding=1, return_indices=True)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 6}}},
    {"avg_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)", sizes_2d},
    {"avg_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, count_include_pad=False, "
     "ceil_mode=True)",
     sizes_2d},
    {"avg_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, divisor_override=5)", sizes_2d},
    {"avg_pool2d(uint8[2,40,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, count_include_pad=False)",
     sizes_2d},
    {"avg_pool2d(int8[2,40,SIZE]:nhwc, kernel_size=2, stride=2, ceil_mode=True)", {{8, 8}, {2, 2}, {5, 9}}},
    {"avg_pool2d(bfloat16[2,40,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"avg_pool2d(int64[2,3,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"avg_pool1d(float32[2,24,SIZE]:nwc, kernel_size=4, stride=3, padding=2)", {{8}, {1}, {3}, {17}}},
    {"avg_pool3d(float32[2,9,SIZE]:ndhwc, kernel_size=3, stride=2, padding=1)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 6}}},
    {"sum_pool2d(int16[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"lp_pool2d(float32[2,24,SIZE]:nhwc, norm_type=2, kernel_size=3, stride=2, padding=1)", sizes_2d},
    // separable, in one piece and in several.
    {"max_pool2d(float32[2,70,SIZE]:nhwc, kernel_size=7, stride=1, padding=3)", sizes_of_pieces},
    {"max_pool2d(uint8[2,65,SIZE]:nhwc, kernel_size=[13,6], stride=1, padding=[6,3])", sizes_of_pieces},
    {"max_pool2d(float32[2,1,SIZE]:nhwc, kernel_size=7, stride=1, padding=3)", {{8, 8}, {3, 50}}},
    {"min_pool2d(bfloat16[2,9,SIZE]:nhwc, kernel_size=9, stride=1, padding=4)", sizes_of_pieces},
    {"avg_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=5, stride=1, padding=2, count_include_pad=False)",
     sizes_of_pieces},
    {"avg_pool2d(uint8[2,40,SIZE]:nhwc, kernel_size=[5,7], stride=1, padding=[2,3])", sizes_of_pieces},
    {"sum_pool3d(float32[1,9,SIZE]:ndhwc, kernel_size=[2,5,5], stride=[2,1,1], padding=[1,2,2])",
     {{8, 8, 8}, {1, 1, 1}, {2, 50, 3}, {5, 3, 60}}},
    {"max_pool2d(float32[1,16,SIZE]:nhwc, kernel_size=7, padding=3, stride=1, epilogue=[scale_channel, add])",
     sizes_of_pieces},
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=9, stride=2, padding=4)", sizes_2d},
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, padding=1, epilogue=[scale_channel, add, relu])",
     sizes_2d},
    {"global_avg_pool2d(float32[2,24,SIZE]:nhwc)", sizes_2d},
    {"global_avg_pool2d(uint8[2,24,SIZE]:nhwc)", {{8, 8}, {1, 1}, {3, 180}, {181, 2}}},
    {"global_max_pool2d(float32[2,24,SIZE]:nhwc)", sizes_2d},
    {"adaptive_max_pool2d(float32[2,24,SIZE]:nhwc, output_size=[3,2], return_indices=True)", sizes_2d},
    {"adaptive_avg_pool2d(float32[2,24,SIZE]:nhwc, output_size=[3,7])", sizes_2d},
    {"global_avg_pool1d(float32[2,3,SIZE]:nwc)", {{8}, {200}, {300}, {70000}}},
};

// Blocks of channels: whole ones, several vectors each, and a part of one; beside pixels.
inline const SizedLayer blocked_layers[] = {
    {"max_pool2d(float32[2,24,SIZE]:nchw8c, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"max_pool2d(float32[2,70,SIZE]:nchw16c, kernel_size=3, stride=1, padding=1)", sizes_2d},
    {"max_pool2d(float32[2,160,SIZE]:nchw8c, kernel_size=2, stride=2, ceil_mode=True)", sizes_of_whole},
    {"max_pool2d(uint8[2,40,SIZE]:nchw16c, kernel_size=[3,2], stride=[1,2], padding=1)", sizes_2d},
    {"max_pool2d(bfloat16[2,32,SIZE]:nchw16c, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"max_pool2d(float32[2,40,SIZE]:nchw16c, kernel_size=3, stride=2, padding=1, return_indices=True)",
     sizes_2d},
    {"max_pool2d(float32[2,40,SIZE]:nchw8c, kernel_size=2, return_indices=True, index_scope=nhwc_batch)",
     {{8, 8}, {2, 2}, {5, 9}}},
    {"max_pool2d(float32[2,40,SIZE]:nhwc, kernel_size=3, padding=1, output_layout=nchw16c)", sizes_2d},
    {"max_pool2d(float32[2,40,SIZE]:nchw8c, kernel_size=3, padding=1, output_layout=nchw16c)", sizes_2d},
    {"avg_pool2d(float32[2,40,SIZE]:nchw16c, kernel_size=3, stride=1, padding=1)", sizes_2d},
    {"avg_pool2d(uint8[2,40,SIZE]:nchw16c, kernel_size=3, stride=2, padding=1, count_include_pad=False)",
     sizes_2d},
    {"avg_pool3d(float32[2,9,SIZE]:ncdhw8c, kernel_size=3, stride=2, padding=1)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 6}}},
    {"max_pool1d(int16[2,33,SIZE]:ncw16c, kernel_size=3, stride=2, padding=1)", {{8}, {1}, {3}, {17}}},
    {"max_pool2d(float32[2,24,SIZE]:nchw16c, kernel_size=3, padding=1, epilogue=[scale_channel, add, relu])",
     sizes_2d},
    {"global_avg_pool2d(float32[2,40,SIZE]:nchw16c)", sizes_2d},
    {"adaptive_max_pool2d(float32[2,40,SIZE]:nchw8c, output_size=[3,2], return_indices=True)", sizes_2d},
};

// Gradients: phases of strides, windows that share positions, positions without a window.
inline const SizedLayer gradient_layers[] = {
    {"max_pool2d_backward(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"max_pool2d_backward(float32[2,9,SIZE]:nhwc, kernel_size=[3,2], stride=1, padding=[1,0], "
     "index_scope=nhwc)",
     sizes_of_whole},
    {"max_pool2d_backward(float32[2,9,SIZE]:nhwc, kernel_size=2, stride=3)", sizes_of_whole},
    {"max_pool2d_backward(bfloat16[2,33,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, "
     "index_dtype=int32)",
     sizes_2d},
    {"max_pool2d_backward(float64[2,9,SIZE]:nhwc, kernel_size=3, stride=2, dilation=2, padding=1, "
     "index_scope=window, index_dtype=uint8)",
     {{8, 8}, {3, 3}, {4, 9}, {11, 6}}},
    {"max_pool1d_backward(float32[2,9,SIZE]:nwc, kernel_size=3, stride=2, padding=1)", {{8}, {1}, {3}, {17}}},
    {"max_pool2d_backward(float32[2,40,SIZE]:nchw16c, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"avg_pool2d_backward(float32[2,24,SIZE]:nhwc, kernel_size=2)", sizes_of_whole},
    {"avg_pool2d_backward(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)", sizes_2d},
    {"avg_pool2d_backward(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, "
     "count_include_pad=False, ceil_mode=True)",
     sizes_2d},
    {"avg_pool2d_backward(float16[2,24,SIZE]:nhwc, kernel_size=3, stride=2, divisor_override=5)",
     sizes_of_whole},
    {"avg_pool2d_backward(float32[2,24,SIZE]:nchw8c, kernel_size=[3,4], stride=[1,3], padding=1)",
     sizes_of_whole},
    {"avg_pool3d_backward(float32[2,9,SIZE]:ndhwc, kernel_size=3, stride=2, padding=1)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 6}}},
    {"sum_pool2d_backward(float32[2,9,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_2d},
    {"lp_pool2d_backward(float32[2,9,SIZE]:nhwc, norm_type=2, kernel_size=3, stride=2)", sizes_of_whole},
};

// Rows of one vector and of several, of either instruction set, with what is left over.
inline const std::vector<Extents> sizes_of_rows = {{8, 8}, {1, 1}, {5, 2}, {7, 12}, {1, 33}, {3, 150}};
// Planes by lines (ir/schedules/lowering/plane_lines.h): of one vector, of two, full or not, and of more
// lines than there are.
inline const std::vector<Extents> sizes_by_lines = {{8, 8},  {1, 1},  {2, 3},  {7, 7},   {6, 13}, {5, 16},
                                                    {4, 15}, {3, 20}, {3, 31}, {140, 9}, {3, 50}};
// In parts: of one line, of a full part and more, of the most parts and of more, windows down the plane of
// several blocks.
inline const std::vector<Extents> sizes_in_parts = {{16, 16}, {1, 1},   {14, 20}, {30, 3},  {2, 10},
                                                    {5, 40},  {27, 61}, {3, 128}, {3, 150}, {126, 9}};
inline const std::vector<Extents> sizes_of_whole_rows = {{8, 8},   {3, 3},  {4, 7},  {9, 3},
                                                         {12, 17}, {5, 50}, {3, 151}};

// Strided rows (ir/schedules/lowering/narrow_rows.h): of one vector, of two, and of more, of either
// instruction set; planes without a row of whole windows.
inline const std::vector<Extents> sizes_of_strided_rows = {{8, 8},  {1, 1},  {2, 3},  {7, 14},  {6, 15},
                                                           {5, 16}, {4, 29}, {3, 30}, {140, 9}, {3, 150}};

inline const SizedLayer channels_first_layers[] = {
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1)", sizes_of_strided_rows},
    {"avg_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1)", sizes_of_strided_rows},
    {"max_pool2d(float32[2,2,SIZE], kernel_size=[3,2], stride=[1,3], dilation=[1,4], padding=1, "
     "epilogue=[scale_channel, add, relu])",
     {{8, 8}, {3, 3}, {5, 14}, {4, 27}, {4, 31}}},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1)", sizes_by_lines},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=2, stride=2)", {{8, 8}, {2, 2}, {5, 9}, {6, 70}}},
    {"max_pool2d(float32[2,1,SIZE], kernel_size=5, stride=1, padding=2)", sizes_by_lines},
    {"max_pool2d(float32[2,2,SIZE], kernel_size=9, stride=1, padding=4)", sizes_in_parts},
    {"max_pool2d(float32[2,2,SIZE], kernel_size=13, stride=1, padding=6)", sizes_in_parts},
    {"min_pool2d(float64[2,1,SIZE], kernel_size=[14,7], stride=1, padding=[7,3], epilogue=[add, relu])",
     sizes_in_parts},
    {"max_pool2d(int32[2,1,SIZE], kernel_size=[2,9], stride=1, dilation=[1,2], padding=[1,8])",
     sizes_in_parts},
    {"max_pool2d(uint8[2,2,SIZE], kernel_size=5, stride=1, padding=2)", sizes_in_parts},
    {"max_pool2d(int8[2,1,SIZE], kernel_size=13, stride=1, padding=6)", sizes_in_parts},
    {"max_pool2d(bfloat16[2,2,SIZE], kernel_size=3, stride=[2,1], padding=1)", sizes_in_parts},
    {"min_pool2d(float16[2,1,SIZE], kernel_size=[13,9], stride=1, padding=[6,4], nan=ignore)",
     sizes_in_parts},
    {"avg_pool2d(uint8[2,2,SIZE], kernel_size=3, stride=1, padding=1)", sizes_in_parts},
    {"min_pool2d(float32[2,2,SIZE], kernel_size=[2,4], stride=[1,1], dilation=[1,2], padding=[0,3])",
     {{8, 8}, {2, 2}, {5, 13}, {4, 30}}},
    {"max_pool2d(float32[2,2,SIZE], kernel_size=[3,2], stride=[2,1], padding=[1,0])",
     {{8, 8}, {2, 2}, {5, 17}, {6, 9}, {9, 30}}},
    {"max_pool2d(uint8[2,3,SIZE], kernel_size=3, stride=1, padding=1)", sizes_of_rows},
    {"max_pool2d(uint8[2,3,SIZE], kernel_size=[3,2], stride=[1,2], padding=1)", sizes_of_rows},
    {"max_pool2d(bfloat16[2,3,SIZE], kernel_size=3, stride=2, padding=1)", sizes_of_rows},
    {"max_pool2d(bfloat16[2,3,SIZE], kernel_size=3, dilation=[1,2], padding=1)", {{8, 8}, {3, 5}, {4, 90}}},
    {"min_pool2d(float16[2,3,SIZE], kernel_size=2, stride=2)", {{8, 8}, {2, 2}, {5, 9}, {4, 70}}},
    {"max_pool2d(float64[2,3,SIZE], kernel_size=3, stride=3, ceil_mode=True)", sizes_of_whole_rows},
    {"max_pool2d(int16[2,3,SIZE], kernel_size=3, stride=4, padding=1)", sizes_of_rows},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=9, stride=2, padding=4)", sizes_of_rows},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1, return_indices=True)", sizes_of_rows},
    {"max_pool2d(uint8[2,3,SIZE], kernel_size=[2,3], stride=2, padding=1, return_indices=True)",
     {{8, 8}, {1, 1}, {2, 5}, {5, 2}, {4, 140}}},
    {"max_pool2d(float16[2,3,SIZE], kernel_size=3, dilation=3, padding=3, return_indices=True)",
     sizes_of_rows},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=2, return_indices=True, index_dtype=uint8, "
     "index_scope=window)",
     {{8, 8}, {2, 2}, {5, 9}, {3, 33}}},
    {"max_pool1d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1)", {{8}, {1}, {3}, {17}, {200}}},
    {"avg_pool2d(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1)", sizes_by_lines},
    {"avg_pool2d(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1, count_include_pad=False)",
     {{8, 8}, {2, 5}, {6, 13}, {3, 20}}},
    {"avg_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1, count_include_pad=False, "
     "ceil_mode=True)",
     sizes_of_rows},
    {"avg_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1, divisor_override=5)", sizes_of_rows},
    {"avg_pool2d(float32[2,3,SIZE], kernel_size=2, stride=2, ceil_mode=True)",
     {{8, 8}, {2, 2}, {5, 9}, {7, 71}}},
    {"avg_pool2d(uint8[2,3,SIZE], kernel_size=3, stride=2, padding=1, count_include_pad=False)",
     sizes_of_rows},
    {"avg_pool2d(int8[2,3,SIZE], kernel_size=2, stride=2, ceil_mode=True)",
     {{8, 8}, {2, 2}, {5, 9}, {3, 99}}},
    {"avg_pool2d(bfloat16[2,3,SIZE], kernel_size=3, stride=1, padding=1)", sizes_of_rows},
    {"avg_pool2d(int64[2,3,SIZE], kernel_size=3, stride=2, padding=1)", sizes_of_rows},
    {"avg_pool2d(int64[2,2,SIZE], kernel_size=[3,4], stride=1, padding=[0,2])", {{8, 8}, {3, 1}, {3, 40}}},
    {"avg_pool1d(float32[2,3,SIZE], kernel_size=4, stride=3, padding=2)", {{8}, {1}, {3}, {17}, {200}}},
    {"avg_pool3d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 40}}},
    {"sum_pool2d(int16[2,3,SIZE], kernel_size=3, stride=1, padding=1)", sizes_of_rows},
    {"lp_pool2d(float32[2,3,SIZE], norm_type=2, kernel_size=3, stride=2, padding=1)", sizes_of_rows},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, padding=1, epilogue=[scale_channel, add, relu])",
     sizes_of_rows},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1, epilogue=[scale_channel, add, relu])",
     {{8, 8}, {5, 13}, {4, 20}}},
};

// Windows whose columns are taken in loops, or lie side by side; code that would be too long for whole
// vectors.
inline const std::vector<Extents> sizes_of_long_rows = {{8, 80}, {1, 1}, {3, 33}, {2, 71}, {5, 150}, {1, 40}};
inline const std::vector<Extents> sizes_side_by_side = {{9, 18}, {9, 9}, {11, 20}, {18, 160}, {10, 95}};

inline const SizedLayer long_row_layers[] = {
    {"max_pool2d(float32[2,3,SIZE], kernel_size=[3,40], stride=1, padding=[1,20])", sizes_of_long_rows},
    {"max_pool2d(float32[2,2,SIZE], kernel_size=[2,33], stride=[1,3], padding=[1,16], dilation=[1,2])",
     {{8, 80}, {1, 34}, {3, 41}, {2, 190}}},
    {"max_pool2d(float16[2,2,SIZE], kernel_size=[1,40], stride=1, padding=[0,20], return_indices=True)",
     sizes_of_long_rows},
    {"min_pool2d(int32[2,2,SIZE], kernel_size=[2,33], stride=2, padding=[0,16], return_indices=True, "
     "index_dtype=uint8, index_scope=window)",
     {{8, 80}, {2, 1}, {3, 40}, {2, 99}}},
    {"min_pool2d(float64[2,2,SIZE], kernel_size=[2,40], stride=2, padding=[1,20], return_indices=True, "
     "index_scope=tensor, storage_order=1)",
     sizes_of_long_rows},
    {"max_pool2d(int8[2,2,SIZE], kernel_size=[2,40], stride=[2,1], padding=[1,20], zeros=first)",
     sizes_of_long_rows},
    {"avg_pool2d(float32[2,2,SIZE], kernel_size=[2,40], stride=1, padding=[1,20], count_include_pad=False)",
     sizes_of_long_rows},
    {"avg_pool2d(int64[2,2,SIZE], kernel_size=[1,40], stride=3, padding=[0,20], ceil_mode=True)",
     sizes_of_long_rows},
    {"avg_pool2d(uint8[2,2,SIZE], kernel_size=[1,300], stride=2, padding=[0,150])",
     {{8, 80}, {1, 1}, {2, 700}}},
    {"sum_pool2d(bfloat16[2,2,SIZE], kernel_size=[1,40], stride=[1,2], padding=[0,20], output_layout=nhwc)",
     sizes_of_long_rows},
    {"avg_pool1d(float32[2,3,SIZE], kernel_size=300, stride=2, padding=150)", {{80}, {1}, {320}, {700}}},
    {"max_pool3d(uint8[2,2,SIZE], kernel_size=[2,1,34], stride=1, padding=[1,0,17], epilogue=[add, relu])",
     {{4, 4, 40}, {1, 1, 1}, {2, 3, 99}}},
    {"lp_pool2d(float16[2,2,SIZE], norm_type=2, kernel_size=[2,40], stride=1, padding=[1,20])",
     sizes_of_long_rows},
};

// The same; code for one size has another schedule.
inline const SizedLayer far_apart_layers[] = {
    {"max_pool2d(uint8[2,3,SIZE], kernel_size=9, stride=9)", sizes_side_by_side},
    // The lanes of a tap of whole vectors lie in more vectors than there are registers.
    {"max_pool1d(uint8[2,3,SIZE], kernel_size=33)", {{80}, {33}, {340}, {1300}}},
    {"max_pool1d(uint8[2,3,SIZE], kernel_size=26, return_indices=True)", {{80}, {26}, {340}, {1300}}},
    {"max_pool1d(uint8[2,3,SIZE], kernel_size=10, return_indices=True)", {{80}, {10}, {340}, {1300}}},
    {"min_pool2d(bfloat16[2,3,SIZE], kernel_size=[3,16])", {{4, 80}, {3, 16}, {5, 340}}},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=9, stride=9, padding=4, return_indices=True)",
     sizes_side_by_side},
    {"avg_pool2d(float32[2,3,SIZE], kernel_size=9, stride=9)", sizes_side_by_side},
    {"lp_pool2d(float32[2,2,SIZE], norm_type=3, kernel_size=9, stride=9)", {{9, 18}, {9, 9}, {10, 95}}},
    {"lp_pool3d(float32[2,2,SIZE], norm_type=3, kernel_size=[4,5,8], stride=[1,4,7], padding=[0,0,4])",
     {{4, 6, 16}, {4, 5, 1}, {5, 9, 60}}},
    {"sum_pool2d(float64[2,2,SIZE], kernel_size=7, output_layout=nchw8c)", {{9, 20}, {7, 7}, {14, 50}}},
};

// Rows of pixels of few channels (ir/schedules/lanes/pixel_rows.h): less than a vector, of one and of
// several, of either instruction set, with what is left over.
inline const std::vector<Extents> sizes_of_pixels = {{8, 8},  {1, 1},  {5, 2}, {7, 12},
                                                     {1, 33}, {3, 75}, {4, 17}};
inline const std::vector<Extents> sizes_of_whole_pixels = {{8, 8}, {3, 3}, {4, 7}, {12, 17}, {5, 50}};

inline const SizedLayer pixel_row_layers[] = {
    {"max_pool2d(float32[2,3,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)", sizes_of_pixels},
    {"max_pool2d(float32[2,2,SIZE]:nhwc, kernel_size=7, stride=1, padding=3)", sizes_of_pixels},
    {"max_pool2d(uint8[2,3,SIZE]:nhwc, kernel_size=[3,5], stride=1, padding=[1,2])", sizes_of_pixels},
    {"min_pool2d(bfloat16[2,5,SIZE]:nhwc, kernel_size=[2,3], stride=1, dilation=[1,2], padding=[0,1])",
     {{8, 8}, {2, 3}, {5, 13}, {4, 30}}},
    {"max_pool1d(float32[2,3,SIZE]:nwc, kernel_size=3, stride=1, padding=1)", {{8}, {1}, {3}, {17}, {200}}},
    {"max_pool3d(float32[2,3,SIZE]:ndhwc, kernel_size=[2,3,2], stride=[2,1,1], padding=1)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 40}}},
    {"max_pool2d(float32[2,3,SIZE]:nhwc, kernel_size=3, stride=1, padding=1, epilogue=[add, relu])",
     sizes_of_pixels},
    {"avg_pool2d(float32[2,3,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)", sizes_of_pixels},
    {"avg_pool2d(float32[2,3,SIZE]:nhwc, kernel_size=[3,4], stride=1, padding=[1,2], "
     "count_include_pad=False)",
     sizes_of_pixels},
    {"avg_pool2d(uint8[2,3,SIZE]:nhwc, kernel_size=3, stride=1, padding=1, count_include_pad=False)",
     sizes_of_pixels},
    {"sum_pool2d(int16[2,7,SIZE]:nhwc, kernel_size=3, stride=1, padding=1)", sizes_of_pixels},
    {"lp_pool2d(float32[2,4,SIZE]:nhwc, norm_type=2, kernel_size=3, stride=1, padding=1)", sizes_of_pixels},
    // Windows that move by several pixels.
    {"max_pool2d(float32[2,3,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)", sizes_of_pixels},
    {"max_pool2d(float32[2,4,SIZE]:nhwc, kernel_size=2, stride=2)", {{8, 8}, {2, 2}, {5, 9}, {6, 70}}},
    {"max_pool2d(uint8[2,3,SIZE]:nhwc, kernel_size=2, stride=2)", {{8, 8}, {2, 2}, {5, 9}, {6, 70}}},
    {"max_pool2d(bfloat16[2,5,SIZE]:nhwc, kernel_size=3, stride=[1,2], dilation=[1,2], padding=1)",
     {{8, 8}, {3, 5}, {4, 90}}},
    {"max_pool2d(float64[2,2,SIZE]:nhwc, kernel_size=3, stride=3, ceil_mode=True)", sizes_of_whole_pixels},
    {"avg_pool2d(float32[2,3,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, count_include_pad=False, "
     "ceil_mode=True)",
     sizes_of_pixels},
    {"avg_pool2d(int8[2,5,SIZE]:nhwc, kernel_size=2, stride=2, divisor_override=3)",
     {{8, 8}, {2, 2}, {5, 9}, {6, 70}}},
    {"avg_pool1d(float32[2,2,SIZE]:nwc, kernel_size=4, stride=3, padding=2)", {{8}, {1}, {3}, {17}, {200}}},
};

// Planes that are less than a vector, some vectors, groups of them; one whose sum is of several parts.
inline const std::vector<Extents> sizes_of_planes = {{8, 8},  {1, 1},   {2, 3},   {7, 7},
                                                     {9, 31}, {1, 250}, {70, 67}, {64, 64}};
// Rows of less than a vector, of some, of groups; windows of less than a vector, and of more.
inline const std::vector<Extents> sizes_of_lines = {{8, 8},  {1, 1},   {2, 5},   {7, 31},
                                                    {3, 64}, {4, 150}, {2, 250}, {16, 20}};

// Windows that follow the size (ir/schedules/families/window_rows_any_size.h, window_rows_lines.h).
inline const SizedLayer following_layers[] = {
    {"global_max_pool2d(float32[2,11,SIZE])", sizes_of_planes},
    {"global_avg_pool2d(float32[2,11,SIZE])", sizes_of_planes},
    {"global_max_pool2d(uint8[2,11,SIZE])", sizes_of_planes},
    {"global_avg_pool2d(int8[2,3,SIZE])", {{8, 8}, {1, 1}, {2, 3}, {9, 31}, {1, 181}, {70, 67}}},
    {"global_avg_pool2d(bfloat16[2,5,SIZE])", sizes_of_planes},
    {"global_min_pool2d(float16[2,4,SIZE], epilogue=[scale_channel, add, relu])", sizes_of_planes},
    {"global_sum_pool2d(float64[2,2,SIZE])", sizes_of_planes},
    {"global_lp_pool2d(float32[2,2,SIZE], norm_type=3)", {{8, 8}, {1, 1}, {3, 13}}},
    {"global_max_pool2d(float32[2,3,SIZE], return_indices=True)", sizes_of_planes},
    {"global_max_pool2d(uint8[2,3,SIZE], return_indices=True, index_dtype=int32)", sizes_of_planes},
    {"global_avg_pool1d(float32[2,9,SIZE])", {{8}, {1}, {3}, {17}, {200}}},
    {"global_max_pool3d(int32[2,9,SIZE])", {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 40}}},
    // Beyond the stand-in along one dimension.
    {"global_avg_pool2d(float32[2,3,SIZE])", {{8, 8}, {28, 261}, {300, 3}, {1, 3000}, {2, 16384}}},
    {"global_sum_pool3d(int16[2,3,SIZE])", {{4, 4, 4}, {1, 2, 500}, {300, 2, 1}}},
    {"global_max_pool2d(uint8[2,3,SIZE], return_indices=True)", {{8, 8}, {300, 7}, {2, 1100}}},
    {"global_max_pool1d(float64[2,3,SIZE], return_indices=True, index_scope=nhwc_batch)",
     {{8}, {1}, {17}, {5000}}},
    {"global_max_pool2d(float32[2,20,SIZE]:nhwc, return_indices=True)", {{8, 8}, {300, 2}, {2, 700}}},
    {"adaptive_max_pool3d(float32[2,2,SIZE], output_size=2)", {{4, 4, 4}, {1, 2, 600}, {300, 2, 3}}},
    {"adaptive_max_pool2d(float32[2,3,SIZE], output_size=7)", sizes_of_lines},
    {"adaptive_avg_pool2d(float32[2,3,SIZE], output_size=[2,7])", sizes_of_lines},
    {"adaptive_max_pool2d(uint8[2,3,SIZE], output_size=[3,9])", sizes_of_lines},
    {"adaptive_avg_pool2d(int16[2,3,SIZE], output_size=3)", sizes_of_lines},
    {"adaptive_avg_pool2d(bfloat16[2,3,SIZE], output_size=[2,5])", sizes_of_lines},
    {"adaptive_avg_pool2d(float64[2,2,SIZE], output_size=6, epilogue=[add, relu])", sizes_of_lines},
    {"adaptive_max_pool2d(float16[2,3,SIZE], output_size=[4,1])", sizes_of_lines},
    {"adaptive_max_pool2d(float32[2,3,SIZE], output_size=3, return_indices=True)", sizes_of_lines},
    {"adaptive_max_pool2d(float32[2,3,SIZE], output_size=3, zeros=first)", sizes_of_lines},
    {"global_max_pool2d(float16[2,5,SIZE], zeros=first, nan=ignore, epilogue=[scale_channel, add, relu])",
     sizes_of_planes},
    {"global_min_pool2d(bfloat16[2,5,SIZE], zeros=first, output_layout=nchw8c)", sizes_of_planes},
    {"adaptive_max_pool1d(float64[2,5,SIZE], output_size=2, zeros=first)", {{8}, {1}, {3}, {17}, {200}}},
    {"global_sum_pool2d(int64[2,5,SIZE])", sizes_of_planes},
    {"adaptive_avg_pool2d(int64[2,3,SIZE], output_size=[2,7], output_layout=nhwc)", sizes_of_lines},
    {"adaptive_max_pool1d(int8[2,3,SIZE], output_size=3)", {{8}, {1}, {3}, {17}, {200}}},
    {"adaptive_avg_pool3d(float32[2,2,SIZE], output_size=2)", {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 40}}},
    {"max_pool3d(float32[2,3,SIZE], kernel_size=[2,3,2], stride=[2,1,2], padding=1)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 40}}},
    {"max_pool3d(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1, return_indices=True)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 40}}},
};

}  // namespace pooljit
