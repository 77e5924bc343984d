// XNNPACK through its operators: NHWC in two dimensions, float32, and maxima of uint8 and int8.
#include <pthreadpool.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "adapter.h"

namespace {

using adapter::Buffers;
using adapter::Refusal;

struct DeleteOperator {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
using Operator = std::shared_ptr<std::remove_pointer_t<xnn_operator_t>>;
using Pool = std::shared_ptr<pthreadpool>;

Pool& pool() {
  static Pool pool;  // null: no threads
  return pool;
}

uint32_t u32(int64_t number) { return static_cast<uint32_t>(number); }

size_t bytes_of(const pooljit_engine_tensor& tensor) {
  int64_t elements = 1;
  for (int d = 0; d < tensor.rank; ++d) elements *= tensor.dims[d];
  return size_t(elements) * (std::string_view(tensor.dtype) == "float32" ? sizeof(float) : 1);
}

struct Window {
  uint32_t top, right, bottom, left, kernel[2], stride[2], dilation[2];
  size_t batch, channels, height, width;
};

Window window_of(const pooljit_engine_layer& layer) {
  Window w = {};
  const int64_t* dims = layer.input.dims;
  w.batch = size_t(dims[0]), w.channels = size_t(dims[1]), w.height = size_t(dims[2]),
  w.width = size_t(dims[3]);
  for (int d = 0; d < 2; ++d) {
    if (adapter::end_padding(layer, d) < 0) throw Refusal("does not crop");
    w.kernel[d] = u32(layer.kernel[d]), w.stride[d] = u32(layer.stride[d]),
    w.dilation[d] = u32(layer.dilation[d]);
  }
  w.top = u32(layer.pad_begin[0]), w.left = u32(layer.pad_begin[1]);
  w.bottom = u32(adapter::end_padding(layer, 0)), w.right = u32(adapter::end_padding(layer, 1));
  return w;
}

// create and setup of one dtype's maximum.
template <typename T, typename Create, typename Setup>
xnn_status make_max(const Window& w, T least, T most, Create create, Setup setup, const Buffers& buffers,
                    xnn_operator_t& op) {
  const xnn_status made =
      create(w.top, w.right, w.bottom, w.left, w.kernel[0], w.kernel[1], w.stride[0], w.stride[1],
             w.dilation[0], w.dilation[1], w.channels, w.channels, w.channels, least, most, 0, &op);
  if (made != xnn_status_success) return made;
  return setup(op, w.batch, w.height, w.width, static_cast<const T*>(buffers.input),
               static_cast<T*>(buffers.output), pool().get());
}

xnn_status make_average(const Window& w, const Buffers& buffers, xnn_operator_t& op) {
  const auto* from = static_cast<const float*>(buffers.input);
  auto* to = static_cast<float*>(buffers.output);
  const bool is_global =
      w.kernel[0] == w.height && w.kernel[1] == w.width && w.top + w.right + w.bottom + w.left == 0;
  const xnn_status made =
      is_global ? xnn_create_global_average_pooling_nwc_f32(w.channels, w.channels, w.channels, -INFINITY,
                                                            INFINITY, 0, &op)
                : xnn_create_average_pooling2d_nhwc_f32(w.top, w.right, w.bottom, w.left, w.kernel[0],
                                                        w.kernel[1], w.stride[0], w.stride[1], w.channels,
                                                        w.channels, w.channels, -INFINITY, INFINITY, 0, &op);
  if (made != xnn_status_success) return made;
  return is_global
             ? xnn_setup_global_average_pooling_nwc_f32(op, w.batch, w.height * w.width, from, to,
                                                        pool().get())
             : xnn_setup_average_pooling2d_nhwc_f32(op, w.batch, w.height, w.width, from, to, pool().get());
}

xnn_status make(const pooljit_engine_layer& layer, const Buffers& buffers, xnn_operator_t& op) {
  const Window w = window_of(layer);
  const std::string_view operation = layer.operation, dtype = layer.input.dtype;
  if (operation == "max" && dtype == "float32")
    return make_max<float>(w, -INFINITY, INFINITY, xnn_create_max_pooling2d_nhwc_f32,
                           xnn_setup_max_pooling2d_nhwc_f32, buffers, op);
  if (operation == "max" && dtype == "uint8")
    return make_max<uint8_t>(w, 0, 255, xnn_create_max_pooling2d_nhwc_u8, xnn_setup_max_pooling2d_nhwc_u8,
                             buffers, op);
  if (operation == "max" && dtype == "int8")
    return make_max<int8_t>(w, -128, 127, xnn_create_max_pooling2d_nhwc_s8, xnn_setup_max_pooling2d_nhwc_s8,
                            buffers, op);
  // Its averages leave padding out.
  const bool has_padding = w.top + w.right + w.bottom + w.left != 0;
  const bool is_dense = w.dilation[0] == 1 && w.dilation[1] == 1;
  if (operation != "avg" || dtype != "float32" || !is_dense || layer.divisor_override != 0 ||
      (layer.count_exclude_pad == 0 && has_padding))
    throw Refusal("has no such layer");
  return make_average(w, buffers, op);
}

}  // namespace

std::string adapter::version() { return "XNNPACK, the distribution's, its best ISA"; }

void adapter::start(int threads, bool /*only_avx2*/) {
  if (xnn_initialize(nullptr) != xnn_status_success) throw Refusal("does not start");
  pool() = threads > 1 ? Pool(pthreadpool_create(static_cast<size_t>(threads)), pthreadpool_destroy) : Pool();
}

std::function<void()> adapter::prepare(const pooljit_engine_layer& layer, const Buffers& buffers) {
  if (layer.spatial_rank != 2 || std::string_view(layer.input.layout) != "nhwc" ||
      std::string_view(layer.output.layout) != "nhwc" || layer.adaptive || layer.indices.rank != 0 ||
      std::string_view(layer.input.dtype) != layer.output.dtype)
    throw Refusal("pools fixed windows of NHWC in two dimensions, without indices");
  for (int d = 0; d < 2; ++d)
    if (std::max(layer.pad_begin[d], adapter::end_padding(layer, d)) >=
        layer.dilation[d] * (layer.kernel[d] - 1) + 1)
      throw Refusal("has no windows that lie in the padding wholly");
  // It reads up to XNN_EXTRA_BYTES behind each tensor: also behind its output, for windows in several passes.
  const size_t input_bytes = bytes_of(layer.input), output_bytes = bytes_of(layer.output);
  const auto input = std::make_shared<adapter::GuardedMemory>(buffers.input, input_bytes, XNN_EXTRA_BYTES);
  std::memcpy(input->data(), buffers.input, input_bytes);
  std::shared_ptr<adapter::GuardedMemory> padded;
  if (buffers.are_guarded)
    padded = std::make_shared<adapter::GuardedMemory>(buffers.output, output_bytes, XNN_EXTRA_BYTES);
  xnn_operator_t made = nullptr;
  const xnn_status status =
      make(layer, {input->data(), padded ? padded->data() : buffers.output, nullptr}, made);
  const Operator op(made, DeleteOperator());
  if (status != xnn_status_success) throw Refusal("says status " + std::to_string(static_cast<int>(status)));
  const auto run = [op, input, threads = pool()] { xnn_run_operator(op.get(), threads.get()); };
  if (!padded) return run;
  return [run, padded, output = buffers.output, output_bytes] {
    run();
    std::memcpy(output, padded->data(), output_bytes);
  };
}
