// The vectors of a processor whose bytes are of a domain (jit/x86/machine.h), and what instructions do to
// them by the rows of jit/x86/instructions.def.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "jit/x86/operands.h"
#include "jit/x86/places.h"
#include "jit/x86/table.h"

namespace pooljit::jit::x86 {

enum class BitOp : uint8_t { and_, and_not, or_, xor_ };  // and_not: of the first

constexpr uint64_t combine(BitOp op, uint64_t a, uint64_t b) {
  return op == BitOp::and_ ? a & b : op == BitOp::and_not ? ~a & b : op == BitOp::or_ ? a | b : a ^ b;
}

// What an operation leaves of a byte of which one operand is a number: that operand or the other, or a
// number.
enum class Kept : uint8_t { a, b, zero, ones };
constexpr std::optional<Kept> kept_by(BitOp op, std::optional<uint8_t> a, std::optional<uint8_t> b) {
  const auto is = [](std::optional<uint8_t> byte, uint8_t value) { return byte && *byte == value; };
  switch (op) {
    case BitOp::and_:
      if (is(a, 0) || is(b, 0)) return Kept::zero;
      return is(a, 0xff) ? std::optional(Kept::b) : is(b, 0xff) ? std::optional(Kept::a) : std::nullopt;
    case BitOp::and_not:
      if (is(a, 0xff) || is(b, 0)) return Kept::zero;
      return is(a, 0) ? std::optional(Kept::b) : std::nullopt;
    case BitOp::or_:
      if (is(a, 0xff) || is(b, 0xff)) return Kept::ones;
      return is(a, 0) ? std::optional(Kept::b) : is(b, 0) ? std::optional(Kept::a) : std::nullopt;
    case BitOp::xor_:
      return is(a, 0) ? std::optional(Kept::b) : is(b, 0) ? std::optional(Kept::a) : std::nullopt;
  }
  return std::nullopt;
}

// The only operand of an operation without the bytes that the result does not depend on: zeros instead.
template <typename Byte>
class TakenOperand {
 public:
  TakenOperand(const LaneOp& op, std::array<const Byte*, 3>& args) {
    const TakenBytes taken = taken_bytes(op);
    if (operands(op.op) > 1 || taken.count == ir::bytes(op.from)) return;
    std::copy_n(args[0] + taken.first, taken.count, bytes_.begin() + taken.first);
    args[0] = bytes_.data();
  }

 private:
  std::array<Byte, 8> bytes_{};
};

template <class Domain>
class Vectors : public Operands<Domain> {
 public:
  using Base = Operands<Domain>;
  using Base::Base;
  using typename Base::Byte;

 protected:
  using Operand = ZydisDecodedOperand;
  using Base::address, Base::bytes_of, Base::domain_, Base::give, Base::immediate, Base::is_mask,
      Base::mask_of, Base::masks, Base::memory_, Base::number, Base::read, Base::read_lanes, Base::spread,
      Base::vector_bytes, Base::write, Base::write_mask_, Base::zeros;
  using typename Base::Bytes;

  void vector_step(const Instruction& i, const VectorRow& row) {
    const bool is_evex = i.info.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    if (is_evex && i.info.avx.rounding.mode != ZYDIS_ROUNDING_MODE_INVALID)
      throw Refused{0, "another rounding"};
    const ZydisMaskMode mode = i.info.avx.mask.mode;
    write_mask_ = {is_evex ? name_of(i.info.avx.mask.reg).number : 0,
                   mode == ZYDIS_MASK_MODE_ZEROING || mode == ZYDIS_MASK_MODE_CONTROL_ZEROING};
    lanes_step(i, row);
  }

 private:
  // What computes lanes; the rest is moved.
  void lanes_step(const Instruction& i, const VectorRow& row) {
    const Operand& to = i.operands[0];
    const int width = ir::bytes(row.op.type);
    // By the numbers of operands.
    const auto all = [&](size_t a, size_t b, size_t c) {
      give(i, lanes(row.op, read_lanes(i, a, width), read_lanes(i, b, width), read_lanes(i, c, width),
                    bytes_of(to)),
           width);
    };
    LaneOp op = row.op;
    switch (row.form) {
      case Form::unary:
        return unary(i, op);
      case Form::narrow:
        op.saturate = true;
        return unary(i, op);
      case Form::binary:
        return all(1, 2, 2);
      case Form::muladd132:
        return all(0, 2, 1);
      case Form::muladd213:
        return all(1, 0, 2);
      case Form::muladd231:
        return all(1, 2, 0);
      case Form::compare:
        if (const auto pred = predicate_of(immediate(i))) return compare(i, op, *pred);
        throw Refused{0, "a comparison that has no row"};
      case Form::order:
        if (const auto pred = order_of(immediate(i))) return compare(i, op, *pred);
        throw Refused{0, "a comparison that has no row"};
      case Form::equal:
        return compare(i, op, ir::Predicate::eq);
      case Form::greater:
        return compare(i, op, ir::Predicate::gt);
      case Form::scalar:
        return scalar(i, row);
      case Form::fix:
        return fix(i, row);
      case Form::shift:
        op.imm = immediate(i);
        return give(i, lanes(op, read_lanes(i, 1, width), bytes_of(to)), width);
      case Form::pack:
        return pack(i, row);
      default:
        return moving_step(i, row);
    }
  }

  void moving_step(const Instruction& i, const VectorRow& row) {
    const int width = ir::bytes(row.op.type);
    switch (row.form) {
      case Form::bits_and:
        return bits(i, row, BitOp::and_);
      case Form::bits_and_not:
        return bits(i, row, BitOp::and_not);
      case Form::bits_or:
        return bits(i, row, BitOp::or_);
      case Form::bits_xor:
        return bits(i, row, BitOp::xor_);
      case Form::all_ones:
        return all_ones(i);
      case Form::mask_and:
        return mask_bits(i, row, BitOp::and_);
      case Form::mask_or:
        return mask_bits(i, row, BitOp::or_);
      case Form::mask_xor:
        return mask_bits(i, row, BitOp::xor_);
      case Form::mask_move:
        return move_mask(i, row);
      case Form::choose:
        return choose(i, row);
      case Form::masked:
        return masked(i, row);
      case Form::blend:
        return blend(i, row);
      case Form::guarded:
        return guarded(i, row);
      case Form::move:
        return give(i, read_lanes(i, 1, width), width);
      case Form::move4:
        return move_low(i, 4);
      case Form::move8:
        return move_low(i, 8);
      case Form::aligned:
        return move_aligned(i, width);
      default:
        return change_places(i, width);
    }
  }

  // Between registers the other lanes are another operand's.
  void move_low(const Instruction& i, int count) {
    if (write_mask_.number != 0) throw Refused{0, "a scalar that is masked"};
    Bytes bytes = read(i, i.operands[1]);
    if (i.info.operand_count_visible == 3) {
      const Bytes low = read(i, i.operands[2]);
      std::copy_n(low.begin(), count, bytes.begin());
      return write(i, i.operands[0], bytes);
    }
    std::fill(bytes.begin() + count, bytes.end(), domain_.constant(0));
    write(i, i.operands[0], bytes);
  }

  void move_aligned(const Instruction& i, int width) {
    for (const Operand& operand : {i.operands[0], i.operands[1]})
      if (is_memory(operand) && address(i, operand) % static_cast<uint64_t>(bytes_of(operand)) != 0)
        throw Refused{0, "an address that need not be aligned as the instruction wants"};
    give(i, read_lanes(i, 1, width), width);
  }

  // count: of the bytes of the result; zeros above.
  Bytes lanes(const LaneOp& op, const Bytes& a, int count) { return lanes(op, a, a, a, count); }
  Bytes lanes(const LaneOp& op, const Bytes& a, const Bytes& b, int count) { return lanes(op, a, b, b, count); }
  Bytes lanes(const LaneOp& op, const Bytes& a, const Bytes& b, const Bytes& c, int count) {
    Bytes to = zeros();
    const auto width = static_cast<size_t>(ir::bytes(op.type));
    for (size_t at = 0; at < static_cast<size_t>(count); at += width)
      domain_.lane(op, {a.data() + at, b.data() + at, c.data() + at}, to.data() + at);
    return to;
  }

  Bytes ones(int count) const {
    Bytes to = zeros();
    std::fill_n(to.begin(), count, domain_.constant(0xff));
    return to;
  }

  // The lowest lane; the others are the first operand's.
  void scalar(const Instruction& i, const VectorRow& row) {
    if (write_mask_.number != 0) throw Refused{0, "a scalar that is masked"};
    Bytes to = read(i, i.operands[1]);
    const Bytes a = to, b = read(i, i.operands[2]);
    domain_.lane(row.op, {a.data(), b.data(), b.data()}, to.data());
    write(i, i.operands[0], to);
  }

  void unary(const Instruction& i, const LaneOp& op) {
    const Operand &to = i.operands[0], &from = i.operands[1];
    if (i.info.mnemonic == ZYDIS_MNEMONIC_VCVTPS2PH && (immediate(i) & 7) != 0 && (immediate(i) & 4) == 0)
      throw Refused{0, "another rounding"};
    const int width = ir::bytes(op.type), width_of_from = ir::bytes(op.from);
    const bool repeats = is_memory(from) && i.info.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID;
    const int count = std::min(bytes_of(to) / width,
                               (repeats ? i.info.avx.vector_length / 8 : bytes_of(from)) / width_of_from);
    const Bytes& all = read_lanes(i, 1, width_of_from);
    Bytes result = zeros();
    for (int lane = 0; lane < count; ++lane) {
      const Byte* const at = all.data() + lane * width_of_from;
      domain_.lane(op, {at, at, at}, result.data() + lane * width);
    }
    give(i, result, width, count * width);
  }

  // To a vector, whose lanes become all ones or zeros, or to a mask, of which the write mask leaves out
  // lanes.
  void compare(const Instruction& i, LaneOp op, ir::Predicate pred) {
    const Operand& to = i.operands[0];
    op.pred = pred;
    const int width = ir::bytes(op.type);
    const int count = is_mask(to) ? i.info.avx.vector_length / 8 : bytes_of(to);
    const bool are_equal = pred == ir::Predicate::eq && !ir::is_float(op.from) && is_with_itself(i);
    const Bytes told = are_equal ? ones(count)
                                 : lanes(op, read_lanes(i, 1, width), read_lanes(i, 2, width), count);
    if (!is_mask(to)) return write(i, to, told);
    Bytes mask = zeros();
    for (int lane = 0; lane < count / width; ++lane)
      mask[static_cast<size_t>(lane)] = told[static_cast<size_t>(lane) * static_cast<size_t>(width)];
    if (write_mask_.number != 0) {
      const Bytes other = mask;
      domain_.bits(BitOp::and_, other.data(), masks[write_mask_.number].data(), mask.data(), vector_bytes);
    }
    mask_of(to) = mask;
  }

  // The second operand where the write mask has the lane; without a mask all of it.
  void masked(const Instruction& i, const VectorRow& row) {
    const int width = ir::bytes(row.op.type);
    const Bytes &a = read_lanes(i, 1, width), &b = read_lanes(i, 2, width);
    if (write_mask_.number == 0) return write(i, i.operands[0], b);
    const Bytes mask = spread(masks[write_mask_.number], width), none = zeros();
    Bytes to = zeros();
    domain_.choose(mask.data(), b.data(), (write_mask_.zeroes ? none : a).data(), to.data(),
                   bytes_of(i.operands[0]), width);
    write(i, i.operands[0], to);
  }

  // Only where NaNs are replaced by the second operand, and all else stays.
  void fix(const Instruction& i, const VectorRow& row) {
    constexpr uint64_t quiet_and_signalling = 0x11;
    const int width = ir::bytes(row.op.type), count = bytes_of(i.operands[0]);
    const Bytes table = read(i, i.operands[2]);
    for (int at = 0; at < count; at += width)
      if (number(&table[static_cast<size_t>(at)], 4) != quiet_and_signalling)
        throw Refused{0, "a table of responses that has no row"};
    give(i, lanes(row.op, read(i, i.operands[1]), read(i, i.operands[0]), count), width);
  }

  void all_ones(const Instruction& i) {
    if (immediate(i) != 0xff) throw Refused{0, "bits of three operands"};
    give(i, ones(bytes_of(i.operands[0])), 4);
  }

  // The row's type has as many bits as the mask has lanes.
  static size_t mask_lanes(const VectorRow& row) { return 8 * static_cast<size_t>(ir::bytes(row.op.type)); }

  void mask_bits(const Instruction& i, const VectorRow& row, BitOp op) {
    const Bytes a = mask_of(i.operands[1]), b = mask_of(i.operands[2]);
    Bytes to = zeros();
    domain_.bits(op, a.data(), b.data(), to.data(), static_cast<int>(mask_lanes(row)));
    mask_of(i.operands[0]) = to;
  }

  void move_mask(const Instruction& i, const VectorRow& row) {
    const Operand &to = i.operands[0], &from = i.operands[1];
    const size_t count = mask_lanes(row);
    if (!is_mask(to)) {
      uint64_t bits = 0;
      for (size_t lane = 0; lane < count; ++lane) bits |= (number(&mask_of(from)[lane], 1) >> 7) << lane;
      return write(i, to, this->bytes_of_number(bits));
    }
    Bytes mask = zeros();
    if (is_mask(from)) {
      std::copy_n(mask_of(from).begin(), count, mask.begin());
    } else {
      const uint64_t bits = number(read(i, from).data(), static_cast<int>(count / 8));
      for (size_t lane = 0; lane < count; ++lane)
        mask[lane] = domain_.constant((bits >> lane & 1) != 0 ? 0xff : 0);
    }
    mask_of(to) = mask;
  }

  // The same register twice, whatever is in it.
  static bool is_with_itself(const Instruction& i) {
    const Operand &a = i.operands[1], &b = i.operands[2];
    return Base::is_register(a) && Base::is_register(b) && a.reg.value == b.reg.value;
  }

  void bits(const Instruction& i, const VectorRow& row, BitOp op) {
    const int width = ir::bytes(row.op.type);
    if ((op == BitOp::xor_ || op == BitOp::and_not) && is_with_itself(i)) return give(i, zeros(), width);
    const Bytes &a = read_lanes(i, 1, width), &b = read_lanes(i, 2, width);
    Bytes to = zeros();
    domain_.bits(op, a.data(), b.data(), to.data(), bytes_of(i.operands[0]));
    give(i, to, width);
  }

  void pack(const Instruction& i, const VectorRow& row) {
    const Bytes a = read(i, i.operands[1]), b = read(i, i.operands[2]);
    Bytes to = zeros();
    LaneOp op = row.op;
    op.saturate = true;
    const int width = ir::bytes(op.type), each = 16 / width;
    for (int lane = 0; lane < bytes_of(i.operands[0]) / width; ++lane) {
      const int in_half = lane % each, half = lane / each * 16;
      const Byte* const from = (in_half < each / 2 ? a : b).data() + half + in_half % (each / 2) * 2 * width;
      domain_.lane(op, {from, from, from}, to.data() + lane * width);
    }
    give(i, to, width);
  }

  void choose(const Instruction& i, const VectorRow& row) {
    const Bytes a = read(i, i.operands[1]), b = read(i, i.operands[2]), mask = read(i, i.operands[3]);
    Bytes to = zeros();
    domain_.choose(mask.data(), b.data(), a.data(), to.data(), bytes_of(i.operands[0]),
                   ir::bytes(row.op.type));
    write(i, i.operands[0], to);
  }

  void blend(const Instruction& i, const VectorRow& row) {
    Bytes to = read(i, i.operands[1]);
    const Bytes b = read(i, i.operands[2]);
    const int width = ir::bytes(row.op.type), bits = i.info.mnemonic == ZYDIS_MNEMONIC_VPBLENDW ? 8 : 32;
    for (int at = 0; at < bytes_of(i.operands[0]); ++at)
      if (immediate(i) >> (at / width % bits) & 1) to[static_cast<size_t>(at)] = b[static_cast<size_t>(at)];
    write(i, i.operands[0], to);
  }

  void guarded(const Instruction& i, const VectorRow& row) {
    const bool is_store = is_memory(i.operands[0]);
    const Operand& memory = i.operands[is_store ? 0 : 2];
    const uint64_t first = address(i, memory);
    const Bytes mask = read(i, i.operands[1]);
    Bytes lanes = is_store ? read(i, i.operands[2]) : zeros();
    const int width = ir::bytes(row.op.type);
    for (int at = 0; at < bytes_of(i.operands[1]); ++at) {
      const int top = at / width * width + width - 1;
      if ((number(&mask[static_cast<size_t>(top)], 1) & 0x80) == 0) continue;
      const uint64_t address = first + static_cast<uint64_t>(at);
      if (is_store)
        memory_.store(address, 1, &lanes[static_cast<size_t>(at)]);
      else
        memory_.load(address, 1, &lanes[static_cast<size_t>(at)]);
    }
    if (!is_store) write(i, i.operands[0], lanes);
  }

  void change_places(const Instruction& i, int width) {
    const int count = i.info.operand_count_visible;
    const bool has_immediate = i.operands[count - 1U].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    const int control = control_operand(i.info.mnemonic, has_immediate);
    std::array<Bytes, 3> sources;
    size_t source = 0;
    std::vector<uint8_t> indices;
    for (int o = reads_result(i.info.mnemonic) ? 0 : 1; o < count - (has_immediate ? 1 : 0); ++o) {
      const Bytes bytes = read(i, i.operands[static_cast<size_t>(o)]);
      if (o != control) sources.at(source++) = bytes;
      for (const Byte& byte : bytes)
        if (o == control) indices.push_back(static_cast<uint8_t>(number(&byte, 1)));
    }
    const std::vector<Place>& from = places_of(i, has_immediate, std::move(indices));
    Bytes to = zeros();
    for (size_t b = 0; b < from.size(); ++b)
      if (const Place& place = from[b]; place.source >= 0)
        to[b] = sources.at(static_cast<size_t>(place.source))[static_cast<size_t>(place.byte)];
    give(i, to, width);
  }

  // Kept from the last time that the instruction was executed.
  const std::vector<Place>& places_of(const Instruction& i, bool has_immediate,
                                      std::vector<uint8_t> indices) {
    auto& [known, found] = moved_[i.offset];
    if (found.empty() || known != indices) {
      auto from = places(i.info.mnemonic, bytes_of(i.operands[0]), i.info.avx.vector_length / 8,
                         has_immediate ? immediate(i) : uint8_t{0}, indices);
      if (!from) throw Refused{0, "an instruction that has no row"};
      known = std::move(indices), found = std::move(*from);
    }
    return found;
  }

  struct Moved {
    std::vector<uint8_t> indices;
    std::vector<Place> from;
  };
  std::unordered_map<size_t, Moved> moved_;  // by the instruction's offset
};

}  // namespace pooljit::jit::x86
