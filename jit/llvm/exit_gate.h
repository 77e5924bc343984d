// The process ends: exit() ends LLVM's own statics too, beside threads that compile.
#pragma once

namespace pooljit::jit {

// While one lives, LLVM is whole: exit() waits for it, and refuses those who come after.
class LlvmInUse {
 public:
  LlvmInUse();
  ~LlvmInUse();
  LlvmInUse(const LlvmInUse&) = delete;
  LlvmInUse& operator=(const LlvmInUse&) = delete;

  bool is_refused() const { return is_refused_; }

 private:
  bool is_refused_;
};

}  // namespace pooljit::jit
