#include "jit/fork_gate.h"

#include <pthread.h>

#include <utility>

namespace pooljit::jit {
namespace {

// Of the system's types, because a child makes it anew: its other threads are not there to leave or to wake.
struct Gate {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  int inside = 0;  // threads that hold forks
  bool is_closed = false;
};
constinit Gate gate;
thread_local int depth = 0;

void enter() {
  pthread_mutex_lock(&gate.mutex);
  while (gate.is_closed) pthread_cond_wait(&gate.changed, &gate.mutex);
  ++gate.inside;
  pthread_mutex_unlock(&gate.mutex);
}

void leave() {
  pthread_mutex_lock(&gate.mutex);
  if (--gate.inside == 0) pthread_cond_broadcast(&gate.changed);
  pthread_mutex_unlock(&gate.mutex);
}

}  // namespace

HoldForks::HoldForks() {
  if (depth == 0) enter();
  ++depth;
}
HoldForks::~HoldForks() {
  if (--depth == 0) leave();
}

LetForks::LetForks() : depth_(std::exchange(depth, 0)) {
  if (depth_ > 0) leave();
}
LetForks::~LetForks() {
  if (depth_ > 0) enter();
  depth = depth_;
}

// A thread that holds forks itself would wait for itself.
void close_fork_gate() {
  if (depth > 0) return;
  pthread_mutex_lock(&gate.mutex);
  while (gate.is_closed) pthread_cond_wait(&gate.changed, &gate.mutex);
  gate.is_closed = true;
  while (gate.inside > 0) pthread_cond_wait(&gate.changed, &gate.mutex);
  pthread_mutex_unlock(&gate.mutex);
}

void open_fork_gate_in_parent() {
  if (depth > 0) return;
  pthread_mutex_lock(&gate.mutex);
  gate.is_closed = false;
  pthread_cond_broadcast(&gate.changed);
  pthread_mutex_unlock(&gate.mutex);
}

void open_fork_gate_in_child() {
  gate = Gate();
  gate.inside = depth > 0 ? 1 : 0;
}

std::mutex& gdb_mutex() {
  static constinit std::mutex mutex;
  return mutex;
}
std::mutex& unwinder_mutex() {
  static constinit std::mutex mutex;
  return mutex;
}

}  // namespace pooljit::jit
