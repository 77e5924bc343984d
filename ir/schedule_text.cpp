#include "ir/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "ir/parse_number.h"
#include "ir/schedule_fields.h"

namespace pooljit::ir {
namespace {

template <typename Take>
void for_each_field(Family family, Take take) {
  for (const auto& all : {first_fields(), fields(family), last_fields()})
    for (const ScheduleField& field : all) take(field);
}

std::string names_of_fields(Family family) {
  std::string names;
  for_each_field(family, [&](const ScheduleField& field) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name);
  });
  return names;
}

tl::unexpected<Error> parse_error(std::string_view text, std::string_view what, std::string hint = {}) {
  if (hint.empty())
    hint =
        "write e.g. channels_last(lanes=16, vectors_side_by_side=2, scan=windows, tap_code=straight, "
        "tail=mask)";
  return invalid("schedule.text", fmt::format("'{}' in the schedule '{}' is not known", what, text),
                 std::move(hint));
}

bool parse_field(std::string_view name, std::string_view value, Schedule& schedule) {
  bool is_set = false;
  for_each_field(schedule.family(), [&](const ScheduleField& field) {
    is_set = is_set || (field.name == name && set_value(field, value, schedule));
  });
  return is_set;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string print_list(const std::vector<Schedule>& schedules) {
  std::string text = "[";
  for (const Schedule& one : schedules) text += (text.size() == 1 ? "" : "; ") + print(one);
  return text + "]";
}

}  // namespace

std::string print(const Schedule& schedule) {
  if (is_pools(schedule)) {
    return fmt::format("{}(channels={}, rows={}){}{}", schedule.fused ? "fused" : "each",
                       schedule.tasks.channels, schedule.tasks.rows, print_list(schedule.members),
                       schedule.copies.empty() ? "" : " copies" + print_list(schedule.copies));
  }
  std::string text(text_of(schedule.family()));
  char before = '(';
  for_each_field(schedule.family(), [&](const ScheduleField& field) {
    if (field.usual == field.get(schedule)) return;
    text += before == '(' ? "(" : ", ";
    text.append(field.name) += '=';
    text += value_text(field, schedule);
    before = ',';
  });
  return text + ')';
}

namespace {

bool parse_tasks(std::string_view text, MemberTasks& tasks) {
  for (const auto& [head, number] : {std::pair(std::string_view("channels="), &tasks.channels),
                                     std::pair(std::string_view("rows="), &tasks.rows)}) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view field = trim(text.substr(0, comma));
    if (!field.starts_with(head) || !parse_number(field.substr(head.size()), *number) || *number < 1)
      return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return trim(text).empty();
}

bool is_of_members(std::string_view text) { return text.starts_with("each") || text.starts_with("fused"); }

// "[A; B]": schedules of a family each, behind `head` in the text, which is shortened by both.
Result<std::vector<Schedule>> take_list(std::string_view all, std::string_view head, std::string_view& text) {
  std::vector<Schedule> found;
  const size_t close = text.find(']');
  if (!text.starts_with(head) || close == std::string_view::npos) return parse_error(all, text);
  std::string_view list = text.substr(head.size(), close - head.size());
  text = trim(text.substr(close + 1));
  do {
    const size_t end = std::min(list.find(';'), list.size());
    const std::string_view one = trim(list.substr(0, end));
    if (one.empty() || is_of_members(one)) return parse_error(all, one.empty() ? head : one);
    auto schedule = parse_schedule(one);
    if (!schedule) return tl::unexpected(schedule.error());
    found.push_back(std::move(*schedule));
    list.remove_prefix(std::min(end + 1, list.size()));
  } while (!trim(list).empty());
  return found;
}

// "each(channels=8, rows=1)[A; B] copies[C]".
Result<Schedule> parse_members(std::string_view all) {
  Schedule schedule;
  const size_t open = std::min(all.find('('), all.size()), close = std::min(all.find(")["), all.size());
  const std::string_view head = all.substr(0, open);
  schedule.fused = head == "fused";
  if ((!schedule.fused && head != "each") || close == all.size() || close < open ||
      !parse_tasks(all.substr(open + 1, close - open - 1), schedule.tasks))
    return parse_error(all, all.substr(0, close));
  std::string_view text = all.substr(close + 1);
  auto members = take_list(all, "[", text);
  if (!members) return tl::unexpected(members.error());
  schedule.members = std::move(*members);
  if (text.empty()) return schedule;
  auto copies = take_list(all, "copies[", text);
  if (!copies) return tl::unexpected(copies.error());
  schedule.copies = std::move(*copies);
  if (!text.empty()) return parse_error(all, text);
  return schedule;
}

}  // namespace

Result<Schedule> parse_schedule(std::string_view text) {
  if (is_of_members(text)) return parse_members(text);
  const size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') return parse_error(text, text);
  const std::string_view name = trim(text.substr(0, open));
  const auto* const family = std::ranges::find(all_families, name, text_of);
  if (family == std::end(all_families)) return parse_error(text, name);
  Schedule schedule = schedule_of(*family);
  std::string_view words = text.substr(open + 1, text.size() - open - 2);
  while (!trim(words).empty()) {
    const size_t comma = std::min(words.find(','), words.size());
    const std::string_view field = trim(words.substr(0, comma));
    words.remove_prefix(std::min(comma + 1, words.size()));
    const size_t equals = std::min(field.find('='), field.size());
    const std::string_view value = equals == field.size() ? "" : field.substr(equals + 1);
    if (!parse_field(field.substr(0, equals), value, schedule))
      return parse_error(text, field, fmt::format("{} has {}", name, names_of_fields(*family)));
  }
  return schedule;
}

}  // namespace pooljit::ir
