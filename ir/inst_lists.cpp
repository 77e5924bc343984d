#include "ir/inst_lists.h"

#include <utility>

namespace pooljit::ir {
namespace {

constexpr size_t most_kept = 2, most_insts = 1024;

// True from when a thread's lists went: what ends after them may still compile.
thread_local bool is_over = false;

struct Kept {
  ~Kept() { is_over = true; }
  std::vector<std::vector<Inst>> lists;
};
thread_local Kept kept;

}  // namespace

std::vector<Inst> spare_insts() {
  if (is_over || kept.lists.empty()) return {};
  std::vector<Inst> insts = std::move(kept.lists.back());
  kept.lists.pop_back();
  return insts;
}

void give_back(std::vector<Inst>&& insts) {
  if (is_over || kept.lists.size() == most_kept || insts.capacity() > most_insts) return;
  insts.clear();
  kept.lists.push_back(std::move(insts));
}

}  // namespace pooljit::ir
