// Fields of ONNX's format that came after the version of libonnx that is built against.
#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <string>

namespace pooljit::tools {

// Domain, name and overload (since version 10 of the format) of a function, and of what a node calls.
std::string function_key(const onnx::FunctionProto& function);
std::string function_key(const onnx::NodeProto& node);

// What attributes of a function are where a call gives none (since version 9 of the format).
std::deque<onnx::AttributeProto> default_attributes(const onnx::FunctionProto& function);

}  // namespace pooljit::tools
