#include "tools/onnx/inference.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <sys/mman.h>

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <set>

#include "runtime/child.h"

namespace pooljit::tools {
namespace {

// What libonnx says of one node, by the newest of its rules that are not newer than the model. Nodes that
// those do not allow have later ones, which it does not know.
InferredTypes infer_with_libonnx(const onnx::NodeProto& written, Scope& scope) {
  const std::string domain = domain_of(written.domain());
  const auto* const schema = onnx::OpSchemaRegistry::Schema(
      written.op_type(), static_cast<int>(std::min<int64_t>(scope.opset(domain), INT32_MAX)), domain);
  const std::string name =
      fmt::format("{}{}", written.op_type(), domain.empty() ? "" : " of domain " + domain);
  if (schema == nullptr || !schema->has_type_and_shape_inference_function())
    return {{}, fmt::format("{} is no operator whose shapes are known", name)};
  onnx::NodeProto node = written;
  std::vector<std::unique_ptr<onnx::TypeProto>> copies;
  std::unordered_map<std::string, onnx::TypeProto*> types;
  std::unordered_map<std::string, const onnx::TensorProto*> constants;
  for (const std::string& input : node.input()) {
    const GraphTensor* const tensor = scope.find(input);
    if (tensor == nullptr) continue;
    if (tensor->constant != nullptr) constants[input] = tensor->constant;
    if (tensor->type.value_case() == onnx::TypeProto::VALUE_NOT_SET) continue;
    copies.push_back(std::make_unique<onnx::TypeProto>(tensor->type));
    types[input] = copies.back().get();
  }
  try {
    schema->Verify(node);
    onnx::shape_inference::InferenceContextImpl context(node, types, constants, {}, &scope.shape_data,
                                                        nullptr);
    schema->GetTypeAndShapeInferenceFunction()(context);
    if (schema->has_data_propagation_function()) {
      onnx::shape_inference::DataPropagationContextImpl data(node, types, constants, scope.shape_data);
      schema->GetDataPropagationFunction()(data);
    }
    return {std::move(context.allOutputTypes_), ""};
  } catch (const std::exception& error) {
    std::string why = error.what();
    if (const size_t line = why.find('\n'); line != std::string::npos) why.resize(line);
    return {{}, fmt::format("ONNX's inference refuses {}: {}", name, why)};
  }
}

// How far a child came, seen by its parent too.
class Progress {
 public:
  Progress()
      : page_(::mmap(nullptr, sizeof(std::atomic<int64_t>), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (page_ != MAP_FAILED) count_ = new (page_) std::atomic<int64_t>(0);
  }
  ~Progress() {
    if (count_ != nullptr) ::munmap(page_, sizeof(std::atomic<int64_t>));
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  bool works() const { return count_ != nullptr; }
  std::atomic<int64_t>& count() const { return *count_; }

 private:
  void* page_;
  std::atomic<int64_t>* count_ = nullptr;
};

constexpr std::string_view crashed = "ONNX's inference crashes on it";

// The nodes, by their number in the order in which they are asked for, that libonnx is kept from.
struct Left {
  std::set<int64_t> crashing;
  int64_t end = INT64_MAX;  // this one and all after it
  bool has(int64_t number) const { return number >= end || crashing.contains(number); }
};

// In the child: types of all that is asked for, each with the reason where it is not known.
std::string infer_all(const onnx::ModelProto& model, const ModelOptions& options, const Left& left,
                      std::atomic<int64_t>& count) {
  onnx::GraphProto found;
  int64_t number = 0;
  const InferTypes infer = [&](const onnx::NodeProto& node, Scope& scope) -> InferredTypes {
    count = ++number;
    InferredTypes inferred;
    if (left.has(number)) inferred.why = crashed;
    if (!left.has(number)) inferred = infer_with_libonnx(node, scope);
    inferred.types.resize(static_cast<size_t>(node.output_size()));
    for (const onnx::TypeProto& type : inferred.types) {
      onnx::ValueInfoProto& info = *found.add_value_info();
      *info.mutable_type() = type;
      info.set_doc_string(inferred.why);
    }
    return inferred;
  };
  (void)Walk(model, options, infer).run();
  return found.SerializeAsString();
}

// What a child found, as the walk asks for it again.
ir::Result<OnnxModel> replay(const onnx::ModelProto& model, const ModelOptions& options,
                             const onnx::GraphProto& found) {
  int next = 0;
  const InferTypes infer = [&](const onnx::NodeProto& node, Scope&) -> InferredTypes {
    InferredTypes inferred;
    for (int i = 0; i < node.output_size() && next < found.value_info_size(); ++i, ++next) {
      inferred.types.push_back(found.value_info(next).type());
      inferred.why = found.value_info(next).doc_string();
    }
    return inferred;
  };
  return Walk(model, options, infer).run();
}

}  // namespace

ir::Result<OnnxModel> walk_with_inference(const onnx::ModelProto& model, const ModelOptions& options) {
  bool asks = false;
  const InferTypes none = [&](const onnx::NodeProto&, Scope&) {
    asks = true;
    return InferredTypes{{}, std::string(crashed)};
  };
  auto alone = Walk(model, options, none).run();
  if (!asks || !alone) return alone;

  constexpr double longest_seconds = 60;
  constexpr size_t most_crashes = 8;
  const Progress progress;
  Left left;
  for (size_t attempt = 0; progress.works(); ++attempt) {
    const auto end = runtime::run_in_child([&] { return infer_all(model, options, left, progress.count()); },
                                           longest_seconds);
    if (!end) return tl::unexpected(end.error());
    onnx::GraphProto found;
    if (!end->timed_out && end->signal == 0 && found.ParseFromString(end->said))
      return replay(model, options, found);
    if (attempt > most_crashes) break;
    left.crashing.insert(progress.count());
    if (end->timed_out || attempt == most_crashes) left.end = progress.count();
  }
  return alone;
}

}  // namespace pooljit::tools
