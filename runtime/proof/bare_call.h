// Calls machine code as its worst caller would. Patterns in all vector and mask registers show one that is
// read before it is written. Inaccessible pages behind the constant tables show a read beyond them.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/error.h"
#include "runtime/code.h"
#include "runtime/proof/guarded_buffer.h"

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
