// RowCode: rows whose results are staged.
#include "ir/schedules/lowering/row_code.h"

namespace pooljit::ir {

// Of all channels.
void RowCode::stage_row(const Cursor& cursor, bool group) {
  if (staging_->columns == dim_.output) return stage_piece(cursor, {{}, 0, dim_.output}, group);
  for (const RowPiece& piece : pieces_of(rules_.row(), staging_->columns)) {
    Cursor at = cursor;
    if (piece.count > 1) {
      const Value iv = b_.begin_loop(b_.iconst(piece.count)).iv;
      const auto move = [&](Address& address, const View& view, int64_t stride, int64_t columns) {
        address = plus(address, iv, byte_stride(view, columns * stride));
      };
      move(at.input, nest_.input, loads_.column_stride(nest_.input), piece.inputs);
      if (const auto& beside = low_.beside())
        move(at.beside, *beside, loads_.column_stride(*beside), piece.inputs);
      low_.for_each_output(at, [&](Address& address, const View& view) {
        move(address, view, view.strides.back(), piece.outputs);
      });
      low_.add_columns(at, iv, backward_ ? piece.outputs : piece.inputs);
    }
    stage_piece(at, piece, group);
    if (piece.count > 1) b_.end_loop();
  }
}

// A piece without loops stands for the whole row.
void RowCode::stage_piece(const Cursor& cursor, const RowPiece& piece, bool group) {
  repeated_ = (piece.count - 1) * piece.inputs;
  const Lowering::GroupSize size{nest_.channels, piece.columns, group ? schedule_.rows_together : 1,
                                 piece.first};
  low_.for_each_channel(cursor, size, [&](const Cursor& at) {
    piece.loops.empty() ? emit_row(at, group) : emit_loops(at, piece.loops, group);
  });
}

}  // namespace pooljit::ir
