#include "tools/onnx_bytes.h"

#include <bit>

namespace pooljit::tools {
namespace {

// Protocol buffers: each field is a key, number and wire type, and a value. onnx.proto has the numbers.
class Message {
 public:
  Message& number(int field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view bytes) {
    key(field, 2);
    varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& message(int field, const Message& inner) { return text(field, inner.bytes_); }
  Message& real(int field, float value) {
    key(field, 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, int wire_type) { varint(static_cast<uint64_t>(field) << 3 | unsigned(wire_type)); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// AttributeProto: name, f = 2, i = 3, s = 4, ints = 8, and in 20 which of them it is.
Message attribute(const std::string& name, const NodeAttribute& value) {
  enum Type : uint8_t { real = 1, integer = 2, text = 3, integers = 7 };
  Message message;
  message.text(1, name);
  if (const auto* i = std::get_if<int64_t>(&value)) return message.number(3, *i).number(20, integer);
  if (const auto* f = std::get_if<float>(&value)) return message.real(2, *f).number(20, real);
  if (const auto* s = std::get_if<std::string>(&value)) return message.text(4, *s).number(20, text);
  for (const int64_t one : std::get<std::vector<int64_t>>(value)) message.number(8, one);
  return message.number(20, integers);
}

// ValueInfoProto.
Message tensor(const NodeTensor& info) {
  Message shape;
  for (const int64_t dim : info.dims) shape.message(1, Message().number(1, dim));
  return Message()
      .text(1, info.name)
      .message(2, Message().message(1, Message().number(1, onnx_type(info.dtype)).message(2, shape)));
}

}  // namespace

int onnx_type(std::string_view dtype) {
  constexpr std::pair<std::string_view, int> types[] = {{"float32", 1},  {"uint8", 2},    {"int8", 3},
                                                        {"int16", 5},    {"int32", 6},    {"int64", 7},
                                                        {"float16", 10}, {"float64", 11}, {"bfloat16", 16}};
  for (const auto& [name, number] : types)
    if (name == dtype) return number;
  return 0;
}

std::string model_bytes(const NodeModel& model) {
  constexpr int64_t ir_version = 8;
  Message node, graph;
  for (const NodeTensor& input : model.inputs) node.text(1, input.name);
  for (const NodeTensor& output : model.outputs) node.text(2, output.name);
  node.text(4, model.op_type);
  for (const auto& [name, value] : model.attributes) node.message(5, attribute(name, value));
  node.text(7, model.domain);
  graph.message(1, node).text(2, "pooljit");
  for (const NodeTensor& input : model.inputs) graph.message(11, tensor(input));
  for (const NodeTensor& output : model.outputs) graph.message(12, tensor(output));
  Message whole;
  whole.number(1, ir_version).text(2, "pooljit").message(7, graph);
  whole.message(8, Message().text(1, model.domain).number(2, model.opset));
  if (!model.domain.empty()) whole.message(8, Message().text(1, "").number(2, 22));
  return whole.bytes();
}

}  // namespace pooljit::tools
