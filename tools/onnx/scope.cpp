#include "tools/onnx/scope.h"

namespace pooljit::tools {

const GraphTensor* Scope::find(const std::string& name) const {
  if (name.empty()) return nullptr;  // an input that is left out
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_)
    if (const auto found = scope->tensors_.find(name); found != scope->tensors_.end()) return &found->second;
  return nullptr;
}

bool Scope::define(const std::string& name, GraphTensor tensor) {
  if (tensor.id.empty()) tensor.id = path + name;
  return tensors_.try_emplace(name, std::move(tensor)).second;
}

int64_t Scope::opset(const std::string& domain) const {
  const auto found = opsets.find(domain);
  return found == opsets.end() ? 0 : found->second;
}

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string name_of(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 && !node.output(0).empty() ? node.output(0) : node.op_type();
}

}  // namespace pooljit::tools
