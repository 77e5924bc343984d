// Gradients, and outputs in another layout than the input, for code for all sizes
// (tests/unit/general_test.cpp).
#pragma once

#include "tests/unit/general_layers.h"

namespace pooljit {

// Adaptive ones: even windows and others, fewer positions than windows.
inline const std::vector<Extents> sizes_of_adaptive_gradients = {{6, 14}, {8, 9},  {3, 7}, {1, 1},
                                                                 {2, 30}, {31, 8}, {5, 97}};
inline const SizedLayer following_gradient_layers[] = {
    {"adaptive_avg_pool2d_backward(float32[2,24,SIZE]:nhwc, output_size=[3,7])", sizes_of_adaptive_gradients},
    {"adaptive_avg_pool2d_backward(float64[2,5,SIZE]:nhwc, output_size=1)", sizes_of_adaptive_gradients},
    {"adaptive_max_pool2d_backward(float32[2,24,SIZE]:nhwc, output_size=[3,7])", sizes_of_adaptive_gradients},
    {"adaptive_max_pool2d_backward(bfloat16[2,33,SIZE]:nhwc, output_size=[2,5], index_dtype=int32, "
     "index_scope=nhwc)",
     sizes_of_adaptive_gradients},
    {"adaptive_avg_pool2d_backward(float32[2,40,SIZE]:nchw16c, output_size=[3,7])",
     sizes_of_adaptive_gradients},
    {"adaptive_avg_pool1d_backward(float32[2,24,SIZE]:nwc, output_size=5)", {{8}, {5}, {3}, {1}, {40}}},
};
inline const SizedLayer following_row_gradient_layers[] = {
    {"adaptive_avg_pool2d_backward(float32[2,3,SIZE], output_size=[3,7])", sizes_of_adaptive_gradients},
    {"adaptive_avg_pool2d_backward(float64[2,3,SIZE], output_size=1)", sizes_of_adaptive_gradients},
    {"adaptive_avg_pool2d_backward(float16[2,3,SIZE], output_size=[2,3])", sizes_of_adaptive_gradients},
    {"adaptive_max_pool2d_backward(float32[2,3,SIZE], output_size=[3,7])", sizes_of_adaptive_gradients},
    {"adaptive_max_pool2d_backward(bfloat16[2,3,SIZE], output_size=[3,4], index_scope=nhwc)",
     sizes_of_adaptive_gradients},
    {"adaptive_max_pool3d_backward(float32[2,3,SIZE], output_size=[2,3,2])",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 40}}},
    {"adaptive_avg_pool1d_backward(float32[2,3,SIZE], output_size=40)", {{8}, {45}, {80}, {1}, {400}}},
};

// Outputs in another layout than the input, which are stored one by one.
inline const SizedLayer layers_between_layouts[] = {
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, output_layout=nchw)", sizes_2d},
    {"max_pool2d(float32[2,70,SIZE]:nhwc, kernel_size=3, stride=1, padding=1, output_layout=nchw)", sizes_2d},
    {"max_pool2d(bfloat16[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, output_layout=nchw)",
     sizes_2d},
    {"max_pool2d(uint8[2,40,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, output_layout=nchw)", sizes_2d},
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True, "
     "output_layout=nchw)",
     sizes_2d},
    {"avg_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, count_include_pad=False, "
     "output_layout=nchw)",
     sizes_2d},
    {"avg_pool2d_backward(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, output_layout=nchw)",
     sizes_2d},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1, output_layout=nhwc)", sizes_2d},
    {"max_pool2d(float32[2,17,SIZE], kernel_size=3, stride=1, padding=1, output_layout=nhwc)", sizes_2d},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1, return_indices=True, "
     "output_layout=nhwc)",
     sizes_2d},
    {"max_pool2d(uint8[2,5,SIZE], kernel_size=3, stride=1, padding=1, output_layout=nhwc)",
     {{8, 8}, {1, 1}, {2, 5}, {5, 20}, {3, 70}}},
    {"avg_pool2d(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1, count_include_pad=False, "
     "output_layout=nhwc)",
     sizes_2d},
    {"avg_pool2d_backward(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1, output_layout=nhwc)",
     sizes_2d},
    {"max_pool2d_backward(float32[2,3,SIZE], kernel_size=2, stride=[2,3], output_layout=nhwc)",
     sizes_of_whole},
    // Blocks to planes, planes to blocks.
    {"max_pool2d(float32[2,24,SIZE]:nchw16c, kernel_size=3, stride=2, padding=1, output_layout=nchw)",
     sizes_2d},
    {"avg_pool2d(uint8[2,40,SIZE]:nchw8c, kernel_size=3, stride=1, padding=1, output_layout=nchw)", sizes_2d},
    {"max_pool2d(bfloat16[2,33,SIZE]:nchw16c, kernel_size=[3,2], stride=2, return_indices=True, "
     "output_layout=nchw)",
     sizes_of_whole},
    {"avg_pool2d_backward(float32[2,24,SIZE]:nchw8c, kernel_size=3, stride=2, padding=1, output_layout=nchw)",
     sizes_2d},
    {"max_pool2d(float32[2,20,SIZE], kernel_size=3, stride=2, padding=1, output_layout=nchw16c)", sizes_2d},
    {"max_pool2d(uint8[2,9,SIZE], kernel_size=3, stride=1, padding=1, output_layout=nchw8c)",
     {{8, 8}, {1, 1}, {2, 5}, {5, 20}, {3, 70}}},
    {"max_pool2d(float32[2,9,SIZE], kernel_size=3, stride=2, padding=1, return_indices=True, "
     "index_scope=nhwc, output_layout=nchw8c)",
     sizes_2d},
    {"avg_pool2d_backward(float32[2,9,SIZE], kernel_size=3, stride=2, padding=1, output_layout=nchw8c)",
     sizes_2d},
    // Tensors of the epilogue, which lie as the output does.
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, output_layout=nchw, "
     "epilogue=[scale_channel, add, relu])",
     sizes_2d},
    {"avg_pool2d(float32[2,19,SIZE]:nchw8c, kernel_size=3, stride=2, padding=1, output_layout=nchw, "
     "epilogue=[add])",
     sizes_2d},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1, output_layout=nhwc, "
     "epilogue=[scale_channel, add, relu])",
     sizes_2d},
    {"max_pool2d(float32[2,9,SIZE], kernel_size=3, stride=1, padding=1, output_layout=nchw8c, "
     "epilogue=[mul])",
     sizes_2d},
};

// Indices that count in the whole tensor, or column by column.
inline const SizedLayer tensor_index_layers[] = {
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1, return_indices=True, "
     "index_scope=tensor)",
     sizes_of_rows},
    {"max_pool2d(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1, return_indices=True, "
     "index_scope=tensor, storage_order=1)",
     sizes_of_rows},
    {"max_pool2d(uint8[2,5,SIZE], kernel_size=[2,3], stride=1, return_indices=True, index_dtype=int32, "
     "index_scope=tensor, storage_order=1)",
     {{8, 8}, {2, 3}, {5, 9}, {3, 70}}},
    {"max_pool2d(float32[2,24,SIZE]:nhwc, kernel_size=3, stride=2, padding=1, return_indices=True, "
     "index_scope=tensor)",
     sizes_2d},
    {"max_pool2d(bfloat16[2,40,SIZE]:nhwc, kernel_size=3, padding=1, return_indices=True, index_dtype=int32, "
     "index_scope=tensor, storage_order=1)",
     sizes_2d},
    {"max_pool2d(float32[2,40,SIZE]:nchw16c, kernel_size=3, stride=2, return_indices=True, "
     "index_scope=tensor, output_layout=nchw)",
     sizes_of_whole},
    {"max_pool2d(float32[2,20,SIZE], kernel_size=3, stride=2, return_indices=True, index_scope=tensor, "
     "output_layout=nchw16c)",
     sizes_of_whole_rows},
    {"max_pool3d(float32[2,3,SIZE], kernel_size=[2,3,2], stride=2, padding=1, return_indices=True, "
     "index_scope=tensor, storage_order=1)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 40}}},
};
// ... and of windows that follow the extents, also in the window.
inline const SizedLayer following_index_layers[] = {
    {"global_max_pool2d(float32[2,3,SIZE], return_indices=True, index_scope=tensor)", sizes_of_planes},
    {"global_max_pool2d(float32[2,24,SIZE]:nhwc, return_indices=True, index_scope=tensor, storage_order=1)",
     sizes_2d},
    {"adaptive_max_pool2d(float32[2,3,SIZE], output_size=3, return_indices=True, index_scope=tensor)",
     sizes_of_lines},
    {"global_max_pool2d(float32[2,3,SIZE], return_indices=True, index_scope=window)", sizes_of_planes},
    {"adaptive_max_pool2d(uint8[2,3,SIZE], output_size=3, return_indices=True, index_scope=window)",
     sizes_of_lines},
    {"adaptive_max_pool2d(float32[2,24,SIZE]:nhwc, output_size=[3,2], return_indices=True, "
     "index_scope=window)",
     sizes_2d},
    {"adaptive_max_pool2d(bfloat16[2,24,SIZE]:nhwc, output_size=[3,2], return_indices=True, "
     "index_dtype=uint8, index_scope=window)",
     sizes_2d},
    {"adaptive_max_pool2d(uint8[2,8,SIZE]:nchw8c, output_size=[3,9], return_indices=True, "
     "index_dtype=uint8, index_scope=window, output_layout=nchw)",
     sizes_2d},
    {"global_min_pool2d(float64[2,7,SIZE], return_indices=True, index_dtype=uint8, index_scope=window)",
     {{8, 8}, {1, 1}, {2, 3}, {7, 7}, {1, 250}, {15, 17}}},
    {"adaptive_max_pool2d(int16[2,3,SIZE], output_size=3, return_indices=True, index_dtype=uint8, "
     "index_scope=window)",
     {{8, 8}, {1, 1}, {2, 5}, {7, 31}, {4, 150}, {16, 20}}},
    {"global_max_pool2d(int64[2,5,SIZE], return_indices=True, index_scope=tensor, storage_order=1)",
     sizes_of_planes},
    {"adaptive_max_pool2d(float32[2,3,SIZE], output_size=[4,7], return_indices=True, index_scope=tensor, "
     "storage_order=1)",
     sizes_of_lines},
};
inline const SizedLayer following_between_layouts[] = {
    {"global_avg_pool2d(float32[2,20,SIZE], output_layout=nchw16c)", sizes_of_planes},
    {"adaptive_max_pool2d(float32[2,9,SIZE], output_size=[3,7], output_layout=nchw8c)", sizes_of_lines},
    {"adaptive_avg_pool2d(float32[2,9,SIZE], output_size=[3,7], output_layout=nhwc, epilogue=[add])",
     sizes_of_lines},
    {"global_avg_pool2d(float32[2,24,SIZE]:nhwc, output_layout=nchw)", sizes_2d},
    {"adaptive_max_pool2d(float32[2,24,SIZE]:nhwc, output_size=[3,2], output_layout=nchw)", sizes_2d},
    {"adaptive_avg_pool2d_backward(float16[2,9,SIZE], output_size=3, output_layout=nhwc)",
     sizes_of_adaptive_gradients},
    {"adaptive_max_pool2d_backward(float32[2,9,SIZE], output_size=[3,7], output_layout=nchw8c)",
     sizes_of_adaptive_gradients},
    {"adaptive_avg_pool2d_backward(float32[2,24,SIZE]:nhwc, output_size=[3,7], output_layout=nchw)",
     sizes_of_adaptive_gradients},
};

// Gradients along rows, output by output.
inline const std::vector<Extents> sizes_of_far_gradients = {{9, 18}, {9, 9}, {11, 20}, {18, 160}};
inline const SizedLayer one_by_one_gradient_layers[] = {
    {"max_pool2d_backward(float64[2,2,SIZE], kernel_size=3, stride=9)", sizes_of_far_gradients},
    {"max_pool2d_backward(float32[2,2,SIZE], kernel_size=[2,40], stride=1, padding=[0,20])",
     {{8, 80}, {2, 1}, {3, 41}}},
    {"min_pool2d_backward(bfloat16[2,2,SIZE], kernel_size=[2,33], stride=[1,40], padding=[0,16], "
     "index_scope=window)",
     {{8, 80}, {2, 1}, {3, 90}}},
    {"avg_pool2d_backward(float32[2,2,SIZE], kernel_size=20, stride=20, padding=4, count_include_pad=False, "
     "ceil_mode=True)",
     {{24, 48}, {12, 12}, {20, 70}}},
    {"sum_pool2d_backward(float16[2,2,SIZE], kernel_size=[2,40], stride=[1,2], padding=[0,0,0,-3])",
     {{8, 80}, {2, 43}, {3, 90}}},
};

// Gradients along rows: tiles at their ends and between, of whole periods of the strides; padding that is no
// multiple of a stride; rows that are less than a window.
inline const std::vector<Extents> sizes_of_gradients = {{8, 8},  {3, 3},  {4, 7},  {9, 31},
                                                        {5, 33}, {3, 64}, {7, 50}, {4, 151}};
inline const std::vector<Extents> sizes_of_padded_gradients = {{8, 8},  {1, 1},  {2, 5},   {5, 2},  {7, 12},
                                                               {1, 33}, {3, 64}, {5, 150}, {6, 19}, {2, 97}};

inline const SizedLayer row_gradient_layers[] = {
    // Columns behind all that windows see.
    {"max_pool2d_backward(bfloat16[2,2,SIZE], kernel_size=5, stride=2, padding=[0,0,-1,-1])",
     {{8, 8}, {6, 6}, {7, 7}, {9, 13}, {6, 33}, {7, 64}}},
    {"max_pool2d_backward(float32[2,2,SIZE], kernel_size=[2,3], stride=[1,3], padding=[0,1,0,-7])",
     {{8, 16}, {2, 10}, {3, 11}, {4, 40}, {2, 151}}},
    {"max_pool2d_backward(float16[2,2,SIZE], kernel_size=5, stride=2, padding=[0,0,-1,-1], ceil_mode=True)",
     {{8, 8}, {6, 6}, {9, 12}, {6, 30}, {7, 64}}},
    {"max_pool2d_backward(float32[2,2,SIZE], kernel_size=2, stride=1, padding=[0,0,0,-40])",
     {{8, 50}, {2, 42}, {3, 43}, {2, 80}, {3, 151}}},
    {"max_pool2d_backward(float32[2,3,SIZE], kernel_size=2)", sizes_of_gradients},
    {"max_pool2d_backward(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1)", sizes_of_padded_gradients},
    {"max_pool2d_backward(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1)", sizes_of_padded_gradients},
    {"max_pool2d_backward(float32[2,2,SIZE], kernel_size=[2,3], stride=[1,3], padding=[0,1], "
     "index_dtype=int32)",
     sizes_of_gradients},
    {"max_pool2d_backward(float32[2,2,SIZE], kernel_size=[3,2], stride=[2,5], padding=1, ceil_mode=True)",
     sizes_of_gradients},
    {"max_pool2d_backward(float64[2,2,SIZE], kernel_size=3, stride=2, dilation=2, padding=1, "
     "index_scope=window)",
     {{8, 8}, {5, 5}, {6, 9}, {11, 30}, {5, 61}}},
    {"max_pool2d_backward(float32[2,2,SIZE], kernel_size=3, stride=2, padding=1, index_scope=nhwc)",
     sizes_of_padded_gradients},
    {"max_pool1d_backward(float32[2,3,SIZE], kernel_size=5, stride=2, padding=2)",
     {{8}, {1}, {3}, {17}, {33}, {150}}},
    {"max_pool3d_backward(float32[2,2,SIZE], kernel_size=[2,3,2], stride=2, padding=1)",
     {{4, 4, 4}, {1, 1, 1}, {2, 5, 3}, {3, 1, 40}}},
    {"min_pool2d_backward(float32[2,2,SIZE], kernel_size=[5,4], stride=[2,3], padding=2)",
     sizes_of_padded_gradients},
    {"max_pool2d_backward(float32[2,3,SIZE], kernel_size=1, stride=2)", sizes_of_gradients},
    {"avg_pool2d_backward(float32[2,3,SIZE], kernel_size=2)", sizes_of_gradients},
    {"avg_pool2d_backward(float32[2,3,SIZE], kernel_size=3, stride=2, padding=1)", sizes_of_padded_gradients},
    {"avg_pool2d_backward(float64[2,2,SIZE], kernel_size=[2,5], stride=[1,3], padding=[1,2])",
     sizes_of_padded_gradients},
    {"avg_pool2d_backward(float32[2,2,SIZE], kernel_size=3, stride=2, divisor_override=5)",
     sizes_of_gradients},
    {"sum_pool2d_backward(float32[2,2,SIZE], kernel_size=3, stride=2, padding=1)", sizes_of_padded_gradients},
    {"lp_pool2d_backward(float32[2,2,SIZE], norm_type=2, kernel_size=3, stride=2)", sizes_of_gradients},
    {"lp_pool2d_backward(float32[2,2,SIZE], norm_type=1, kernel_size=[2,3], stride=1)", sizes_of_gradients},
    {"avg_pool2d_backward(float32[2,1,SIZE]:nhwc, kernel_size=3, stride=2, padding=1)",
     sizes_of_padded_gradients},
    // Of elements that AVX2 does not mask.
    {"max_pool2d_backward(bfloat16[2,2,SIZE], kernel_size=3, stride=2, padding=1)",
     sizes_of_padded_gradients},
    {"max_pool2d_backward(float32[2,2,SIZE], kernel_size=3, stride=2, padding=1, index_scope=window, "
     "index_dtype=uint8)",
     sizes_of_padded_gradients},
    {"avg_pool2d_backward(float16[2,2,SIZE], kernel_size=[2,3], stride=[1,3], padding=[0,1], "
     "count_include_pad=False)",
     sizes_of_gradients},
    {"sum_pool1d_backward(bfloat16[2,2,SIZE], kernel_size=3, stride=1)", {{8}, {3}, {17}, {33}, {150}}},
};

// Outputs at the ends of the rows are added one by one.
inline const SizedLayer uneven_gradient_layers[] = {
    {"avg_pool2d_backward(float32[2,2,SIZE], kernel_size=[2,3], stride=[1,2], padding=[0,1,0,-9], "
     "count_include_pad=False)",
     {{8, 20}, {2, 12}, {3, 13}, {4, 40}, {2, 151}}},
    {"avg_pool2d_backward(float32[2,3,SIZE], kernel_size=3, stride=1, padding=1)", sizes_of_padded_gradients},
    {"avg_pool2d_backward(float32[2,2,SIZE], kernel_size=3, stride=2, padding=1, "
     "count_include_pad=False, ceil_mode=True)",
     sizes_of_padded_gradients},
    {"avg_pool2d_backward(float32[2,2,SIZE], kernel_size=[2,13], stride=1, padding=[0,6], "
     "count_include_pad=False)",
     {{8, 8}, {4, 7}, {9, 31}, {3, 64}, {4, 151}}},
};

}  // namespace pooljit
