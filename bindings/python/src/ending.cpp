// The end of the interpreter, for threads that are in the module then. CPython ends a thread that waits for
// its lock by pthread_exit, which unwinds it: destructors of C++ would touch Python's objects without the
// lock. So each call of Python's that may wait for the lock goes through a function here (the linker's
// --wrap), which stops the unwinding and waits for the end of the process.
#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming): as the linker names them
#define CALL(result, function, parameters, arguments) \
  result __real_##function parameters;                \
  result __wrap_##function parameters {               \
    try {                                             \
      return __real_##function arguments;             \
    } catch (abi::__forced_unwind&) {                 \
      for (;;) ::pause();                             \
    }                                                 \
  }
#include "bindings/python/src/ending.def"
#undef CALL
// NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming)

}  // extern "C"
