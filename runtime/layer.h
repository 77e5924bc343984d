// A layer as data (include/pooljit_layer.h): what a spec looks like to engines and to callers in C, and the
// way back.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "pooljit_layer.h"

namespace pooljit::runtime {

// The struct of a spec, and the texts that it points to.
class LayerStruct {
 public:
  explicit LayerStruct(const frontend::PoolSpec& spec);
  LayerStruct(const LayerStruct&) = delete;
  LayerStruct& operator=(const LayerStruct&) = delete;

  const pooljit_layer* get() const { return &layer_; }
  const ir::PoolNest& nest() const { return nest_; }

 private:
  std::string text_, other_;
  ir::PoolNest nest_;
  pooljit_layer layer_ = {};
};

// The same of several pools, each a layer of its own.
class PoolsStruct {
 public:
  explicit PoolsStruct(const frontend::PoolSpec& spec);
  PoolsStruct(const PoolsStruct&) = delete;
  PoolsStruct& operator=(const PoolsStruct&) = delete;

  const pooljit_pools* get() const { return &pools_; }

 private:
  std::deque<LayerStruct> layers_;
  std::vector<pooljit_layer> members_;
  pooljit_pools pools_ = {};
};

// One tensor of it: shape and strides as ir::View has them.
pooljit_tensor tensor_of(const ir::View& view, const std::vector<int64_t>& shape, int64_t batch);

// Bit d: spatial dim d is free.
int32_t free_dims_of(const frontend::PoolSpec& spec);
// For a spec with free dims: clears the fields of a tensor that depend on the size. `known`: its shape with 0
// for unknown extents; has_strides: the spec gives them, and they are those of all sizes.
void forget_sizes(const std::vector<int64_t>& known, bool has_strides, pooljit_tensor& tensor);

// The spec that the fields say, checked. A field that nothing would read is an error. Errors: "layer.size",
// "layer.field", "spec.*".
ir::Result<frontend::PoolSpec> spec_of(const pooljit_layer& layer);
ir::Result<frontend::PoolSpec> spec_of(const pooljit_pools& pools);

}  // namespace pooljit::runtime
