// Schedule: how a PoolNest is computed. Plain data: comparable, printable (ir/schedule_text.h), enumerable
// (ir/schedules/space.h). Families are rows of ir/schedules.def, each with its own fields here, their table
// in ir/schedule_fields.h, and a file in ir/schedules/families/ that checks and lowers; which schedule a
// layer gets is decided in ir/choose/.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "ir/members.h"
#include "ir/pools.h"

namespace pooljit::ir {

enum class Family : uint8_t {
#define FAMILY(name, ...) name,
#include "ir/schedules.def"
#undef FAMILY
};

inline constexpr Family all_families[] = {
#define FAMILY(name, ...) Family::name,
#include "ir/schedules.def"
#undef FAMILY
};

enum class Tail : uint8_t { mask, split, overlap };  // how the last, partial vector is done
enum class TapCode : uint8_t { straight, loops };    // full windows: straight-line code, or loops over taps

enum class Stores : uint8_t {
  cached,
  streamed  // whole vectors of the output go past the caches, where they lie at multiples of their size
};

// Each family's own fields of a schedule, beside its lanes and its tail. In each, a vector is one of `lanes`
// lanes. The space has the words of an enum in their order.
struct SeparableFields {
  int vectors_side_by_side = 1;  // of channels
  // How windows move on: in registers (RollingOutputs), or by van Herk's algorithm (RunningWindow).
  enum class Scan : uint8_t { rolling, van_herk };
  Scan scan = Scan::rolling;
  bool operator==(const SeparableFields&) const = default;
};

struct WholePixelsFields {
  int vectors_side_by_side = 1;  // of channels
  enum class Along : uint8_t { row, column };
  Along pixels_along = Along::row;  // which neighbours are taken together
  bool operator==(const WholePixelsFields&) const = default;
};

struct WholePlanesFields {
  bool operator==(const WholePlanesFields&) const = default;
};

struct RowPassesFields {
  int rows_together = 1;  // rows of outputs
  // How the windows of a row are made from its columns: TrailingWindows, ColumnPasses over columns that are
  // sums which roll down the image, or ColumnPasses.
  enum class Scan : uint8_t { trailing, rolling_sums, passes };
  Scan scan = Scan::passes;
  bool operator==(const RowPassesFields&) const = default;
};

struct ChannelsLastFields {
  int vectors_side_by_side = 1;  // of channels
  // Rolling along a row, window by window, or rolling over a few outputs of a row, for all channels of these
  // before the next few.
  enum class Scan : uint8_t { rolling, windows, strips };
  Scan scan = Scan::windows;
  TapCode tap_code = TapCode::straight;
  bool operator==(const ChannelsLastFields&) const = default;
};

// Of channels_first, and of interleaved, whose rows are those of pixels.
struct RowFields {
  int rows_together = 1;         // rows of outputs; not rolling
  int vectors_side_by_side = 1;  // of a row of outputs; rolling
  // How the taps of a window are taken: rolling down the rows, sharing what neighbouring windows have in
  // common; the outer dimensions first, on contiguous vectors; or one by one.
  enum class Scan : uint8_t { rolling, rows_first, tap_by_tap };
  Scan scan = Scan::tap_by_tap;
  TapCode tap_code = TapCode::straight;
  bool operator==(const RowFields&) const = default;
};

struct InterleavedFields : RowFields {};
struct ChannelsFirstFields : RowFields {};

struct WindowRowsFields {
  int windows_together = 1;  // all of a row, or of neighbouring channels
  bool operator==(const WindowRowsFields&) const = default;
};

// In the order of ir/schedules.def.
using FamilyFields =
    std::variant<SeparableFields, WholePixelsFields, WholePlanesFields, RowPassesFields, ChannelsLastFields,
                 InterleavedFields, ChannelsFirstFields, WindowRowsFields>;

struct Schedule {
  FamilyFields own = ChannelsLastFields{};  // its alternative is the family
  int lanes = 1;                            // outputs per vector
  Tail tail = Tail::mask;
  Stores stores = Stores::cached;
  // Of a member: of whose results it is made, by number; -1: of the input. Where one is made of another's,
  // all are done for as many channels at a time as tasks.channels says.
  int from = -1;
  // Of a nest with members: theirs, in order, in how many tasks all are done, and whether their loops are
  // fused (ir/fusion.h). Nothing else counts then.
  std::vector<Schedule> members = {};
  // Where one is made of another's results: how those of each such other are copied to its output, in the
  // order of the members.
  std::vector<Schedule> copies = {};
  MemberTasks tasks = {};
  bool fused = false;

  Family family() const { return static_cast<Family>(own.index()); }
  bool operator==(const Schedule&) const = default;
};

// A schedule of the family whose other fields have their usual values.
Schedule schedule_of(Family family, int lanes = 1);

// row_passes(scan=passes).
bool takes_passes(const Schedule& schedule);
// Those of channels_first and interleaved; null: it is of another family.
const RowFields* row_fields(const Schedule& schedule);

// A schedule as its family reads it: its own fields, and those that all families share.
template <typename Own>
struct ScheduleOf : Own {
  explicit ScheduleOf(const Schedule& schedule)
      : Own(std::get<Own>(schedule.own)), lanes(schedule.lanes), tail(schedule.tail) {}

  int lanes;
  Tail tail;
};

// `from` of each member.
std::vector<int> sources(const Schedule& schedule);
// Some member is made of another's results.
bool is_chained(const Schedule& schedule);

}  // namespace pooljit::ir
