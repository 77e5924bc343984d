#include "tools/fuzz/cell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "runtime/child.h"
#include "tools/fuzz/fault_place.h"

namespace pooljit::fuzz {
namespace {

// The parent waits so many times as long as the child may compute: for other work on the machine, and for
// what sleeps for ever. What is not charged may take so many seconds.
constexpr double most_waiting = 30, longest_uncharged = 900;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The CPU time that the work of this process may still take; nullptr: it is no cell's.
struct Allowance {
  std::atomic<double>* late_at = nullptr;
  bool is_charged = true;
  double left = 0;  // while it is not charged
};
Allowance allowance;

// Counts the time of all threads while they compute; SIGPROF then ends the process.
void set_timer(double seconds) {
  const double whole = std::floor(seconds);
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - whole) * 1e6);
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

void allow(double seconds) {
  allowance.is_charged = true;
  *allowance.late_at = now() + seconds * most_waiting;
  set_timer(std::max(seconds, 1e-6));
}

void stop_timer() {
  itimerval timer = {};
  ::getitimer(ITIMER_PROF, &timer);
  allowance.left =
      static_cast<double>(timer.it_value.tv_sec) + static_cast<double>(timer.it_value.tv_usec) * 1e-6;
  allowance.is_charged = false;
  *allowance.late_at = now() + longest_uncharged;
  set_timer(0);
}

void charge(bool is_charged) {
  if (!allowance.late_at || allowance.is_charged == is_charged) return;
  if (is_charged)
    allow(allowance.left);
  else
    stop_timer();
}

void empty(int output) { (void)!(::ftruncate(output, 0) == 0 && ::lseek(output, 0, SEEK_SET) == 0); }

// The end of it: what it was about comes last.
std::string text_of(int output) {
  std::array<char, 1500> text;
  struct stat file = {};
  if (::fstat(output, &file) != 0) return "";
  const off_t begin = std::max<off_t>(file.st_size - static_cast<off_t>(text.size()), 0);
  const ssize_t bytes = ::pread(output, text.data(), text.size(), begin);
  std::string printed(text.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
  while (!printed.empty() && printed.back() == '\n') printed.pop_back();
  return printed;
}

}  // namespace

ir::Result<Cell> Cell::make() {
  void* const page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int output = ::memfd_create("output", MFD_CLOEXEC);
  if (page == MAP_FAILED || output < 0)
    return ir::system_error("system.memory", fmt::format("no shared memory: {}", std::strerror(errno)));
  return Cell(new (page) Shared, output);
}

Cell::~Cell() {
  if (shared_) ::munmap(shared_, sizeof *shared_);
  if (output_ >= 0) ::close(output_);
}

void Cell::begin_case(int64_t number, double case_seconds) const {
  expect_case(number);
  empty(output_);
  allow(case_seconds);
}

Cell::Charge::Charge(bool is_charged) : was_charged_(allowance.is_charged) { charge(is_charged); }
Cell::Charge::~Charge() { charge(was_charged_); }

void Cell::redirect_output() const {
  empty(output_);
  ::dup2(output_, STDOUT_FILENO);
  ::dup2(output_, STDERR_FILENO);
}

std::string Cell::printed_by_case() {
  std::fflush(stdout);
  return text_of(STDERR_FILENO);
}

ir::Result<Cell::End> Cell::run(const std::function<nlohmann::json()>& work, double case_seconds,
                                double most_seconds) const {
  std::fflush(stdout);  // or the child would have it to print, too
  shared_->late_at = now() + most_seconds * most_waiting;
  const auto end = runtime::run_in_child(
      [&] {
        redirect_output();
        ::signal(SIGPROF, SIG_DFL);
        report_faults();
        allowance.late_at = &shared_->late_at;
        allow(most_seconds);
        std::string text = work().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        allow(most_seconds);
        return text;
      },
      [&] { return now() >= shared_->late_at; });
  if (!end) return tl::unexpected(end.error());
  End result = {nlohmann::json::parse(end->said, nullptr, false), {.verdict = Outcome::Verdict::failed}};
  if (end->timed_out || end->signal != 0) result.said = nlohmann::json(nlohmann::json::value_t::discarded);
  if (result.is_done()) return result;
  const bool is_slow = end->signal == SIGPROF, is_late = end->timed_out;
  result.death.kind = is_slow || is_late ? Kind::hang : end->signal != 0 ? Kind::crash : Kind::ended;
  result.death.failure =
      is_slow            ? fmt::format("not done after {} seconds of CPU time", case_seconds)
      : is_late          ? fmt::format("not done after {} seconds, though it took less than {} of CPU time",
                                       case_seconds * most_waiting, case_seconds)
      : end->signal != 0 ? fmt::format("died of signal {} ({})", end->signal, strsignal(end->signal))
                         : "ended its process";
  if (const std::string text = text_of(output_); !text.empty()) result.death.failure += "\n" + text;
  return result;
}

}  // namespace pooljit::fuzz
