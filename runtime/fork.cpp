#include "runtime/fork.h"

#include <pthread.h>

#include "jit/fork_gate.h"
#include "runtime/cache.h"
#include "runtime/child.h"
#include "runtime/free_kernel.h"
#include "runtime/scratch.h"
#include "runtime/threads.h"

namespace pooljit::runtime {
namespace {

// In the order in which all others take them.
void before_fork() {
  jit::close_fork_gate();
  cache().before_fork();
  lock_sizes_before_fork();
  jit::gdb_mutex().lock();
  jit::unwinder_mutex().lock();
}

void unlock() {
  jit::unwinder_mutex().unlock();
  jit::gdb_mutex().unlock();
}

void in_parent() {
  unlock();
  unlock_sizes_in_parent();
  cache().after_fork_in_parent();
  jit::open_fork_gate_in_parent();
}

// Frees nothing: a sanitizer's allocator may be in no state to.
void in_child() {
  unlock();
  unlock_sizes_in_child();
  cache().after_fork_in_child();
  forget_reserve_in_child();
  forget_children_in_child();
  forget_pools_in_child();
  jit::open_fork_gate_in_child();
}

}  // namespace

ForkHandlers::ForkHandlers() { pthread_atfork(before_fork, in_parent, in_child); }

}  // namespace pooljit::runtime
