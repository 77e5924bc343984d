// ONNX Runtime through its C API: each layer is a model of one node, made in memory. NCHW of one to three
// dimensions, forward; maxima of bytes in NHWC, too, by its own NhwcMaxPool.
#include <onnxruntime_c_api.h>

#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "adapter.h"
#include "tools/onnx_bytes.h"

namespace {

using adapter::Refusal;
using pooljit::tools::NodeModel;
using Numbers = std::vector<int64_t>;

const OrtApi& api() {
  // Null where the library is older than the header.
  static const OrtApi* api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (!api) throw Refusal(std::string("is older than its header: ") + OrtGetApiBase()->GetVersionString());
  return *api;
}

void check(OrtStatus* status) {
  if (!status) return;
  const std::string message = api().GetErrorMessage(status);
  api().ReleaseStatus(status);
  throw Refusal("says: " + message);
}

template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

// What `make` writes into its last argument.
template <typename T, typename Make>
Owned<T> own(void (*release)(T*), Make make) {
  T* made = nullptr;
  check(make(&made));
  return {made, release};
}

OrtEnv* environment() {
  static const Owned<OrtEnv> env = own<OrtEnv>(api().ReleaseEnv, [](OrtEnv** made) {
    return api().CreateEnv(ORT_LOGGING_LEVEL_FATAL, "pooljit", made);
  });
  return env.get();
}

int threads = 1;

Numbers dims_of(const pooljit_engine_tensor& tensor) {
  Numbers dims(tensor.dims, tensor.dims + tensor.rank);
  if (std::string_view(tensor.layout) != "nhwc") return dims;
  dims.push_back(dims[1]);
  dims.erase(dims.begin() + 1);
  return dims;
}

bool is_bytes(std::string_view dtype) { return dtype == "uint8" || dtype == "int8"; }

const char* operator_of(const pooljit_engine_layer& layer) {
  const std::string_view operation = layer.operation;
  if (std::string_view(layer.input.layout) == "nhwc") {
    if (operation == "max" && is_bytes(layer.input.dtype) && layer.indices.rank == 0) return "NhwcMaxPool";
    throw Refusal("has no such layer in NHWC");
  }
  if (operation == "max") return "MaxPool";
  if (operation == "avg" && layer.divisor_override == 0) return "AveragePool";
  if (operation == "lp") return "LpPool";
  throw Refusal("has no such operation");
}

// For a maximum, the padding that makes these outputs without a ceil mode. Averages count it, so theirs is
// left to ceil_mode, which may come to other outputs: then the run fails.
Numbers pads_of(const pooljit_engine_layer& layer, bool is_max) {
  Numbers pads(layer.pad_begin, layer.pad_begin + layer.spatial_rank);
  for (int d = 0; d < layer.spatial_rank; ++d)
    pads.push_back(is_max ? adapter::end_padding(layer, d) : layer.pad_end[d]);
  for (const int64_t pad : pads)
    if (pad < 0) throw Refusal("does not crop");
  return pads;
}

NodeModel model_of(const pooljit_engine_layer& layer) {
  const auto numbers = [&](const int64_t* first) { return Numbers(first, first + layer.spatial_rank); };
  NodeModel model = {.op_type = operator_of(layer)};
  const bool is_max = std::string_view(layer.operation) == "max";
  if (model.op_type == "NhwcMaxPool") model.domain = "com.microsoft", model.opset = 1;
  model.attributes = {{"kernel_shape", numbers(layer.kernel)},
                      {"strides", numbers(layer.stride)},
                      {"dilations", numbers(layer.dilation)},
                      {"pads", pads_of(layer, is_max)}};
  if (!is_max && layer.ceil_mode != 0) model.attributes.emplace_back("ceil_mode", int64_t{1});
  if (model.op_type == "AveragePool")
    model.attributes.emplace_back("count_include_pad", int64_t{layer.count_exclude_pad == 0});
  model.inputs = {{"x", layer.input.dtype, dims_of(layer.input)}};
  model.outputs = {{"y", layer.output.dtype, dims_of(layer.output)}};
  if (layer.indices.rank != 0) model.outputs.push_back({"i", "int64", dims_of(layer.indices)});
  return model;
}

size_t bytes_of(const pooljit_engine_tensor& tensor) {
  const std::string_view dtype = tensor.dtype;
  size_t bytes = is_bytes(dtype) ? 1 : dtype.ends_with("64") ? 8 : dtype.ends_with("16") ? 2 : 4;
  for (int d = 0; d < tensor.rank; ++d) bytes *= static_cast<size_t>(tensor.dims[d]);
  return bytes;
}

// A session with its tensors bound to the buffers.
class Session {
 public:
  Session(const pooljit_engine_layer& layer, const adapter::Buffers& buffers) {
    const std::string bytes = model_bytes(model_of(layer));
    const auto options = own<OrtSessionOptions>(api().ReleaseSessionOptions, api().CreateSessionOptions);
    check(api().SetIntraOpNumThreads(options.get(), threads));
    session_ = own<OrtSession>(api().ReleaseSession, [&](OrtSession** made) {
      return api().CreateSessionFromArray(environment(), bytes.data(), bytes.size(), options.get(), made);
    });
    binding_ = own<OrtIoBinding>(api().ReleaseIoBinding, [&](OrtIoBinding** made) {
      return api().CreateIoBinding(session_.get(), made);
    });
    // The library has no read-only memory.
    check(api().BindInput(binding_.get(), "x", value(layer.input, const_cast<void*>(buffers.input))));
    check(api().BindOutput(binding_.get(), "y", value(layer.output, buffers.output)));
    if (buffers.indices) check(api().BindOutput(binding_.get(), "i", value(layer.indices, buffers.indices)));
    indices_ = static_cast<int64_t*>(buffers.indices);
    planes_ = layer.input.dims[0] * layer.input.dims[1];
    for (int d = 2; d < layer.input.rank; ++d) {
      plane_ *= layer.input.dims[d];
      outputs_ *= layer.output.dims[d];
    }
  }

  // ONNX counts indices in the whole tensor, the layer in its plane.
  void run() const {
    check(api().RunWithBinding(session_.get(), nullptr, binding_.get()));
    for (int64_t p = 1; indices_ && p < planes_; ++p)
      for (int64_t i = 0; i < outputs_; ++i) indices_[p * outputs_ + i] -= p * plane_;
  }

 private:
  const OrtValue* value(const pooljit_engine_tensor& tensor, void* memory) {
    const auto info = own<OrtMemoryInfo>(api().ReleaseMemoryInfo, [](OrtMemoryInfo** made) {
      return api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, made);
    });
    const Numbers dims = dims_of(tensor);
    const auto type = static_cast<ONNXTensorElementDataType>(pooljit::tools::onnx_type(tensor.dtype));
    values_.push_back(own<OrtValue>(api().ReleaseValue, [&](OrtValue** made) {
      return api().CreateTensorWithDataAsOrtValue(info.get(), memory, bytes_of(tensor), dims.data(),
                                                  dims.size(), type, made);
    }));
    return values_.back().get();
  }

  Owned<OrtSession> session_{nullptr, nullptr};
  Owned<OrtIoBinding> binding_{nullptr, nullptr};
  std::vector<Owned<OrtValue>> values_;
  int64_t* indices_ = nullptr;
  int64_t planes_ = 1, plane_ = 1, outputs_ = 1;  // elements of a plane
};

}  // namespace

std::string adapter::version() {
  return std::string("ONNX Runtime ") + OrtGetApiBase()->GetVersionString() + ", its best ISA";
}

void adapter::start(int count, bool /*only_avx2*/) {
  threads = count;
  environment();
}

std::function<void()> adapter::prepare(const pooljit_engine_layer& layer, const Buffers& buffers) {
  const std::string_view layout = layer.input.layout;
  if (layer.adaptive) throw Refusal("has no adaptive layers");
  if ((layout != "nchw" && layout != "nhwc") || layout != layer.output.layout)
    throw Refusal("takes packed tensors of NCHW, and of NHWC a few");
  if (std::string_view(layer.input.dtype) != layer.output.dtype)
    throw Refusal("has no other dtype of outputs");
  if (layer.indices.rank != 0 && std::string_view(layer.indices.dtype) != "int64")
    throw Refusal("has indices of int64 only");
  const auto session = std::make_shared<Session>(layer, buffers);
  return [session] { session->run(); };
}
