// LLVM ends the process on a "fatal error" (report_fatal_error: an instruction that cannot be selected) and
// if it gets no memory. A library must not: here the former becomes an ir::Error, the latter std::bad_alloc.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "ir/error.h"

namespace pooljit::jit {

struct FatalError {
  std::string message;
};

// While one lives, a fatal error on this thread throws FatalError and a lack of memory std::bad_alloc; on
// other threads LLVM still ends the process.
class FatalErrorsThrow {
 public:
  FatalErrorsThrow();
  ~FatalErrorsThrow();
  FatalErrorsThrow(const FatalErrorsThrow&) = delete;
  FatalErrorsThrow& operator=(const FatalErrorsThrow&) = delete;
};

// A T that is destroyed at the end of its scope, unless an exception leaves the scope. LLVM is built without
// unwinding, so its objects cannot be destroyed safely then, and T is leaked on purpose.
template <typename T>
class LeftIfThrown {
 public:
  template <typename... Arguments>
  explicit LeftIfThrown(Arguments&&... arguments)
      : exceptions_(std::uncaught_exceptions()),
        value_(std::make_unique<T>(std::forward<Arguments>(arguments)...)) {}
  ~LeftIfThrown() {
    if (std::uncaught_exceptions() > exceptions_) static_cast<void>(value_.release());
  }
  LeftIfThrown(const LeftIfThrown&) = delete;
  LeftIfThrown& operator=(const LeftIfThrown&) = delete;
  T& operator*() { return *value_; }
  T* operator->() { return value_.get(); }

 private:
  const int exceptions_;
  std::unique_ptr<T> value_;
};

// Leaks the objects that LLVM keeps for this thread: the next compilation makes new ones. Defined in
// target.cpp.
void leave_target_machines();

// work(state) with a fresh State. Throws std::bad_alloc.
template <typename T, typename State, typename Work>
ir::Result<T> with_fatal_errors_as_values(Work&& work) {
  try {
    const FatalErrorsThrow scope;
    LeftIfThrown<State> state;
    return work(*state);
  } catch (const std::bad_alloc&) {
    leave_target_machines();
    throw;
  } catch (const FatalError& error) {
    return ir::unsupported("jit.llvm.fatal", error.message, "use backend=xbyak");
  }
}

}  // namespace pooljit::jit
