#include "jit/llvm/fatal_errors.h"

#include <llvm/Support/ErrorHandling.h>

#include <mutex>

namespace pooljit::jit {

namespace {

thread_local bool in_our_work = false;

void throw_fatal_error(void*, const char* message, bool) {
  if (in_our_work) throw FatalError{message};
}

}  // namespace

FatalErrorsThrow::FatalErrorsThrow() {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(throw_fatal_error, nullptr); });
  in_our_work = true;
}

FatalErrorsThrow::~FatalErrorsThrow() { in_our_work = false; }

}  // namespace pooljit::jit
