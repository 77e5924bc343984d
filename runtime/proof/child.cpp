#include "runtime/proof/child.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>

namespace pooljit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// One line of numbers, then the failure or the error.
std::string to_text(const ir::Result<ProbeReport>& report) {
  if (!report) return fmt::format("error {}", report.error().message);
  std::string text = "report";
  for (int64_t count : report->probes) text += fmt::format(" {}", count);
  const Rounds& rounds = report->rounds;
  return text + fmt::format(" {} {} {} {} {} {} {}", report->runs, report->batch, rounds.rounds,
                            rounds.log2_error, rounds.range, int{rounds.one_fault}, report->failure);
}

std::optional<ir::Result<ProbeReport>> from_text(const std::string& text) {
  std::istringstream in(text);
  std::string kind, rest;
  in >> kind;
  if (kind == "error") {
    std::getline(in >> std::ws, rest);
    return ir::system_error("system.memory", rest);
  }
  ProbeReport report;
  for (int64_t& count : report.probes) in >> count;
  Rounds& rounds = report.rounds;
  in >> report.runs >> report.batch >> rounds.rounds >> rounds.log2_error >> rounds.range >> rounds.one_fault;
  if (kind != "report" || !in) return std::nullopt;
  std::getline(in >> std::ws, report.failure);
  return report;
}

[[noreturn]] void work(const Code& code, int64_t batch, int to_parent) {
  // A crash is this process's own business, whatever handlers the application has.
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) ::signal(signal, SIG_DFL);
  const std::string text = to_text(probe(code, batch));
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t some = ::write(to_parent, text.data() + written, text.size() - written);
    if (some <= 0 && errno != EINTR) break;
    if (some > 0) written += size_t(some);
  }
  ::_exit(0);
}

// Everything that the child writes until it ends; nothing if the time is over first.
std::optional<std::string> read_all(int from_child, Clock::time_point end) {
  std::string text;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting = {from_child, POLLIN, 0};
    if (left <= 0) return std::nullopt;
    if (::poll(&waiting, 1, int(std::min<int64_t>(left, 1000))) <= 0) continue;
    char buffer[4096];
    const ssize_t some = ::read(from_child, buffer, sizeof buffer);
    if (some == 0) return text;
    if (some > 0) text.append(buffer, size_t(some));
  }
}

ProbeReport failed(std::string why) {
  ProbeReport report;
  report.failure = std::move(why);
  return report;
}

}  // namespace

ir::Result<ProbeReport> probe_in_child(const Code& code, int64_t batch, double seconds) {
  const auto refuse = [](const char* what) {
    return ir::system_error("system.process", fmt::format("{}: {}", what, std::strerror(errno)));
  };
  int pipe[2];
  if (::pipe(pipe) != 0) return refuse("no pipe");
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(pipe[0]);
    ::close(pipe[1]);
    return refuse("no child process");
  }
  if (child == 0) {
    ::close(pipe[0]);
    work(code, batch, pipe[1]);
  }
  ::close(pipe[1]);
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(std::min(seconds, 1e6)));
  const std::optional<std::string> text = read_all(pipe[0], end);
  ::close(pipe[0]);
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text) return failed(fmt::format("time: it was not done after {} seconds", seconds));
  if (WIFSIGNALED(status))
    return failed(fmt::format("memory: the kernel died of signal {} ({})", WTERMSIG(status),
                              strsignal(WTERMSIG(status))));
  auto report = from_text(*text);
  if (!report) return failed("memory: the kernel damaged the process that ran it");
  return *report;
}

}  // namespace pooljit::runtime
