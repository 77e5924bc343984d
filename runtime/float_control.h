// FloatControl: while it lives, its thread computes as docs/semantics.md says, whatever the caller's control
// word (MXCSR): nearest even, denormals kept, exceptions masked. Costs a few nanoseconds if the word already
// is so.
//
// Its destructor restores the caller's word and adds the exception flags that were raised meanwhile, as IEEE
// 754 has it. Flags that other threads raised are not among them.
#pragma once

#include <xmmintrin.h>

namespace pooljit::runtime {

class FloatControl {
 public:
  FloatControl() : caller_(_mm_getcsr()) {
    if (differs()) [[unlikely]]
      _mm_setcsr(standard | (caller_ & flags));
  }
  ~FloatControl() {
    if (differs()) [[unlikely]]
      _mm_setcsr(caller_ | (_mm_getcsr() & flags));
  }
  FloatControl(const FloatControl&) = delete;
  FloatControl& operator=(const FloatControl&) = delete;

 private:
  static constexpr unsigned flags = 0x3f;       // of exceptions that happened
  static constexpr unsigned standard = 0x1f80;  // the ABI's: all exceptions masked, no more

  bool differs() const { return (caller_ & ~flags) != standard; }

  const unsigned caller_;
};

}  // namespace pooljit::runtime
