// Every back end of this build on every instruction set that this machine runs.
#pragma once

#include <vector>

#include "runtime/cpu_features.h"
#include "runtime/engines.h"

namespace pooljit::runtime {

inline std::vector<Choices> native_choices() {
  std::vector<Choices> all;
  for (const EngineInfo& engine : engines())
    for (const ir::IsaInfo& isa : ir::isa_table)
      if (engine.is_native && is_built(engine.engine) && can_run(isa.isa))
        all.push_back({engine.engine, isa.isa, std::nullopt});
  return all;
}

}  // namespace pooljit::runtime
