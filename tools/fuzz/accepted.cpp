#include "tools/fuzz/accepted.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace pooljit::fuzz {
namespace {

// Every name that a difference can have.
std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const DivergenceInfo& row : all_differences()) all.emplace_back(row.name);
  for (const Kind kind :
       {Kind::differs, Kind::stray_write, Kind::error, Kind::crash, Kind::hang, Kind::ended})
    all.emplace_back(name(kind));
  for (const DivergenceInfo& row : divergences())
    if (can_break(row.divergence)) all.push_back(inconsistent_with(row.name));
  return all;
}

bool is_name(const std::string& word) {
  const std::vector<std::string> all = names();
  return std::ranges::find(all, word) != all.end();
}

std::string name_hint() { return fmt::format("one of {}", fmt::join(names(), ", ")); }

// Whether the pattern, in which * stands for any characters, is all of the text. Brackets of specs are no
// wildcards, as they would be for fnmatch.
bool matches(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (text.substr(0, star) != pattern.substr(0, star)) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (size_t at = star; at <= text.size(); ++at)
    if (matches(rest, text.substr(at))) return true;
  return false;
}

// PATTERN, or PATTERN !PATTERN...: the first is to match, the others are not.
bool suits(std::string_view layers, std::string_view spec) {
  const size_t end = layers.rfind(" !");
  if (end == std::string_view::npos) return matches(layers, spec);
  return !matches(layers.substr(end + 2), spec) && suits(layers.substr(0, end), spec);
}

ir::Result<AcceptedDifference> parse_row(const std::string& line, const std::string& path, int number) {
  const auto refuse = [&](const std::string& what) {
    return ir::invalid(
        "fuzz.known", fmt::format("{}:{}: {}", path, number, what),
        "NAME, the layers and the reason, with tabs between them (then version, case, upstream): "
        "nan_ignored<TAB>max_pool2d(float32[*<TAB>our kernels use maxps");
  };
  const size_t first = line.find('\t'),
               second = first == std::string::npos ? first : line.find('\t', first + 1);
  if (second == std::string::npos) return refuse("it has no three fields");
  AcceptedDifference row = {line.substr(0, first), line.substr(first + 1, second - first - 1),
                            line.substr(second + 1, line.find('\t', second + 1) - second - 1)};
  if (!is_name(row.what)) return refuse(fmt::format("'{}' is no difference: {}", row.what, name_hint()));
  if (row.layers.empty() || row.reason.find_first_not_of(" \t\r") == std::string::npos)
    return refuse("the layers or the reason are missing");
  return row;
}

ir::Result<std::vector<AcceptedDifference>> read_known(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return ir::system_error("file.open", fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  std::vector<AcceptedDifference> rows;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.front() == '#') continue;
    auto row = parse_row(line, path, number);
    if (!row) return tl::unexpected(row.error());
    rows.push_back(std::move(*row));
  }
  if (file.bad())
    return ir::system_error("file.read", fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return rows;
}

}  // namespace

ir::Result<Accepted> Accepted::make(const AcceptanceOptions& options,
                                    std::span<const AcceptedDifference> rules) {
  Accepted accepted;
  if (!options.known.empty()) {
    auto rows = read_known(options.known);
    if (!rows) return tl::unexpected(rows.error());
    accepted.rows_ = std::move(*rows);
  }
  for (const std::string& word : options.allow) {
    if (!is_name(word))
      return ir::invalid("fuzz.allow", fmt::format("'{}' is no difference to be allowed", word), name_hint());
    accepted.rows_.push_back({word, "*", "--allow"});
  }
  if (options.takes_rules()) accepted.rows_.insert(accepted.rows_.end(), rules.begin(), rules.end());
  return accepted;
}

bool Accepted::accepts(const std::string& what, const std::string& spec) const {
  return std::ranges::any_of(
      rows_, [&](const AcceptedDifference& row) { return row.what == what && suits(row.layers, spec); });
}

std::vector<Divergence> Accepted::differences_of(const std::string& prefix, const std::string& spec,
                                                 bool only_rules) const {
  std::vector<Divergence> found;
  for (const DivergenceInfo& row : all_differences())
    if (std::ranges::any_of(rows_, [&](const AcceptedDifference& one) {
          return (one.is_rule || !only_rules) && one.what == prefix + std::string(row.name) &&
                 suits(one.layers, spec);
        }))
      found.push_back(row.divergence);
  return found;
}

std::vector<Divergence> Accepted::divergences_of(const std::string& spec) const {
  return differences_of("", spec, false);
}
KeptRules Accepted::rules_of(const std::string& spec) const {
  return {differences_of("", spec, true), divergences_of(spec),
          differences_of(inconsistent_with(""), spec, false)};
}

Outcome Accepted::settled(Outcome outcome, const std::string& spec) const {
  if (outcome.verdict == Outcome::Verdict::failed && accepts(label(outcome), spec))
    outcome.verdict = Outcome::Verdict::accepted;
  return outcome;
}

std::string Accepted::reasons(const std::string& label, const std::string& spec) const {
  std::vector<std::string> found;
  for (const AcceptedDifference& row : rows_)
    if ((" " + label + " ").find(" " + row.what + " ") != std::string::npos && suits(row.layers, spec) &&
        std::ranges::find(found, row.reason) == found.end())
      found.push_back(row.reason);
  return fmt::format("{}", fmt::join(found, "\n"));
}

}  // namespace pooljit::fuzz
