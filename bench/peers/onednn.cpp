// oneDNN through its C++ API, versions 2 and 3. The tensors are used where they lie: nchw and nhwc are
// formats that it has, so nothing is reordered.
#include <fmt/format.h>
#include <omp.h>

#include <optional>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>
#include "bench/peers/peer.h"

namespace pooljit::bench {
namespace {

using dnnl::memory;

std::optional<memory::data_type> data_type(ir::DType dtype) {
  using Type = memory::data_type;
  switch (dtype) {
    case ir::DType::f32:
      return Type::f32;
    case ir::DType::bf16:
      return Type::bf16;
    case ir::DType::f16:
      return Type::f16;
    case ir::DType::u8:
      return Type::u8;
    case ir::DType::i8:
      return Type::s8;
    default:
      return std::nullopt;
  }
}

memory::format_tag format(const frontend::PoolSpec& spec) {
  using Tag = memory::format_tag;
  static constexpr Tag first[] = {Tag::ncw, Tag::nchw, Tag::ncdhw},
                       last[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  return (spec.layout == frontend::Layout::nhwc ? last : first)[spec.dims.size() - 1];
}

std::optional<dnnl::algorithm> algorithm(const frontend::PoolSpec& spec) {
  if (spec.reduction == ir::Reduction::max) return dnnl::algorithm::pooling_max;
  if (spec.reduction != ir::Reduction::avg || spec.divisor_override) return std::nullopt;
  return spec.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                : dnnl::algorithm::pooling_avg_exclude_padding;
}

struct Geometry {
  memory::dims strides, kernel, dilation, begin, end;
};

Geometry geometry(const frontend::PoolSpec& spec) {
  Geometry found;
  for (const WindowGeometry& dim : window_geometry(spec)) {
    found.begin.push_back(dim.begin);
    found.end.push_back(dim.end);
  }
  for (const frontend::SpecDim& dim : spec.dims) {
    found.strides.push_back(dim.stride);
    found.kernel.push_back(dim.kernel);
    found.dilation.push_back(dim.dilation - 1);
  }
  return found;
}

class OneDnn final : public Peer {
 public:
  explicit OneDnn(const PeerOptions& options) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    omp_set_num_threads(options.threads);
  }

  std::string name() const override { return "onednn"; }
  std::string version() const override {
    const dnnl_version_t* version = dnnl::version();
    return fmt::format("{}.{}.{}, ISA {}", version->major, version->minor, version->patch,
                       static_cast<int>(dnnl::get_effective_cpu_isa()));
  }

  ir::Result<std::function<void()>> prepare(const frontend::PoolSpec& spec,
                                            const PeerTensors& tensors) override {
    const auto refuse = [](const std::string& why) { return ir::unsupported("bench.peer", "oneDNN " + why); };
    const auto type = data_type(spec.dtype);
    const auto algorithm_kind = algorithm(spec);
    if (!type || !algorithm_kind || is_adaptive(spec)) return refuse("has no such layer");
    try {
      return make(spec, tensors, *type, *algorithm_kind);
    } catch (const dnnl::error& error) {
      return refuse(fmt::format("says: {}", error.what()));
    }
  }

 private:
  ir::Result<std::function<void()>> make(const frontend::PoolSpec& spec, const PeerTensors& tensors,
                                         memory::data_type type, dnnl::algorithm algorithm_kind) {
    const memory::desc source(frontend::input_shape(spec), type, format(spec));
    const memory::desc destination(frontend::output_shape(spec), type, format(spec));
    const auto [strides, kernel, dilation, begin, end] = geometry(spec);
    const auto inference = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
    using Pooling = dnnl::pooling_forward;
    const Pooling::primitive_desc description(engine_, inference, algorithm_kind, source, destination,
                                              strides, kernel, dilation, begin, end);
#else
    using Pooling = dnnl::pooling_v2_forward;
    const Pooling::desc wanted(inference, algorithm_kind, source, destination, strides, kernel, dilation,
                               begin, end);
    const Pooling::primitive_desc description(wanted, engine_);
#endif
    const Pooling pooling(description);
    // oneDNN has no read-only memory.
    const memory input(source, engine_, const_cast<std::byte*>(tensors.input));
    const memory output(destination, engine_, tensors.output);
    const std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, input}, {DNNL_ARG_DST, output}};
    return std::function<void()>([this, pooling, arguments] {
      pooling.execute(stream_, arguments);
      stream_.wait();
    });
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
};

}  // namespace

std::unique_ptr<Peer> make_onednn(const PeerOptions& options) {
  dnnl::set_max_cpu_isa(options.isa == ir::Isa::avx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::all);
  return std::make_unique<OneDnn>(options);
}

}  // namespace pooljit::bench
