// The end of the process: exit() destroys LLVM's own statics too, while threads may still compile.
#pragma once

namespace pooljit::jit {

// While one lives, exit() waits, so LLVM's statics are there. One that is made after exit() has begun is
// refused.
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
