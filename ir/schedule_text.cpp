#include "ir/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

namespace pooljit::ir {
namespace {

constexpr std::string_view family_names[] = {
#define FAMILY(name, text, note) text,
#include "ir/schedules.def"
#undef FAMILY
};

tl::unexpected<Error> parse_error(std::string_view text, std::string_view what) {
  return invalid("schedule.text", fmt::format("'{}' in the schedule '{}' is not known", what, text),
                 "write e.g. channels_last(lanes=16, unroll=2, tail=mask, taps=unroll, order=row_major)");
}

bool parse_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename Enum, size_t n>
bool parse_name(std::string_view text, const std::array<std::string_view, n>& names, Enum& value) {
  const auto* found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return false;
  value = static_cast<Enum>(found - names.begin());
  return true;
}

bool parse_field(std::string_view name, std::string_view value, Schedule& schedule) {
  if (name == "lanes") return parse_number(value, schedule.lanes);
  if (name == "unroll") return parse_number(value, schedule.unroll);
  if (name == "tail") return parse_name(value, tail_names, schedule.tail);
  if (name == "taps") return parse_name(value, taps_names, schedule.taps);
  if (name == "order") return parse_name(value, order_names, schedule.order);
  if (name == "stores") return parse_name(value, stores_names, schedule.stores);
  if (name == "from") return parse_number(value, schedule.from);
  return false;
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
  if (!schedule.members.empty()) {
    return fmt::format("{}(channels={}, rows={}){}{}", schedule.fused ? "fused" : "each",
                       schedule.tasks.channels, schedule.tasks.rows, print_list(schedule.members),
                       schedule.copies.empty() ? "" : " copies" + print_list(schedule.copies));
  }
  const bool streams = schedule.stores == Stores::streamed;
  return fmt::format("{}(lanes={}, unroll={}, tail={}, taps={}, order={}{}{})",
                     family_names[static_cast<size_t>(schedule.family)], schedule.lanes, schedule.unroll,
                     tail_names[static_cast<size_t>(schedule.tail)],
                     taps_names[static_cast<size_t>(schedule.taps)],
                     order_names[static_cast<size_t>(schedule.order)], streams ? ", stores=streamed" : "",
                     schedule.from >= 0 ? fmt::format(", from={}", schedule.from) : "");
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
  Schedule schedule;
  const std::string_view name = trim(text.substr(0, open));
  const auto* family = std::ranges::find(family_names, name);
  if (family == std::end(family_names)) return parse_error(text, name);
  schedule.family = static_cast<Family>(family - family_names);
  std::string_view fields = text.substr(open + 1, text.size() - open - 2);
  while (!trim(fields).empty()) {
    const size_t comma = std::min(fields.find(','), fields.size());
    const std::string_view field = trim(fields.substr(0, comma));
    fields.remove_prefix(std::min(comma + 1, fields.size()));
    const size_t equals = std::min(field.find('='), field.size());
    const std::string_view value = equals == field.size() ? "" : field.substr(equals + 1);
    if (!parse_field(field.substr(0, equals), value, schedule)) return parse_error(text, field);
  }
  return schedule;
}

}  // namespace pooljit::ir
