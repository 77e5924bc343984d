// A layer as engines of other people see it (include/pooljit_engine.h), and the texts that it points to.
#pragma once

#include <string>

#include "frontend/pool_spec.h"
#include "pooljit_engine.h"

namespace pooljit::tools {

class EngineLayer {
 public:
  explicit EngineLayer(const frontend::PoolSpec& spec);  // not an unpool
  EngineLayer(const EngineLayer&) = delete;
  EngineLayer& operator=(const EngineLayer&) = delete;

  const pooljit_engine_layer* get() const { return &layer_; }
  const ir::PoolNest& nest() const { return nest_; }

 private:
  std::string text_, other_;
  ir::PoolNest nest_;
  pooljit_engine_layer layer_ = {};
};

}  // namespace pooljit::tools
