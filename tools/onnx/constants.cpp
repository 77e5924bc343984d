#include "tools/onnx/constants.h"

#include <cstring>

namespace pooljit::tools {
namespace {

constexpr int64_t most_elements = 64;

// How many; none if the dims make no sense, or there are more than anything here has.
std::optional<size_t> elements_of(const onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t extent : tensor.dims()) {
    if (extent < 0 || extent > most_elements) return std::nullopt;
    count *= extent;
    if (count > most_elements) return std::nullopt;
  }
  return static_cast<size_t>(count);
}

// From raw bytes, or the field that numbers of the type are otherwise in.
template <typename T, typename Field>
std::optional<std::vector<T>> elements(const onnx::TensorProto& tensor, const Field& field) {
  const std::optional<size_t> count = elements_of(tensor);
  const std::string& raw = tensor.raw_data();
  if (!count || tensor.data_location() == onnx::TensorProto::EXTERNAL) return std::nullopt;
  std::vector<T> values(*count);
  if (*count != 0 && raw.size() == *count * sizeof(T)) {
    std::memcpy(values.data(), raw.data(), raw.size());
  } else {
    if (static_cast<size_t>(field.size()) != *count) return std::nullopt;
    for (size_t i = 0; i < *count; ++i) values[i] = static_cast<T>(field[static_cast<int>(i)]);
  }
  return values;
}

template <typename T, typename Field>
std::optional<double> single(const onnx::TensorProto& tensor, const Field& field) {
  const auto values = elements<T>(tensor, field);
  return values && values->size() == 1 ? std::optional(static_cast<double>((*values)[0])) : std::nullopt;
}

}  // namespace

std::optional<std::vector<int64_t>> integers_of(const onnx::TensorProto& tensor) {
  if (tensor.data_type() == onnx::TensorProto::INT64) return elements<int64_t>(tensor, tensor.int64_data());
  if (tensor.data_type() != onnx::TensorProto::INT32) return std::nullopt;
  const auto values = elements<int32_t>(tensor, tensor.int32_data());
  if (!values) return std::nullopt;
  return std::vector<int64_t>(values->begin(), values->end());
}

std::optional<double> number_of(const onnx::TensorProto& tensor) {
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      return single<float>(tensor, tensor.float_data());
    case onnx::TensorProto::UINT8:
      return single<uint8_t>(tensor, tensor.int32_data());
    case onnx::TensorProto::INT8:
      return single<int8_t>(tensor, tensor.int32_data());
    case onnx::TensorProto::UINT16:
      return single<uint16_t>(tensor, tensor.int32_data());
    case onnx::TensorProto::INT16:
      return single<int16_t>(tensor, tensor.int32_data());
    case onnx::TensorProto::INT32:
      return single<int32_t>(tensor, tensor.int32_data());
    default:
      return std::nullopt;
  }
}

const onnx::TensorProto* value_of(const onnx::NodeProto& constant, std::deque<onnx::TensorProto>& made) {
  for (const onnx::AttributeProto& attribute : constant.attribute()) {
    const std::string& name = attribute.name();
    if (name == "value" && attribute.has_t()) return &attribute.t();
    const bool is_list = name.ends_with("s"), is_float = name.starts_with("value_float");
    if (!is_float && name != "value_int" && name != "value_ints") continue;
    onnx::TensorProto& tensor = made.emplace_back();
    tensor.set_data_type(is_float ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
    if (is_list) tensor.add_dims(is_float ? attribute.floats_size() : attribute.ints_size());
    if (is_list) *tensor.mutable_float_data() = attribute.floats();
    if (is_list) *tensor.mutable_int64_data() = attribute.ints();
    if (!is_list && is_float) tensor.add_float_data(attribute.f());
    if (!is_list && !is_float) tensor.add_int64_data(attribute.i());
    return &tensor;
  }
  return nullptr;
}

}  // namespace pooljit::tools
