// LLVM ends the process on a "fatal error" (report_fatal_error: an instruction that cannot be selected). A
// library must not: here it becomes an ir::Error.
#pragma once

#include <memory>
#include <string>

#include "ir/error.h"

namespace pooljit::jit {

struct FatalError {
  std::string message;
};

// While one lives, a fatal error on this thread throws FatalError; on other threads LLVM behaves as ever.
class FatalErrorsThrow {
 public:
  FatalErrorsThrow();
  ~FatalErrorsThrow();
  FatalErrorsThrow(const FatalErrorsThrow&) = delete;
  FatalErrorsThrow& operator=(const FatalErrorsThrow&) = delete;
};

// work(state) with a fresh State. LLVM is built without unwinding, so after a fatal error its objects cannot
// be destroyed safely: State is then left behind on purpose.
template <typename T, typename State, typename Work>
ir::Result<T> with_fatal_errors_as_values(Work&& work) {
  auto state = std::make_unique<State>();
  try {
    const FatalErrorsThrow scope;
    return work(*state);
  } catch (const FatalError& error) {
    static_cast<void>(state.release());
    return ir::unsupported("jit.llvm.fatal", error.message, "use backend=xbyak");
  }
}

}  // namespace pooljit::jit
