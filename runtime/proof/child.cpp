#include "runtime/proof/child.h"

#include <fmt/format.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <csignal>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>

#include "runtime/child.h"

namespace pooljit::runtime {
namespace {

// One line of numbers, then the failure or the error.
std::string to_text(const ir::Result<ProbeReport>& report) {
  if (!report) return fmt::format("error {}", report.error().message);
  std::string text = "report";
  for (int64_t count : report->probes) text += fmt::format(" {}", count);
  const Rounds& rounds = report->rounds;
  return text + fmt::format(" {} {} {} {} {} {} {} {} {} {} {} {}", report->runs, report->untold,
                            report->batch, rounds.rounds, rounds.log2_error, rounds.least, rounds.range,
                            rounds.step, rounds.unit, rounds.sparse, int(rounds.claim), report->failure);
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
  int claim = 0;
  in >> report.runs >> report.untold >> report.batch >> rounds.rounds >> rounds.log2_error >> rounds.least >>
      rounds.range >> rounds.step >> rounds.unit >> rounds.sparse >> claim;
  rounds.claim = Claim(claim);
  if (kind != "report" || !in) return std::nullopt;
  std::getline(in >> std::ws, report.failure);
  return report;
}

// Planes come and go; malloc would fetch the pages of each from the system, and give them back. In a child
// alone: where the parent keeps memory, each fork is dearer.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int all = std::numeric_limits<int>::max();
  ::mallopt(M_MMAP_THRESHOLD, all);
  ::mallopt(M_TRIM_THRESHOLD, all);
#endif
}

ProbeReport failed(std::string why) {
  ProbeReport report;
  report.failure = std::move(why);
  return report;
}

}  // namespace

ir::Result<ProbeReport> probe_in_child(const Code& code, int64_t batch, double seconds) {
  const auto work = [&] {
    ::signal(SIGINT, SIG_DFL);  // nobody waits for a probe to end after Ctrl-C
    keep_freed_memory();
    return to_text(probe(code, batch));
  };
  const auto end = run_in_child(work, seconds);
  if (!end) return tl::unexpected(end.error());
  if (end->timed_out) return failed(fmt::format("time: it was not done after {} seconds", seconds));
  if (end->signal != 0)
    return failed(
        fmt::format("memory: the kernel died of signal {} ({})", end->signal, strsignal(end->signal)));
  auto report = from_text(end->said);
  if (!report) return failed("memory: the kernel damaged the process that ran it");
  return *report;
}

}  // namespace pooljit::runtime
