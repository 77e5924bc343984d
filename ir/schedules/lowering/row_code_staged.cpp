// RowCode: rows whose results are staged.
#include "ir/schedules/lowering/row_code.h"

namespace pooljit::ir {

// Of all channels.
void RowCode::stage_row(const Cursor& cursor, bool group) {
  low_.for_each_group(cursor, {nest_.channels, dim_.output, group ? schedule_.rows_together : 1},
                      [&](const Cursor& first, int64_t channels) {
                        low_.for_each_channel(first, channels,
                                              [&](const Cursor& at) { emit_row(at, group); });
                      });
}

}  // namespace pooljit::ir
