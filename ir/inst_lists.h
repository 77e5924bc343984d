// Instruction lists that a thread's next compile uses again: the three or four that one needs are large
// enough for malloc to fetch their pages from the system, and give them back, each time.
#pragma once

#include <vector>

#include "ir/program.h"

namespace pooljit::ir {

// An empty list, of which this thread keeps some with room in them.
std::vector<Inst> spare_insts();

// Takes back one that is no longer needed. At most two are kept per thread, about 190 KB each; longer ones
// go.
void give_back(std::vector<Inst>&& insts);

}  // namespace pooljit::ir
