// Parallel moves at the beginning and the end of a loop: all sources are read before any target is written.

#include "jit/xbyak/emitter.h"

namespace pooljit::jit {

using Xbyak::Reg64;

namespace {

bool same(Place a, Place b) { return a.kind == b.kind && a.number == b.number; }

}  // namespace

RegClass Emitter::class_of(ir::Value value) const {
  return map_.liveness().webs()[static_cast<size_t>(map_.liveness().web(value))].cls;
}

// A move goes when nobody still reads its target. If none can go, the remaining moves are cycles: a swap puts
// one value into place, and the value that was there is now where the first one was.
void Emitter::move_all(std::vector<Transfer>& moves) {
  const auto drop_done = [&] {
    std::erase_if(moves, [](const Transfer& move) { return same(move.to, move.from); });
  };
  drop_done();
  while (!moves.empty()) {
    bool moved = false;
    for (size_t i = 0; i < moves.size() && !moved; ++i) {
      bool read = false;
      for (size_t k = 0; k < moves.size(); ++k)
        read |= k != i && moves[k].cls == moves[i].cls && same(moves[k].from, moves[i].to);
      if (read) continue;
      move_one(moves[i]);
      moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(i));
      moved = true;
    }
    if (moved) continue;
    const Transfer swapped = moves.back();
    moves.pop_back();
    swap_one(swapped);
    for (Transfer& move : moves) {
      if (move.cls != swapped.cls) continue;
      if (same(move.from, swapped.to))
        move.from = swapped.from;
      else if (same(move.from, swapped.from))
        move.from = swapped.to;
    }
    drop_done();
  }
}

void Emitter::move_one(const Transfer& move) {
  if (move.cls == RegClass::gpr) return move_gpr(move.to, move.from);
  if (move.from.kind == Place::Kind::constant) return load_constant(move.from.number, move.to.number);
  if (move.cls == RegClass::mask) return move_mask(move.to.number, move.from.number);
  const int bytes = ir::info(program_.isa).vector_bytes;
  a_.write(x86::vmovaps, Vec::of(move.to.number, bytes), Vec::of(move.from.number, bytes));
}

void Emitter::swap_one(const Transfer& move) {
  if (move.cls == RegClass::gpr) return swap_gpr(move.to, move.from);
  if (move.cls == RegClass::mask) return swap_masks(move.to.number, move.from.number);
  swap_vectors(move.to.number, move.from.number);
}

void Emitter::move_gpr(Place to, Place from) {
  if (from.kind == Place::Kind::immediate) {
    const int64_t value = immediate(from);
    if (to.kind == Place::Kind::stack && fits_immediate(value)) {
      a_.mov(a_.address(slot(to)), static_cast<uint32_t>(value));
    } else {
      const Reg64 reg = target(to);
      a_.mov(reg, value);
      commit(to, reg);
    }
  } else if (to.kind == Place::Kind::reg) {
    if (from.kind == Place::Kind::stack)
      a_.load_word(to.number, slot(from));
    else
      a_.copy_word(to.number, from.number);
  } else {
    commit(to, read(from, Reg64(scratch_register)));
  }
}

void Emitter::swap_gpr(Place a, Place b) {
  if (a.kind == Place::Kind::reg && b.kind == Place::Kind::reg) {
    a_.xchg(Reg64(a.number), Reg64(b.number));
    return;
  }
  const Reg64 in_a = read(a, Reg64(scratch_register)), in_b = read(b, Reg64(second_scratch_register));
  // A register is read above by its own name, so the slot is written first.
  if (a.kind == Place::Kind::stack) {
    commit(a, in_b);
    commit(b, in_a);
  } else {
    commit(b, in_a);
    commit(a, in_b);
  }
}

}  // namespace pooljit::jit
