// fork(): a child runs the kernels that it inherits and compiles others, whatever the parent's other threads
// were doing.
#pragma once

namespace pooljit::runtime {

// Tells the system of it all; once, when the library is loaded, before any thread can be inside.
struct ForkHandlers {
  ForkHandlers();
};

}  // namespace pooljit::runtime
