// XNNPACK through its operators: NHWC in two dimensions, float32, and maxima of uint8 and int8.
#include <fmt/format.h>
#include <pthreadpool.h>
#include <xnnpack.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "bench/peers/peer.h"

namespace pooljit::bench {
namespace {

struct DeleteOperator {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
using Operator = std::shared_ptr<std::remove_pointer_t<xnn_operator_t>>;

struct Padding {
  uint32_t top, right, bottom, left;
};

uint32_t u32(int64_t number) { return static_cast<uint32_t>(number); }

// create and setup of one dtype's maximum.
template <typename T, typename Create, typename Setup>
xnn_status make_max(const frontend::PoolSpec& spec, const Padding& pad, T least, T most, Create create,
                    Setup setup, const std::byte* input, std::byte* output, pthreadpool_t pool,
                    xnn_operator_t& op) {
  const auto &h = spec.dims[0], &w = spec.dims[1];
  const auto channels = static_cast<size_t>(spec.channels);
  const xnn_status made = create(pad.top, pad.right, pad.bottom, pad.left, u32(h.kernel), u32(w.kernel),
                                 u32(h.stride), u32(w.stride), u32(h.dilation), u32(w.dilation), channels,
                                 channels, channels, least, most, 0, &op);
  if (made != xnn_status_success) return made;
  return setup(op, static_cast<size_t>(*spec.batch), static_cast<size_t>(h.input),
               static_cast<size_t>(w.input), reinterpret_cast<const T*>(input), reinterpret_cast<T*>(output),
               pool);
}

xnn_status make_average(const frontend::PoolSpec& spec, const Padding& pad, const std::byte* input,
                        std::byte* output, pthreadpool_t pool, xnn_operator_t& op) {
  const auto &h = spec.dims[0], &w = spec.dims[1];
  const auto channels = static_cast<size_t>(spec.channels);
  const auto* from = reinterpret_cast<const float*>(input);
  auto* to = reinterpret_cast<float*>(output);
  const bool is_global = h.kernel == h.input && w.kernel == w.input && h.pad_begin == 0 && w.pad_begin == 0;
  const xnn_status made =
      is_global ? xnn_create_global_average_pooling_nwc_f32(channels, channels, channels, -INFINITY, INFINITY,
                                                            0, &op)
                : xnn_create_average_pooling2d_nhwc_f32(
                      pad.top, pad.right, pad.bottom, pad.left, u32(h.kernel), u32(w.kernel), u32(h.stride),
                      u32(w.stride), channels, channels, channels, -INFINITY, INFINITY, 0, &op);
  if (made != xnn_status_success) return made;
  const auto batch = static_cast<size_t>(*spec.batch), height = static_cast<size_t>(h.input),
             width = static_cast<size_t>(w.input);
  return is_global ? xnn_setup_global_average_pooling_nwc_f32(op, batch, height * width, from, to, pool)
                   : xnn_setup_average_pooling2d_nhwc_f32(op, batch, height, width, from, to, pool);
}

class Xnnpack final : public Peer {
 public:
  explicit Xnnpack(const PeerOptions& options)
      : pool_(options.threads > 1 ? pthreadpool_create(static_cast<size_t>(options.threads)) : nullptr,
              pthreadpool_destroy),
        status_(xnn_initialize(nullptr)) {}

  std::string name() const override { return "xnnpack"; }
  std::string version() const override { return "the distribution's, its best ISA"; }

  ir::Result<std::function<void()>> prepare(const frontend::PoolSpec& spec,
                                            const PeerTensors& tensors) override {
    const auto refuse = [](const std::string& why) {
      return ir::unsupported("bench.peer", "XNNPACK " + why);
    };
    if (status_ != xnn_status_success) return refuse("does not start");
    if (spec.dims.size() != 2 || spec.layout != frontend::Layout::nhwc || is_adaptive(spec))
      return refuse("pools fixed windows of NHWC in two dimensions");
    Padding pad{};
    const std::vector<WindowGeometry> geometry = window_geometry(spec);
    for (const WindowGeometry& dim : geometry)
      if (dim.end < 0) return refuse("does not crop");
    pad = {u32(geometry[0].begin), u32(geometry[1].end), u32(geometry[0].end), u32(geometry[1].begin)};
    // It reads some bytes beyond the last element.
    const int64_t bytes = elements(frontend::input_shape(spec)) * ir::bytes(spec.dtype);
    auto input = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes) + XNN_EXTRA_BYTES);
    std::memcpy(input->data(), tensors.input, static_cast<size_t>(bytes));
    xnn_operator_t made = nullptr;
    const xnn_status status = make(spec, pad, input->data(), tensors.output, made);
    const Operator op(made, DeleteOperator());
    if (status == xnn_status_invalid_state) return refuse("has no such layer");
    if (status != xnn_status_success) return refuse(fmt::format("says status {}", static_cast<int>(status)));
    return std::function<void()>([this, op, input] { xnn_run_operator(op.get(), pool_.get()); });
  }

 private:
  // invalid_state: no operator for it.
  xnn_status make(const frontend::PoolSpec& spec, const Padding& pad, const std::byte* input,
                  std::byte* output, xnn_operator_t& op) const {
    const bool is_max = spec.reduction == ir::Reduction::max;
    if (is_max && spec.dtype == ir::DType::f32)
      return make_max<float>(spec, pad, -INFINITY, INFINITY, xnn_create_max_pooling2d_nhwc_f32,
                             xnn_setup_max_pooling2d_nhwc_f32, input, output, pool_.get(), op);
    if (is_max && spec.dtype == ir::DType::u8)
      return make_max<uint8_t>(spec, pad, 0, 255, xnn_create_max_pooling2d_nhwc_u8,
                               xnn_setup_max_pooling2d_nhwc_u8, input, output, pool_.get(), op);
    if (is_max && spec.dtype == ir::DType::i8)
      return make_max<int8_t>(spec, pad, -128, 127, xnn_create_max_pooling2d_nhwc_s8,
                              xnn_setup_max_pooling2d_nhwc_s8, input, output, pool_.get(), op);
    // Its averages leave padding out.
    const bool has_padding = pad.top + pad.right + pad.bottom + pad.left != 0;
    const bool is_dense = spec.dims[0].dilation == 1 && spec.dims[1].dilation == 1;
    if (spec.reduction == ir::Reduction::avg && spec.dtype == ir::DType::f32 && is_dense &&
        !spec.divisor_override && !(spec.count_include_pad && has_padding))
      return make_average(spec, pad, input, output, pool_.get(), op);
    return xnn_status_invalid_state;
  }

  std::unique_ptr<pthreadpool, decltype(&pthreadpool_destroy)> pool_;
  xnn_status status_;
};

}  // namespace

std::unique_ptr<Peer> make_xnnpack(const PeerOptions& options) { return std::make_unique<Xnnpack>(options); }

}  // namespace pooljit::bench
