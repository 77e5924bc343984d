#include "runtime/scratch.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "ir/program.h"

namespace pooljit::runtime {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

void* of_this_thread() {
  static thread_local std::unique_ptr<void, Free> memory;
  if (!memory) memory.reset(std::aligned_alloc(ir::scratch_alignment, ir::most_scratch_bytes));
  return memory.get();
}

alignas(ir::scratch_alignment) unsigned char reserve[ir::most_scratch_bytes];
std::mutex reserve_mutex;

}  // namespace

Scratch::Scratch() : data_(of_this_thread()) {
  if (data_) return;
  reserved_ = std::unique_lock(reserve_mutex);
  data_ = reserve;
}

void forget_reserve_in_child() { new (&reserve_mutex) std::mutex; }

}  // namespace pooljit::runtime
