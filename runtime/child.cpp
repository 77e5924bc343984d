#include "runtime/child.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>

namespace pooljit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// A child that another thread forks meanwhile would keep our pipe open until it ends.
std::mutex forking;

// No exception may leave: it would run what the parent has on its stack.
[[noreturn]] void say(const std::function<std::string()>& work, int to_parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT}) ::signal(signal, SIG_DFL);
  const std::string text = work();
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t some = ::write(to_parent, text.data() + written, text.size() - written);
    if (some <= 0 && errno != EINTR) break;
    if (some > 0) written += size_t(some);
  }
  ::_exit(0);
}

// Everything that the child writes until it ends; nothing if it is late.
std::optional<std::string> read_all(int from_child, const std::function<bool()>& is_late) {
  constexpr int patience = 100;  // milliseconds
  std::string text;
  while (!is_late()) {
    pollfd waiting = {from_child, POLLIN, 0};
    if (::poll(&waiting, 1, patience) <= 0) continue;
    char buffer[4096];
    const ssize_t some = ::read(from_child, buffer, sizeof buffer);
    if (some == 0) return text;
    if (some > 0) text.append(buffer, size_t(some));
  }
  return std::nullopt;
}

}  // namespace

ir::Result<ChildEnd> run_in_child(const std::function<std::string()>& work, double seconds) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(std::min(seconds, 1e6)));
  return run_in_child(work, [end] { return Clock::now() >= end; });
}

ir::Result<ChildEnd> run_in_child(const std::function<std::string()>& work,
                                  const std::function<bool()>& is_late) {
  const auto refuse = [](const char* what) {
    return ir::system_error("system.process", fmt::format("{}: {}", what, std::strerror(errno)));
  };
  int pipe[2];
  std::unique_lock lock(forking);
  if (::pipe(pipe) != 0) return refuse("no pipe");
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(pipe[0]);
    ::close(pipe[1]);
    return refuse("no child process");
  }
  if (child == 0) {
    ::close(pipe[0]);
    say(work, pipe[1]);
  }
  ::close(pipe[1]);
  lock.unlock();
  std::optional<std::string> text = read_all(pipe[0], is_late);
  ::close(pipe[0]);
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text) return ChildEnd{"", 0, true};
  return ChildEnd{std::move(*text), WIFSIGNALED(status) ? WTERMSIG(status) : 0, false};
}

void forget_children_in_child() { new (&forking) std::mutex; }

}  // namespace pooljit::runtime
