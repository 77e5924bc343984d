#include "tools/onnx/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ir/append.h"

namespace pooljit::tools {
namespace {

struct ElementType {
  int32_t onnx;
  std::string_view dtype;
  size_t bytes;
};
constexpr ElementType element_types[] = {
    {onnx::TensorProto::FLOAT, "float32", 4},   {onnx::TensorProto::DOUBLE, "float64", 8},
    {onnx::TensorProto::FLOAT16, "float16", 2}, {onnx::TensorProto::BFLOAT16, "bfloat16", 2},
    {onnx::TensorProto::UINT8, "uint8", 1},     {onnx::TensorProto::INT8, "int8", 1},
    {onnx::TensorProto::INT16, "int16", 2},     {onnx::TensorProto::INT32, "int32", 4},
    {onnx::TensorProto::INT64, "int64", 8},
};
// TensorProto.DataType of later versions than libonnx may know.
constexpr std::string_view later_names[] = {"FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
                                            "UINT4",        "INT4",           "FLOAT4E2M1"};
constexpr int32_t first_later = 17;

const ElementType* find_type(int32_t element) {
  const auto row = std::find_if(std::begin(element_types), std::end(element_types),
                                [&](const ElementType& each) { return each.onnx == element; });
  return row == std::end(element_types) ? nullptr : row;
}

const onnx::TensorShapeProto& dims_of(const onnx::TypeProto& type) { return type.tensor_type().shape(); }

}  // namespace

std::string_view dtype_of(int32_t element) {
  const ElementType* const found = find_type(element);
  return found == nullptr ? "" : found->dtype;
}

size_t element_bytes(int32_t element) {
  const ElementType* const found = find_type(element);
  return found == nullptr ? 0 : found->bytes;
}

std::string element_name(int32_t element) {
  if (onnx::TensorProto::DataType_IsValid(element))
    return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(element));
  const int32_t later = element - first_later;
  if (later >= 0 && later < std::ssize(later_names)) return std::string(later_names[later]);
  return fmt::format("number {}", element);
}

int32_t element_of(const onnx::TypeProto& type) { return type.tensor_type().elem_type(); }

std::optional<int> rank_of(const onnx::TypeProto& type) {
  if (!type.tensor_type().has_shape()) return std::nullopt;
  return dims_of(type).dim_size();
}

std::optional<int64_t> extent_of(const onnx::TypeProto& type, int dim) {
  if (dim >= dims_of(type).dim_size()) return std::nullopt;
  const auto& extent = dims_of(type).dim(dim);
  // Some exporters write -1 for what they do not know.
  if (!extent.has_dim_value() || extent.dim_value() < 0) return std::nullopt;
  return extent.dim_value();
}

bool is_known(const onnx::TypeProto& type) {
  const std::optional<int> rank = rank_of(type);
  for (int i = 0; i < rank.value_or(0); ++i)
    if (!extent_of(type, i)) return false;
  return rank.has_value();
}

onnx::TypeProto tensor_type(int32_t element, const std::vector<int64_t>& dims) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(element);
  auto* const shape = type.mutable_tensor_type()->mutable_shape();
  for (const int64_t extent : dims)
    if (auto* const dim = shape->add_dim(); extent >= 0) dim->set_dim_value(extent);
  return type;
}

std::string type_text(const onnx::TypeProto& type) {
  const std::string_view dtype = dtype_of(element_of(type));
  std::string text = dtype.empty() ? element_name(element_of(type)) : std::string(dtype);
  if (!rank_of(type)) return text + "[...]";
  text += "[";
  for (int i = 0; i < *rank_of(type); ++i) {
    const std::optional<int64_t> extent = extent_of(type, i);
    const std::string& name = dims_of(type).dim(i).dim_param();
    ir::append(text, "{}{}", i == 0 ? "" : ",", extent ? std::to_string(*extent) : name.empty() ? "?" : name);
  }
  return text + "]";
}

bool contradict(const onnx::TypeProto& a, const onnx::TypeProto& b) {
  if (element_of(a) != 0 && element_of(b) != 0 && element_of(a) != element_of(b)) return true;
  if (!rank_of(a) || !rank_of(b)) return false;
  if (rank_of(a) != rank_of(b)) return true;
  for (int i = 0; i < *rank_of(a); ++i)
    if (extent_of(a, i) && extent_of(b, i) && extent_of(a, i) != extent_of(b, i)) return true;
  return false;
}

void fill(onnx::TypeProto& type, const onnx::TypeProto& more) {
  if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) {
    type = more;
    return;
  }
  if (!type.has_tensor_type() || !more.has_tensor_type()) return;
  if (element_of(type) == 0) type.mutable_tensor_type()->set_elem_type(element_of(more));
  if (!rank_of(more)) return;
  const bool has_rank = rank_of(type).has_value();
  auto* const shape = type.mutable_tensor_type()->mutable_shape();
  if (!has_rank) *shape = dims_of(more);
  for (int i = 0; i < std::min(shape->dim_size(), dims_of(more).dim_size()); ++i)
    if (!extent_of(type, i)) *shape->mutable_dim(i) = dims_of(more).dim(i);
}

onnx::TypeProto either(const onnx::TypeProto& a, const onnx::TypeProto& b) {
  onnx::TypeProto type;
  if (a.value_case() != b.value_case() || element_of(a) != element_of(b)) return type;
  if (!a.has_tensor_type()) return a;
  type.mutable_tensor_type()->set_elem_type(element_of(a));
  if (!rank_of(a) || rank_of(a) != rank_of(b)) return type;
  auto* const shape = type.mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < *rank_of(a); ++i) {
    auto* const dim = shape->add_dim();
    if (dims_of(a).dim(i).SerializeAsString() == dims_of(b).dim(i).SerializeAsString())
      *dim = dims_of(a).dim(i);
  }
  return type;
}

}  // namespace pooljit::tools
