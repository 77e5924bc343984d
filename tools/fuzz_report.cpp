#include "tools/fuzz_report.h"

#include <fmt/format.h>

#include "lab/check.h"
#include "tools/fuzz/explain.h"

namespace pooljit::tools {
namespace {

using fuzz::CampaignOptions;
using fuzz::CampaignReport;
using fuzz::Finding;
using fuzz::Kind;

std::string indented(const std::string& text) {
  std::string result = "  ";
  for (const char c : text) result += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return result;
}

}  // namespace

std::string meaning_of(const fuzz::Outcome& outcome) {
  if (outcome.kind != Kind::known)
    return fmt::format("    {}: {}\n", name(outcome.kind), meaning(outcome.kind));
  std::string text;
  for (const fuzz::DivergenceInfo& row : fuzz::all_differences())
    if ((" " + outcome.explanation + " ").find(fmt::format(" {} ", row.name)) != std::string::npos)
      text += fmt::format("    {}: {}\n", row.name, row.text);
  return text;
}

std::string finding_text(const Finding& finding, const std::string& against, const std::string& saved) {
  const auto reference = runtime::reference_of(finding.smallest.spec, finding.smallest.data);
  const std::string known = finding.outcome.kind == Kind::known
                                ? "as is known, but was not accepted:\n" + meaning_of(finding.outcome)
                                : "";
  const std::string number = finding.number < 0 ? "a kept case" : fmt::format("case {}", finding.number);
  return fmt::format(
      "{}: {}\nshrunk to {}\ncause: {}\n{}{}\nas a command:\n  {}\nas a golden test "
      "(tests/golden/check/NAME.txt):\n{}\n{}",
      number, finding.drawn, finding.smallest.spec, finding.cause, known, indented(finding.outcome.failure),
      command_line(finding.smallest, against),
      indented(golden_text(finding.smallest, reference.value_or(""))),
      saved.empty() ? "" : fmt::format("saved in {}\n", saved));
}

nlohmann::ordered_json finding_json(const Finding& finding, const std::string& against,
                                    const std::string& saved) {
  nlohmann::ordered_json json = {{"case", finding.number},
                                 {"drawn", finding.drawn},
                                 {"kind", std::string(name(finding.outcome.kind))},
                                 {"cause", finding.cause},
                                 {"known_as", finding.outcome.explanation},
                                 {"failure", finding.outcome.failure},
                                 {"place", finding.outcome.place},
                                 {"got", finding.outcome.got},
                                 {"expected", finding.outcome.expected},
                                 {"wrong", finding.outcome.wrong},
                                 {"of", finding.outcome.of},
                                 {"spec", finding.smallest.spec},
                                 {"isa", finding.smallest.isa},
                                 {"backend", finding.smallest.backend},
                                 {"schedule", finding.smallest.schedule},
                                 {"seed", finding.smallest.seed},
                                 {"data", finding.smallest.data},
                                 {"before", finding.smallest.before},
                                 {"command", command_line(finding.smallest, against)}};
  if (!saved.empty()) json["saved"] = saved;
  return json;
}

std::string summary_text(const CampaignReport& report, const CampaignOptions& options,
                         const std::string& against) {
  std::string text;
  for (const Finding& example : report.examples) {
    const std::string what = label(example.outcome);
    text += fmt::format(
        "accepted {} times\n{}{}  {}\n{}\n", report.by_label.at(what), meaning_of(example.outcome),
        indented("  because: " + options.accepted.reasons(what, example.smallest.spec)) + "\n",
        command_line(example.smallest, against), indented(example.outcome.failure));
  }
  for (const auto& [cause, times] : report.by_cause)
    if (times > 1) text += fmt::format("{} cases have one cause: {}\n", times, cause);
  if (options.count_axes) text += report.coverage.text();
  text += fmt::format("{} cases of seed {}: {} agree, {} differ", report.tried, options.seed, report.agree,
                      report.failed);
  if (!against.empty()) text += fmt::format(", {} differ as accepted", report.accepted);
  return text + fmt::format(", {} not comparable; {} results, {:.1f} s\n", report.unsupported, report.runs,
                            report.seconds);
}

nlohmann::ordered_json summary_json(const CampaignReport& report, const CampaignOptions& options,
                                    const std::string& against) {
  nlohmann::ordered_json accepted = nlohmann::ordered_json::array();
  for (const Finding& example : report.examples) {
    const std::string what = label(example.outcome);
    accepted.push_back({{"difference", what},
                        {"times", report.by_label.at(what)},
                        {"because", options.accepted.reasons(what, example.smallest.spec)},
                        {"example", finding_json(example, against)}});
  }
  nlohmann::ordered_json json = {{"seed", options.seed},
                                 {"first", options.first},
                                 {"next", report.next},
                                 {"cases", report.tried},
                                 {"agree", report.agree},
                                 {"differ", report.failed},
                                 {"differ_as_accepted", report.accepted},
                                 {"not_comparable", report.unsupported},
                                 {"results", report.runs},
                                 {"seconds", report.seconds},
                                 {"accepted", accepted},
                                 {"causes", nlohmann::json(report.by_cause)}};
  if (options.count_axes) json["coverage"] = report.coverage.json();
  return {{"summary", json}};
}

}  // namespace pooljit::tools
