// ONNX's types of tensors: what is known of one, and what follows when two texts say something of the same
// one.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pooljit::tools {

using Types = std::map<std::string, onnx::TypeProto>;

// The dtype of a spec, or empty.
std::string_view dtype_of(int32_t element);
// Bytes of an element of such a dtype; 0 for others.
size_t element_bytes(int32_t element);
// "FLOAT8E4M3FN", or its number.
std::string element_name(int32_t element);

// Of a tensor; 0 where the type is not known.
int32_t element_of(const onnx::TypeProto& type);
// How many dims; none where the shape is not known.
std::optional<int> rank_of(const onnx::TypeProto& type);
std::optional<int64_t> extent_of(const onnx::TypeProto& type, int dim);
// Whether every dim has a number.
bool is_known(const onnx::TypeProto& type);

// Dims with -1 are not known.
onnx::TypeProto tensor_type(int32_t element, const std::vector<int64_t>& dims);
// "float32[1,3,?,?]"; "float32[...]" without a shape.
std::string type_text(const onnx::TypeProto& type);

// Whether both tell something about a dim, the rank or the element, and not the same.
bool contradict(const onnx::TypeProto& a, const onnx::TypeProto& b);
// What is not known in `type`, from `more`, which does not contradict it.
void fill(onnx::TypeProto& type, const onnx::TypeProto& more);
// What is known of a tensor that may be of either type.
onnx::TypeProto either(const onnx::TypeProto& a, const onnx::TypeProto& b);

}  // namespace pooljit::tools
