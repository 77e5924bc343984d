#include "tools/fuzz/coverage.h"

#include <fmt/format.h>

#include "tools/fuzz/axes.h"

namespace pooljit::fuzz {
namespace {

int64_t setting_count() {
  int64_t count = 0;
  for (const Axis& axis : spec_axes()) count += std::ssize(axis.settings);
  return count;
}

void add(std::vector<int64_t>& to, const std::vector<int64_t>& counts) {
  if (to.size() < counts.size()) to.resize(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) to[i] += counts[i];
}

}  // namespace

bool Coverage::take(const Combination& settings, bool is_compared) {
  const int64_t count = setting_count();
  drawn_.resize(static_cast<size_t>(count));
  compared_.resize(static_cast<size_t>(count));
  std::vector<int64_t> numbers;
  int64_t first = 0;
  for (size_t axis = 0; axis < settings.size(); ++axis) {
    if (settings[axis] != no_setting) numbers.push_back(first + static_cast<int64_t>(settings[axis]));
    first += std::ssize(spec_axes()[axis].settings);
  }
  for (const int64_t number : numbers) ++drawn_[static_cast<size_t>(number)];
  if (!is_compared) return false;
  const size_t before = pairs_.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    ++compared_[static_cast<size_t>(numbers[i])];
    for (size_t j = i + 1; j < numbers.size(); ++j) pairs_.insert(numbers[i] * count + numbers[j]);
  }
  return pairs_.size() > before;
}

void Coverage::merge(const Coverage& other) {
  add(drawn_, other.drawn_);
  add(compared_, other.compared_);
  pairs_.insert(other.pairs_.begin(), other.pairs_.end());
}

Coverage::Pairs Coverage::pairs() const {
  const std::vector<Axis>& axes = spec_axes();
  int64_t possible = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    for (size_t j = i + 1; j < axes.size(); ++j)
      possible += std::ssize(axes[i].settings) * std::ssize(axes[j].settings);
  return {std::ssize(pairs_), possible};
}

std::string Coverage::text() const {
  std::string text = "settings of the axes: how often each was compared, of how often it was drawn\n";
  size_t number = 0;
  for (const Axis& axis : spec_axes()) {
    text += fmt::format("  {}:", axis.name);
    for (const Setting& setting : axis.settings) {
      const int64_t drawn = number < drawn_.size() ? drawn_[number] : 0;
      const int64_t compared = number < compared_.size() ? compared_[number] : 0;
      text += fmt::format(" '{}' {}/{}", setting.label, compared, drawn);
      ++number;
    }
    text += "\n";
  }
  const Pairs all = pairs();
  return text + fmt::format("  pairs of settings compared: {} of {}\n", all.compared, all.possible);
}

nlohmann::ordered_json Coverage::json() const {
  nlohmann::ordered_json axes;
  size_t number = 0;
  for (const Axis& axis : spec_axes())
    for (const Setting& setting : axis.settings) {
      axes[axis.name][setting.label] = {{"drawn", number < drawn_.size() ? drawn_[number] : 0},
                                        {"compared", number < compared_.size() ? compared_[number] : 0}};
      ++number;
    }
  const Pairs all = pairs();
  return {{"axes", axes}, {"pairs_compared", all.compared}, {"pairs_possible", all.possible}};
}

void to_json(nlohmann::json& json, const Coverage& coverage) {
  json = {{"drawn", coverage.drawn_}, {"compared", coverage.compared_}, {"pairs", coverage.pairs_}};
}

void from_json(const nlohmann::json& json, Coverage& coverage) {
  json.at("drawn").get_to(coverage.drawn_);
  json.at("compared").get_to(coverage.compared_);
  json.at("pairs").get_to(coverage.pairs_);
}

}  // namespace pooljit::fuzz
