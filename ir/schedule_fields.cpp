#include "ir/schedule_fields.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "ir/parse_number.h"

namespace pooljit::ir {
namespace {

constexpr std::string_view family_texts[] = {
#define FAMILY(name, text, ...) text,
#include "ir/schedules.def"
#undef FAMILY
};
static_assert(std::size(family_texts) == std::variant_size_v<FamilyFields>);

constexpr std::string_view tail_words[] = {"mask", "split", "overlap"};
constexpr std::string_view stores_words[] = {"cached", "streamed"};
constexpr std::string_view tap_code_words[] = {"straight", "loops"};
constexpr std::string_view separable_scans[] = {"rolling", "van_herk"};
constexpr std::string_view pixels_along_words[] = {"row", "column"};
constexpr std::string_view row_passes_scans[] = {"trailing", "rolling_sums", "passes"};
constexpr std::string_view channels_last_scans[] = {"rolling", "windows", "strips"};
constexpr std::string_view row_scans[] = {"rolling", "rows_first", "tap_by_tap"};

constexpr int up_to_8[] = {1, 2, 3, 4, 8}, up_to_16[] = {1, 2, 3, 4, 8, 16};
constexpr int all_to_16[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr int every_word[] = {0, 1, 2, 3};

bool always(const Schedule&) { return true; }

template <typename Owner>
auto& owner_of(auto& schedule) {
  if constexpr (std::is_same_v<Owner, Schedule>)
    return schedule;
  else
    return std::get<Owner>(schedule.own);
}

// Owner: Schedule, or one of the alternatives of `own`.
template <typename Owner, auto member>
int get(const Schedule& schedule) {
  return static_cast<int>(owner_of<Owner>(schedule).*member);
}

template <typename Owner, auto member>
void set(Schedule& schedule, int value) {
  auto& field = owner_of<Owner>(schedule).*member;
  field = static_cast<std::remove_reference_t<decltype(field)>>(value);
}

template <typename Owner, auto member>
constexpr ScheduleField number(std::string_view name, std::span<const int> values,
                               bool (*applies)(const Schedule&) = always) {
  return {name, {}, values, get<Owner, member>, set<Owner, member>, applies, 1};
}

template <typename Owner, auto member>
constexpr ScheduleField word(std::string_view name, std::span<const std::string_view> words,
                             std::optional<int> loops = {}) {
  return {.name = name,
          .words = words,
          .values = std::span(every_word).first(words.size()),
          .get = get<Owner, member>,
          .set = set<Owner, member>,
          .applies = always,
          .loops = loops};
}

template <typename Own>
bool rolls(const Schedule& schedule) {
  return std::get<Own>(schedule.own).scan == RowFields::Scan::rolling;
}

template <typename Own>
bool takes_rows(const Schedule& schedule) {
  return !rolls<Own>(schedule);
}

template <typename Own>
constexpr ScheduleField fields_of_rows[] = {
    number<Own, &Own::rows_together>("rows_together", up_to_8, takes_rows<Own>),
    number<Own, &Own::vectors_side_by_side>("vectors_side_by_side", up_to_8, rolls<Own>),
    word<Own, &Own::scan>("scan", row_scans),
    word<Own, &Own::tap_code>("tap_code", tap_code_words, int(TapCode::loops)),
};

constexpr ScheduleField separable_fields[] = {
    number<SeparableFields, &SeparableFields::vectors_side_by_side>("vectors_side_by_side", up_to_8),
    word<SeparableFields, &SeparableFields::scan>("scan", separable_scans,
                                                  int(SeparableFields::Scan::van_herk)),
};
constexpr ScheduleField whole_pixels_fields[] = {
    number<WholePixelsFields, &WholePixelsFields::vectors_side_by_side>("vectors_side_by_side", up_to_8),
    word<WholePixelsFields, &WholePixelsFields::pixels_along>("pixels_along", pixels_along_words),
};
constexpr ScheduleField row_passes_fields[] = {
    number<RowPassesFields, &RowPassesFields::rows_together>("rows_together", up_to_16),
    word<RowPassesFields, &RowPassesFields::scan>("scan", row_passes_scans),
};
constexpr ScheduleField channels_last_fields[] = {
    number<ChannelsLastFields, &ChannelsLastFields::vectors_side_by_side>("vectors_side_by_side", up_to_16),
    word<ChannelsLastFields, &ChannelsLastFields::scan>("scan", channels_last_scans),
    word<ChannelsLastFields, &ChannelsLastFields::tap_code>("tap_code", tap_code_words, int(TapCode::loops)),
};
constexpr ScheduleField window_rows_fields[] = {
    number<WindowRowsFields, &WindowRowsFields::windows_together>("windows_together", all_to_16),
};

constexpr ScheduleField with_usual(ScheduleField field, std::optional<int> usual) {
  field.usual = usual;
  return field;
}

constexpr ScheduleField before_own[] = {
    with_usual(number<Schedule, &Schedule::lanes>("lanes", {}), std::nullopt),
};
constexpr ScheduleField behind_own[] = {
    word<Schedule, &Schedule::tail>("tail", tail_words),
    with_usual(word<Schedule, &Schedule::stores>("stores", stores_words), int(Stores::cached)),
    with_usual(number<Schedule, &Schedule::from>("from", {}), -1),
};

}  // namespace

std::string_view text_of(Family family) { return family_texts[static_cast<size_t>(family)]; }

std::span<const ScheduleField> fields(Family family) {
  switch (family) {
    case Family::separable:
      return separable_fields;
    case Family::whole_pixels:
      return whole_pixels_fields;
    case Family::whole_planes:
      return {};
    case Family::row_passes:
      return row_passes_fields;
    case Family::channels_last:
      return channels_last_fields;
    case Family::interleaved:
      return fields_of_rows<InterleavedFields>;
    case Family::channels_first:
      return fields_of_rows<ChannelsFirstFields>;
    case Family::window_rows:
      return window_rows_fields;
  }
  return {};
}

std::span<const ScheduleField> first_fields() { return before_own; }
std::span<const ScheduleField> last_fields() { return behind_own; }

int together(const Schedule& schedule) {
  for (const ScheduleField& field : fields(schedule.family()))
    if (field.is_number() && field.applies(schedule)) return field.get(schedule);
  return 1;
}

void set_together(Schedule& schedule, int number) {
  for (const ScheduleField& field : fields(schedule.family()))
    if (field.is_number()) field.set(schedule, field.applies(schedule) ? number : 1);
}

std::optional<Schedule> as_rolling(Schedule schedule, int most_together) {
  const int number = std::min(together(schedule), most_together);
  for (const ScheduleField& field : fields(schedule.family()))
    if (field.name == "scan" && set_value(field, "rolling", schedule)) {
      set_together(schedule, number);
      return schedule;
    }
  return std::nullopt;
}

std::optional<Schedule> in_loops(Schedule schedule) {
  bool is_other = false;
  for (Schedule& pool : pools_of(schedule))
    for (const ScheduleField& field : fields(pool.family()))
      if (field.loops && field.get(pool) != *field.loops) {
        field.set(pool, *field.loops);
        is_other = true;
        break;
      }
  return is_other ? std::optional(std::move(schedule)) : std::nullopt;
}

std::string value_text(const ScheduleField& field, const Schedule& schedule) {
  const int value = field.get(schedule);
  return field.is_number() ? std::to_string(value) : std::string(field.words[static_cast<size_t>(value)]);
}

bool set_value(const ScheduleField& field, std::string_view text, Schedule& schedule) {
  int value = 0;
  if (field.is_number()) {
    if (!parse_number(text, value)) return false;
  } else {
    const auto found = std::ranges::find(field.words, text);
    if (found == field.words.end()) return false;
    value = static_cast<int>(found - field.words.begin());
  }
  field.set(schedule, value);
  return true;
}

}  // namespace pooljit::ir
