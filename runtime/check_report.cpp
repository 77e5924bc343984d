// CheckReport as text.
#include <fmt/format.h>

#include "runtime/check.h"

namespace pooljit::runtime {
namespace {

std::string interpreted_text(const CheckReport& report) {
  if (report.interpreted == 1) return "";
  return fmt::format(
      "    interpreted: {:.2g} % of the tasks; machine code ran all, and the oracle judged them\n",
      100 * report.interpreted);
}

}  // namespace

std::string print(const CheckReport& report) {
  std::string text = fmt::format("{}: {}\n", report.ok() ? "ok" : "FAILED", report.spec);
  if (report.ok())
    text += fmt::format("    {} Programs, {} runs, batches 1 to {}\n{}{}", report.programs, report.runs,
                        report.max_batch, interpreted_text(report), report.results);
  else
    text += report.failure + "\n";
  for (const std::string& line : report.skipped) text += fmt::format("    not run: {}\n", line);
  return text;
}

}  // namespace pooljit::runtime
