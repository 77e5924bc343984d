// Schedule: how a PoolNest is computed. Plain data: comparable, printable (ir/schedule_text.h), enumerable
// (ir/schedules/space.h). Families are rows of ir/schedules.def, each with a file in ir/schedules/families/
// that checks and lowers; which schedule a layer gets is decided in ir/choose/.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/members.h"

namespace pooljit::ir {

enum class Family : uint8_t {
#define FAMILY(name, text, note) name,
#include "ir/schedules.def"
#undef FAMILY
};

enum class Tail : uint8_t { mask, split, overlap };  // how the last, partial vector is done
enum class Taps : uint8_t { unroll, loop };          // full windows: straight-line code, or loops over taps
enum class Order : uint8_t {
  row_major,
  rows_first,  // the outer dimensions of a window before the innermost
  rolling,     // neighbouring windows share what they have in common
  strips       // rolling over a few outputs, for all channels of these before the next few
};             // in which the taps of a window are reduced

enum class Stores : uint8_t {
  cached,
  streamed  // whole vectors of the output go past the caches, where they lie at multiples of their size
};

struct Schedule {
  Family family = Family::channels_last;
  int lanes = 1;   // outputs per vector
  int unroll = 1;  // vectors per iteration
  Tail tail = Tail::mask;
  Taps taps = Taps::unroll;
  Order order = Order::row_major;
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
  bool operator==(const Schedule&) const = default;
};

// `from` of each member.
std::vector<int> sources(const Schedule& schedule);
// Some member is made of another's results.
bool is_chained(const Schedule& schedule);

}  // namespace pooljit::ir
