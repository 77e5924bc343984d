// Calls machine code as its worst caller would: with patterns in all vector and mask registers, so that one
// which is read before it is written shows, and with its constant tables against inaccessible pages, so that
// a read beyond them does.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/error.h"
#include "runtime/code.h"
#include "runtime/guarded_buffer.h"

namespace pooljit::runtime {

class BareCall {
 public:
  // Copies the tables. Errors: "system.memory".
  static ir::Result<BareCall> make(const Code& code);
  // `pattern` is in every byte of the registers. Code that is no machine code is run as it is.
  void run(const Call& call, const TaskRanges& ranges, uint8_t pattern) const;

 private:
  explicit BareCall(const Code& code) : code_(code) {}
  const Code& code_;
  std::vector<GuardedBuffer> tables_;
};

}  // namespace pooljit::runtime
