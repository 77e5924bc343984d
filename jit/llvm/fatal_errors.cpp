#include "jit/llvm/fatal_errors.h"

#include <llvm/Support/ErrorHandling.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string_view>

namespace pooljit::jit {

namespace {

thread_local bool in_our_work = false;

void throw_fatal_error(void*, const char* message, bool) {
  if (in_our_work) throw FatalError{message};
}

// May not return: LLVM would go on without the memory. Of others' work, the end that LLVM makes.
void throw_bad_alloc(void*, const char*, bool) {
  if (in_our_work) throw std::bad_alloc();
  constexpr std::string_view message = "LLVM ERROR: out of memory\n";
  static_cast<void>(!::write(STDERR_FILENO, message.data(), message.size()));
  std::abort();
}

}  // namespace

FatalErrorsThrow::FatalErrorsThrow() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(throw_fatal_error, nullptr);
    llvm::install_bad_alloc_error_handler(throw_bad_alloc, nullptr);
  });
  in_our_work = true;
}

FatalErrorsThrow::~FatalErrorsThrow() { in_our_work = false; }

}  // namespace pooljit::jit
