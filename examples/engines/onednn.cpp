// oneDNN through its C++ API, versions 2 and 3: maxima and averages of packed tensors, forward, without
// indices. The tensors are used where they lie: their layouts are formats that it has.
#include <omp.h>

#include <cstring>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "adapter.h"

namespace {

using dnnl::memory;

std::optional<memory::data_type> type_of(std::string_view dtype) {
  using Type = memory::data_type;
  if (dtype == "float32") return Type::f32;
  if (dtype == "bfloat16") return Type::bf16;
  if (dtype == "float16") return Type::f16;
  if (dtype == "uint8") return Type::u8;
  if (dtype == "int8") return Type::s8;
  if (dtype == "int32") return Type::s32;
  return std::nullopt;
}

std::optional<memory::format_tag> format_of(const pooljit_engine_tensor& tensor) {
  using Tag = memory::format_tag;
  struct Row {
    const char* layout;
    Tag tags[3];  // by rank
  };
  static constexpr Row rows[] = {{"nchw", {Tag::ncw, Tag::nchw, Tag::ncdhw}},
                                 {"nhwc", {Tag::nwc, Tag::nhwc, Tag::ndhwc}},
                                 {"nchw8c", {Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c}},
                                 {"nchw16c", {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c}}};
  for (const Row& row : rows)
    if (std::strcmp(row.layout, tensor.layout) == 0) return row.tags[tensor.rank - 3];
  return std::nullopt;
}

std::optional<dnnl::algorithm> algorithm_of(const pooljit_engine_layer& layer) {
  const std::string_view operation = layer.operation;
  if (operation == "max") return dnnl::algorithm::pooling_max;
  if (operation != "avg" || layer.divisor_override != 0) return std::nullopt;
  return layer.count_exclude_pad == 0 ? dnnl::algorithm::pooling_avg_include_padding
                                      : dnnl::algorithm::pooling_avg_exclude_padding;
}

struct Geometry {
  memory::dims strides, kernel, dilation, begin, end;
};

Geometry geometry_of(const pooljit_engine_layer& layer) {
  Geometry found;
  for (int d = 0; d < layer.spatial_rank; ++d) {
    found.strides.push_back(layer.stride[d]);
    found.kernel.push_back(layer.kernel[d]);
    found.dilation.push_back(layer.dilation[d] - 1);
    found.begin.push_back(layer.pad_begin[d]);
    found.end.push_back(adapter::end_padding(layer, d));
  }
  return found;
}

// oneDNN writes whole blocks of channels, and so do we not: the last one has to be full.
bool has_whole_blocks(const pooljit_engine_tensor& tensor) {
  return tensor.dims[1] % tensor.channel_block == 0;
}

struct Engine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};
Engine& here() {
  static Engine engine;
  return engine;
}

}  // namespace

std::string adapter::version() {
  const dnnl_version_t* version = dnnl::version();
  const bool is_avx2 = dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx2;
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch) + (is_avx2 ? ", AVX2" : ", its best ISA");
}

void adapter::start(int threads, bool only_avx2) {
  static const bool once [[maybe_unused]] = only_avx2 && (dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2), true);
  omp_set_num_threads(threads);
}

std::function<void()> adapter::prepare(const pooljit_engine_layer& layer, const Buffers& buffers) {
  const auto type = type_of(layer.input.dtype), output_type = type_of(layer.output.dtype);
  const auto algorithm = algorithm_of(layer);
  const auto format = format_of(layer.input), output_format = format_of(layer.output);
  if (layer.adaptive || layer.indices.rank != 0) throw Refusal("has no adaptive layers and no such indices");
  if (!type || type != output_type || !algorithm) throw Refusal("has no such operation or type");
  if (!format || !output_format || !has_whole_blocks(layer.input) || !has_whole_blocks(layer.output))
    throw Refusal("takes packed tensors of its own formats");
  const auto dims = [](const pooljit_engine_tensor& tensor) {
    return memory::dims(tensor.dims, tensor.dims + tensor.rank);
  };
  const memory::desc source(dims(layer.input), *type, *format);
  const memory::desc destination(dims(layer.output), *type, *output_format);
  const auto [strides, kernel, dilation, begin, end] = geometry_of(layer);
  const auto inference = dnnl::prop_kind::forward_inference;
  const dnnl::engine& engine = here().engine;
#if DNNL_VERSION_MAJOR >= 3
  using Pooling = dnnl::pooling_forward;
  const Pooling::primitive_desc description(engine, inference, *algorithm, source, destination, strides,
                                            kernel, dilation, begin, end);
#else
  using Pooling = dnnl::pooling_v2_forward;
  const Pooling::desc wanted(inference, *algorithm, source, destination, strides, kernel, dilation, begin,
                             end);
  const Pooling::primitive_desc description(wanted, engine);
#endif
  // oneDNN has no read-only memory.
  const memory from(source, engine, const_cast<void*>(buffers.input)),
      to(destination, engine, buffers.output);
  const std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
  return [pooling = Pooling(description), arguments] {
    pooling.execute(here().stream, arguments);
    here().stream.wait();
  };
}
