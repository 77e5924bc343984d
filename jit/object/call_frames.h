// Unwind tables: how a debugger, a profiler or backtrace() finds the caller of code of ours, at every
// instruction of it. DWARF's call frame information (DWARF 5, section 6.4; .eh_frame as the x86-64 psABI has
// it), with the one common entry that compilers write for x86-64 too: code factor 1, data factor -8, and at
// the entry the return address at rsp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pooljit::jit {

// Writes down a function's frame in the order of its instructions. Registers by hardware number.
class FrameWriter {
 public:
  // After the instruction that ends at `offset` of the function, the stack is `bytes` deeper (or, negative,
  // less deep) ...
  void adjust(size_t offset, int64_t bytes);
  // ... and the register that it saved is there.
  void push(size_t offset, int reg);
  // From there on the frame is found by a register that stays, which now equals the stack pointer ...
  void set_base(size_t offset, int reg);
  // ... until all is as at the entry.
  void reset(size_t offset);

  std::vector<uint8_t> take() { return std::move(instructions_); }

 private:
  void advance(size_t offset);

  std::vector<uint8_t> instructions_;
  size_t at_ = 0;
  int64_t depth_ = 8;  // from the stack pointer to the caller's: the return address
  bool has_base_ = false;
};

struct FrameOfFunction {
  size_t begin = 0, bytes = 0;            // in the code
  std::span<const uint8_t> instructions;  // FrameWriter's, or a compiler's with the same common entry
};

// An .eh_frame section, without the zero that ends one. At each of `begins`, 4 bytes wait for the distance
// from themselves to the function of that number.
struct FrameTable {
  std::vector<uint8_t> bytes;
  std::vector<size_t> begins;
};
FrameTable frame_table(std::span<const FrameOfFunction> functions);

// The call frame instructions of the only function in a compiler's .eh_frame; empty where the section has
// none, or another common entry than ours.
std::span<const uint8_t> only_frame(std::span<const uint8_t> eh_frame);

}  // namespace pooljit::jit
