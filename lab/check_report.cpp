// CheckReport as text.
#include <fmt/format.h>

#include "lab/check.h"

namespace pooljit::runtime {

std::string print(const CheckReport& report) {
  const std::string of_all =
      report.left_out > 0 ? fmt::format(" of {}", report.programs + report.left_out) : "";
  std::string text = fmt::format("{}: {}\n", report.ok() ? "ok" : "FAILED", report.spec);
  if (report.ok())
    text += fmt::format("    {}{} Programs, {} runs, batches 1 to {}\n{}", report.programs, of_all,
                        report.runs, report.max_batch, report.results);
  else
    text += report.failure + "\n";
  if (report.ok() && report.interpreted < 1)
    text += fmt::format(
        "    interpreted: {:.2g} % of their tasks; machine code ran all, and the oracle judged them\n",
        100 * report.interpreted);
  for (const std::string& line : report.skipped) text += fmt::format("    not run: {}\n", line);
  return text;
}

}  // namespace pooljit::runtime
