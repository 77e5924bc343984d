// Schedule: how a PoolNest is computed. Plain data: printable, parseable, comparable, enumerable, storable.
// Families are rows of ir/schedules.def, each with a file in ir/schedules/families/ that checks and lowers;
// which schedule a layer gets is decided in ir/schedules/choose/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "ir/isa.h"
#include "ir/machine.h"
#include "ir/members.h"
#include "ir/nest.h"
#include "ir/program.h"

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
  MemberTasks tasks = {};
  bool fused = false;
  bool operator==(const Schedule&) const = default;
};

// "channels_first(lanes=16, unroll=1, tail=mask, taps=unroll, order=rows_first)"; stores only where they are
// streamed, from only where it is not the input. Of a nest with members "each(channels=8, rows=1)[A; B]",
// or "fused(channels=8, rows=1)[A; B]".
std::string print(const Schedule& schedule);
Result<Schedule> parse_schedule(std::string_view text);
// `from` of each member.
std::vector<int> sources(const Schedule& schedule);
// Some member is made of another's results.
bool is_chained(const Schedule& schedule);

// The schedules that the chooser offers for the nest on such a machine, best first; the first is the default.
// Never empty. The first one costs least to find: with most = 1 only that of each family is sought, and
// families that cannot come first are left out. Why: ir/schedules/choose/chooser.h.
std::vector<Schedule> enumerate_schedules(const PoolNest& nest, Isa isa, size_t most = SIZE_MAX,
                                          const Machine& machine = generic_machine);

// Every combination of what the fields of each family's schedules may be for the nest; lower() refuses those
// that do not suit. It has what enumerate_schedules gives, but for streamed stores: whether these pay is no
// question of the kernel alone.
std::vector<Schedule> schedule_space(const PoolNest& nest, Isa isa);

// The nest as a Program of stage affine. A schedule that does not suit the nest or the ISA is refused with a
// sentence (id "schedule.<rule>").
Result<Program> lower(const PoolNest& nest, const Schedule& schedule, Isa isa);

}  // namespace pooljit::ir
