#include "ir/schedules/choose/rules.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "ir/reductions/float_keys.h"
#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/choose/rows.h"
#include "ir/schedules/families/window_rows.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lanes/row_tiles.h"

namespace pooljit::ir {
namespace {

constexpr int64_t does_not_apply = std::numeric_limits<int64_t>::min();

constexpr int64_t otherwise[] = {
#define QUESTION(name, answer, ...) answer,
#include "ir/schedules/choose/rules.def"
};

constexpr struct {
  std::string_view meaning, evidence;
} texts[] = {
#define QUESTION(name, answer, meaning, ...) {meaning, "" __VA_ARGS__},
#include "ir/schedules/choose/rules.def"
};

std::atomic<const ChooserRule*> left_out = nullptr;

void note(Layer::RuleNotes& notes, const ChooserRule& row, int64_t answer) {
  if (std::ranges::find(notes, &row, &Layer::RuleNote::rule) == notes.end()) notes.push_back({&row, answer});
}

}  // namespace

#define RULE(question, name, condition, answer, evidence) \
  int64_t Facts::rule_##name() const { return (condition) ? int64_t{answer} : does_not_apply; }
#include "ir/schedules/choose/rules.def"

struct RuleTable {
  static constexpr ChooserRule rows[] = {
#define RULE(question, name, condition, answer, evidence) \
  {Question::question, #name, "", evidence, &Facts::rule_##name},
#define LEFT(question, name, condition, sentence, evidence) \
  {Question::question, #name, sentence, evidence, &Facts::rule_##name},
#include "ir/schedules/choose/rules.def"
  };
  // Where the rows of a question begin; those of one follow each other.
  static constexpr auto begins = [] {
    std::array<size_t, std::size(otherwise) + 1> begins = {};
    for (const ChooserRule& row : rows) ++begins[static_cast<size_t>(row.question) + 1];
    for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    return begins;
  }();
  static_assert(std::ranges::is_sorted(rows, {}, &ChooserRule::question));

  // The first row that applies, and what it says.
  static std::pair<const ChooserRule*, int64_t> first(const Facts& facts, Question question) {
    const ChooserRule* const none = left_out.load(std::memory_order_relaxed);
    const auto index = static_cast<size_t>(question);
    for (const ChooserRule* row = rows + begins[index]; row != rows + begins[index + 1]; ++row)
      if (const int64_t said = (facts.*row->answer)(); said != does_not_apply && row != none) {
        if (Layer::RuleNotes* const notes = facts.layer.rule_notes()) note(*notes, *row, said);
        return {row, said};
      }
    return {nullptr, otherwise[index]};
  }
};

std::span<const ChooserRule> rules() { return RuleTable::rows; }

std::string_view meaning(const ChooserRule& rule) {
  return texts[static_cast<size_t>(rule.question)].meaning;
}

std::string_view evidence(const ChooserRule& rule) {
  return rule.evidence.empty() ? texts[static_cast<size_t>(rule.question)].evidence : rule.evidence;
}

void leave_out(const ChooserRule* rule) { left_out = rule; }

int64_t Facts::answer(Question question) const { return RuleTable::first(*this, question).second; }

std::string_view Facts::left(Question question) const {
  const ChooserRule* const row = RuleTable::first(*this, question).first;
  return row ? row->sentence : std::string_view();
}

}  // namespace pooljit::ir
