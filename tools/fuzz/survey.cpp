#include "tools/fuzz/survey.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/fuzz/axes.h"
#include "tools/fuzz/cell.h"

namespace pooljit::fuzz {
namespace {

using Answers = std::vector<bool>;

// Of each setting: whether it was asked about, and whether a layer with it was taken.
struct Known {
  bool is_asked = false, is_taken = false;
};

class Survey {
 public:
  Survey(const OtherEngine& engine, const std::string& only, double case_seconds, Cell cell)
      : engine_(engine), only_(only), case_seconds_(case_seconds), cell_(std::move(cell)) {
    for (const Axis& axis : spec_axes()) known_.emplace_back(axis.settings.size());
  }

  ir::Result<SurveyResult> run(uint64_t seed) {
    constexpr int bases = 4;
    Draw draw(static_cast<uint32_t>(seed * 0x9e3779b9 + 17));
    for (int i = 0; i < bases; ++i) {
      const auto base = find_base(draw);
      if (!base) return tl::unexpected(base.error());
      if (base->empty()) break;
      if (auto done = ask_around(*base); !done) return tl::unexpected(done.error());
    }
    if (result_.taken > 0) result_.weights = weights();
    return result_;
  }

 private:
  ir::Result<Answers> ask(const std::vector<std::string>& specs) {
    auto answers = ask_in_children(specs);
    if (!answers) return answers;
    result_.asked += static_cast<int64_t>(specs.size());
    result_.taken += std::ranges::count(*answers, true);
    return answers;
  }

  // Asks in a child, as far as it lives; the question that ends it is one that the library works on.
  ir::Result<Answers> ask_in_children(const std::vector<std::string>& specs) {
    Answers answers;
    while (answers.size() < specs.size()) {
      const size_t first = answers.size();
      const auto end = cell_.run(
          [&] {
            Answers said;
            for (size_t i = first; i < specs.size(); ++i) {
              cell_.begin_case(static_cast<int64_t>(i), case_seconds_);
              said.push_back(specs[i].find(only_) != std::string::npos && engine_.takes(specs[i]));
            }
            return nlohmann::json(said);
          },
          case_seconds_, case_seconds_ * static_cast<double>(specs.size() - first));
      if (!end) return tl::unexpected(end.error());
      if (end->is_done()) {
        const Answers said = end->said.get<Answers>();
        answers.insert(answers.end(), said.begin(), said.end());
      } else {
        // What came before the end was not said: it is asked again, without the one.
        const auto last = static_cast<size_t>(cell_.last_case());
        const auto before = ask_in_children({specs.begin() + static_cast<std::ptrdiff_t>(first),
                                             specs.begin() + static_cast<std::ptrdiff_t>(last)});
        if (!before) return before;
        answers.insert(answers.end(), before->begin(), before->end());
        answers.push_back(true);
      }
    }
    return answers;
  }

  // A combination that the library does; empty if none of many is.
  ir::Result<Combination> find_base(Draw& draw) {
    constexpr int rounds = 40, at_a_time = 100;
    for (int round = 0; round < rounds; ++round) {
      std::vector<Combination> drawn;
      std::vector<std::string> specs;
      while (drawn.size() < at_a_time) {
        Combination combination = plain_combination(draw);
        const auto spec = combine(combination);
        if (!spec) continue;
        drawn.push_back(std::move(combination));
        specs.push_back(print(*spec));
      }
      const auto answers = ask(specs);
      if (!answers) return tl::unexpected(answers.error());
      const auto taken = std::ranges::find(*answers, true);
      if (taken != answers->end()) return drawn[static_cast<size_t>(taken - answers->begin())];
    }
    return Combination();
  }

  ir::Result<void> ask_around(const Combination& base) {
    std::vector<std::pair<size_t, size_t>> places;
    std::vector<std::string> specs;
    for (size_t axis = 0; axis < base.size(); ++axis)
      for (size_t setting = 0; setting < known_[axis].size(); ++setting) {
        Combination changed = base;
        changed[axis] = setting;
        const DrawnSpec asked = nearest(changed);
        if (asked.settings[axis] == no_setting) continue;
        places.emplace_back(axis, setting);
        specs.push_back(print(asked.spec));
      }
    const auto answers = ask(specs);
    if (!answers) return tl::unexpected(answers.error());
    for (size_t i = 0; i < places.size(); ++i) {
      Known& known = known_[places[i].first][places[i].second];
      known.is_asked = true;
      known.is_taken = known.is_taken || (*answers)[i];
    }
    return {};
  }

  // Settings that were refused around every base go; what could not be asked about stays.
  AxisWeights weights() const {
    AxisWeights weights = usual_weights();
    for (size_t axis = 0; axis < weights.size(); ++axis)
      for (size_t setting = 0; setting < weights[axis].size(); ++setting) {
        const Known& known = known_[axis][setting];
        if (known.is_asked && !known.is_taken) weights[axis][setting] = 0;
      }
    return weights;
  }

  const OtherEngine& engine_;
  const std::string& only_;
  double case_seconds_;
  Cell cell_;
  std::vector<std::vector<Known>> known_;
  SurveyResult result_;
};

}  // namespace

ir::Result<SurveyResult> survey(const OtherEngine& engine, uint64_t seed, const std::string& only,
                                double case_seconds) {
  auto cell = Cell::make();
  if (!cell) return tl::unexpected(cell.error());
  return Survey(engine, only, case_seconds, std::move(*cell)).run(seed);
}

}  // namespace pooljit::fuzz
