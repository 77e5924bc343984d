// DequantizeLinear, a pool and QuantizeLinear: three nodes that mean one quantised pool.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/onnx/model.h"
#include "tools/onnx/scope.h"

namespace pooljit::tools {

// What a walk finds of them.
class Quantizations {
 public:
  // A node whose outputs are defined: its inputs are read, and it may be one of the two.
  void note(const onnx::NodeProto& node, const Scope& scope);
  // A tensor that a graph hands out.
  void note_use(const Scope& scope, const std::string& name);

  struct Mark {
    size_t linear, uses;
  };
  Mark mark() const { return {linear_.size(), uses_.size()}; }
  void take_back(const Mark& mark);

  // Each node between the two becomes the pool of their integers: an average where both have one scale and
  // one zero point, which are constants; a maximum where those are equal too. Nothing else may read what is
  // between.
  void fuse(std::vector<PoolNode>& nodes) const;

 private:
  // A DequantizeLinear, or a QuantizeLinear.
  struct Linear {
    std::string node, input, output;
    bool dequantizes;
    int32_t element;  // of the integers
    double scale;
    int64_t zero_point;
  };

  std::vector<Linear> linear_;
  std::vector<std::string> uses_;  // tensors, once for each node that reads it
};

}  // namespace pooljit::tools
