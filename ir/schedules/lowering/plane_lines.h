// PlaneLines: code for all sizes for planes with narrow, dense rows (NarrowRows). First the windows along
// each row go into scratch memory, a vector a row: its line. Lines above and below the image hold the
// identity, so each window down the plane is whole, and no code asks where a row is. Masks and divisors of
// the columns are computed once for all planes.
//
// Longer rows are taken in parts of a line each, one after the other. The plane is copied to scratch memory
// first, to rows that hold the identity where a window sees columns outside the image. So parts need no
// masks. Where elements cannot be masked, all rows of a vector and more are done this way.
//
// Taps are joined in the order of channels_first(scan=rolling), so results have the same bits.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/nest.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/row_rules.h"
#include "ir/schedules/lowering/seen_columns.h"

namespace pooljit::ir {

class PlaneLines {
 public:
  // As many as scratch memory has room for, a vector each.
  static constexpr int64_t most_lines = 128;  // of a plane
  static constexpr int64_t most_parts = 16;   // of a row
  // True if code for all sizes has planes by lines beside the usual tiles. The words of a size say which of
  // them it uses.
  static bool has_code(const PoolNest& general, const RowSchedule& schedule);
  // A layer at a size: whether its planes may go by lines, and the number of lines of `lanes` lanes that hold
  // a row and the padding before it: 1 or 2; 0: more.
  static bool suits(const PoolNest& sized);
  static int64_t count(const NestDim& columns, int lanes);
  // Parts of longer rows, of `lanes` outputs each, the last of which ends with the row; 0: more than
  // most_parts, or a row of fewer outputs.
  static int64_t parts(const NestDim& columns, int lanes);
  // Whether code of this schedule goes by lines at the size, by all these rules.
  static bool take(const PoolNest& sized, const RowSchedule& schedule, Isa isa);

  PlaneLines(const PoolNest& nest, const RowSchedule& schedule, const RowRules& rules, Builder& builder,
             Reducer& reducer, Lowering& lowering);
  // Emits all planes of a call, with the cursor at a batch. At sizes that use the usual tiles it does
  // nothing.
  void emit(const Cursor& cursor);
  // 1 where it does something, else 0.
  Value is_used() const { return used_; }

 private:
  // The outputs of a row that one line makes. vectors: of the columns that their windows see; those behind
  // these are outside the image.
  struct Part {
    Value begin = no_value;
    int64_t vectors = 1;
    Lanes stored = {};
    std::optional<SeenColumns> seen = {};  // nullopt: of a copy
  };
  using PlaneCode = std::function<void(const Cursor& plane)>;
  void for_planes(const Cursor& cursor, const PlaneCode& emit_plane);
  void emit_one(const Cursor& cursor, Value is_used);
  void emit_two(const Cursor& cursor, Value is_used);
  void emit_parts(const Cursor& cursor, Value parts);
  Value word_of_rows(SizeLayout::DimField field);
  Lanes stored_lanes() const;
  std::vector<int64_t> starts(int64_t vectors) const;
  Part part(Value begin, int64_t vectors);
  void begin_lines(Cursor cursor);
  Cursor at_first_tap(Cursor cursor);
  void fill(Value first, Value count);
  Address line(Value number);
  void plane(Cursor cursor, Part& part);
  void make_lines(const Cursor& cursor, Part& part);
  Value line_of(const Address& row, Part& part);
  Value line_of_copy(const Address& row);
  Value joined_columns(const std::function<Value(int64_t column)>& column);
  Value as_joined(Value x);
  int64_t copied_row_bytes() const;
  void begin_copies();
  Address copy(const Cursor& plane, Value parts);
  void join_lines(const Cursor& cursor, const Part& part);
  void roll(const Cursor& cursor, const Part& part);
  void run(const Cursor& cursor, const Part& part);
  void store(const Cursor& cursor, Value window, const Part& part);

  const PoolNest& nest_;
  const RowSchedule schedule_;
  const RowRules& rules_;
  Builder& b_;
  Reducer& reducer_;
  Lowering& low_;
  const NestDim &down_, &along_;
  const bool are_all_parts_;  // all rows that go by lines, and there are no masks
  const int lanes_;           // of a line
  const int64_t most_parts_;
  const Tile whole_;           // the outputs of a line
  const int64_t all_vectors_;  // of the columns that their windows see
  const bool has_two_;         // rows of two lines have code of their own, and no others
  const bool as_keys_;
  const bool runs_;  // down the plane, where registers do not hold what rolls
  Value used_ = no_value;
  // Found before any loop over planes.
  Address first_line_;            // that a window sees
  Value nothing_ = no_value;      // a line outside the image,
  Value beyond_ = no_value;       // and columns outside, as they are joined
  Value first_row_ = no_value;    // the line of the first row
  Value last_output_ = no_value;  // after the last pair of outputs, and its line
  Address last_line_;
  std::vector<Step> pair_steps_;  // from pair to pair, of each view that is laid out as the output
  Value outputs_odd_ = no_value;
  size_t masks_held_ = 0;  // in registers
  Address copied_;         // rows of a plane, where planes are copied
  Address ends_;           // of a block of windows (RunningWindow)
};

}  // namespace pooljit::ir
