#include "tools/onnx/later_fields.h"

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include <vector>

#include "tools/onnx/scope.h"

namespace pooljit::tools {
namespace {

using google::protobuf::Message;

// The bytes of each value of a field of strings or messages, whether or not libonnx knows it.
std::vector<std::string> values_of(const Message& message, int number) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<std::string> values;
  if (const auto* const field = message.GetDescriptor()->FindFieldByNumber(number); field != nullptr) {
    if (!field->is_repeated()) return {reflection.GetString(message, field)};
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      values.push_back(reflection.GetRepeatedMessage(message, field, i).SerializeAsString());
    return values;
  }
  const google::protobuf::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == number &&
        unknown.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      values.push_back(unknown.field(i).length_delimited());
  return values;
}

std::string key(const std::string& domain, const std::string& name,
                const std::vector<std::string>& overload) {
  return fmt::format("{}:{}:{}", domain_of(domain), name, overload.empty() ? "" : overload.back());
}

}  // namespace

std::string function_key(const onnx::FunctionProto& function) {
  constexpr int overload = 13;
  return key(function.domain(), function.name(), values_of(function, overload));
}

std::string function_key(const onnx::NodeProto& node) {
  constexpr int overload = 8;
  return key(node.domain(), node.op_type(), values_of(node, overload));
}

std::deque<onnx::AttributeProto> default_attributes(const onnx::FunctionProto& function) {
  constexpr int attribute_proto = 11;
  std::deque<onnx::AttributeProto> attributes;
  for (const std::string& bytes : values_of(function, attribute_proto))
    if (onnx::AttributeProto attribute; attribute.ParseFromString(bytes)) attributes.push_back(attribute);
  return attributes;
}

}  // namespace pooljit::tools
