#include "tests/proof/faults.h"

#include <algorithm>

namespace pooljit::tests {
namespace {

using ir::Inst;
using ir::Op;
using ir::Program;

// --- in Programs

bool is_lanes(const Program& program, const Inst& inst) {
  return !inst.results.empty() && program.type(inst.results[0]).kind == ir::Type::Kind::vec;
}
int64_t element_bytes(const Program& program, const Inst& inst) {
  return bytes(program.type(inst.op == Op::store ? inst.args[0] : inst.results[0]).dtype);
}

bool move_access(Inst& inst, Op op, int64_t by) {
  if (inst.op != op) return false;
  inst.addr.offset += by;
  return true;
}

bool drop_operand(Inst& inst, size_t kept) {
  if ((inst.op != Op::max && inst.op != Op::add) || inst.args[0] == inst.args[1]) return false;
  inst.args[1 - kept] = inst.args[kept];
  return true;
}

bool is_trip_count(const Program& program, ir::Value value) {
  return std::any_of(program.insts.begin(), program.insts.end(),
                     [&](const Inst& inst) { return inst.op == Op::loop && inst.args[0] == value; });
}

// Bits of constants that some instruction multiplies with or divides by.
bool is_factor(const Program& program, ir::Value value) {
  return std::any_of(program.insts.begin(), program.insts.end(), [&](const Inst& inst) {
    return (inst.op == Op::mul || inst.op == Op::div) &&
           std::ranges::find(inst.args, value) != inst.args.end();
  });
}

// Numbers that lanes are compared with to make a mask.
bool is_compared(const Program& program, ir::Value value) {
  return !is_float(program.type(value).dtype) && std::ranges::any_of(program.insts, [&](const Inst& inst) {
    return inst.op == Op::cmp && std::ranges::find(inst.args, value) != inst.args.end();
  });
}

// Another value of the same type that is defined before the instruction.
bool other_operand(const Program& program, Inst& inst, Random& random) {
  if (!is_lanes(program, inst) || inst.args.empty()) return false;
  ir::Value& arg = inst.args[random() % inst.args.size()];
  std::vector<ir::Value> others;
  for (const Inst& before : program.insts) {
    if (&before == &inst) break;
    for (ir::Value value : before.results)
      if (value != arg && program.type(value) == program.type(arg)) others.push_back(value);
  }
  if (others.empty()) return false;
  arg = others[random() % others.size()];
  return true;
}

const ProgramFault program_fault_table[] = {
    {"wrong offset",
     [](Program& p, Inst& i, Random& r) {
       return i.op == Op::load && move_access(i, Op::load, element_bytes(p, i) * (r() % 2 == 0 ? 1 : -1));
     }},
    {"dropped tap", [](Program&, Inst& i, Random&) { return drop_operand(i, 0); }},
    {"extra tap", [](Program&, Inst& i, Random&) { return drop_operand(i, 1); }},
    {"wrong mask bit",
     [](Program&, Inst& i, Random& r) {
       if (i.op != Op::vmask) return false;
       i.data[r() % i.data.size()] ^= 1;
       return true;
     }},
    {"off-by-one trip count",
     [](Program& p, Inst& i, Random& r) {
       if (i.op != Op::iconst || i.imm < 2 || !is_trip_count(p, i.results[0])) return false;
       i.imm += r() % 2 == 0 ? 1 : -1;
       return true;
     }},
    {"swapped operands of max",
     [](Program&, Inst& i, Random&) {
       if (i.op != Op::max || i.args[0] == i.args[1]) return false;
       std::swap(i.args[0], i.args[1]);
       return true;
     }},
    {"> for >=",
     [](Program&, Inst& i, Random&) {
       if (i.op != Op::cmp || i.pred != ir::Predicate::gt) return false;
       i.pred = ir::Predicate::ge;
       return true;
     }},
    {"wrong divisor",
     [](Program& p, Inst& i, Random&) {
       if (i.op != Op::vconst || !is_factor(p, i.results[0])) return false;
       for (int64_t& bits : i.data) bits += 1 << 18;
       return true;
     }},
    {"wrong lane in a shuffle",
     [](Program& p, Inst& i, Random& r) {
       if (i.op != Op::shuffle || i.data.size() < 2) return false;
       int64_t& lane = i.data[r() % i.data.size()];
       const int64_t lanes = p.type(i.args[0]).lanes * std::ssize(i.args);
       lane = (lane + 1) % lanes;
       return true;
     }},
    {"wrong value", [](Program& p, Inst& i, Random& r) { return other_operand(p, i, r); }},
    {"store one element late",
     [](Program& p, Inst& i, Random&) {
       return i.op == Op::store && move_access(i, Op::store, element_bytes(p, i));
     }},
    {"read one byte past", [](Program&, Inst& i, Random&) { return move_access(i, Op::load, 1); }},
    {"wrong word of a table",
     [](Program&, Inst& i, Random& r) { return move_access(i, Op::iload, r() % 2 == 0 ? 8 : -8); }},
    {"wrong number of an index",
     [](Program&, Inst& i, Random& r) {
       if (i.op != Op::iconst) return false;
       i.imm += r() % 2 == 0 ? 1 : -1;
       return true;
     }},
    {"least for most",
     [](Program&, Inst& i, Random&) {
       if (i.op != Op::imin && i.op != Op::imax) return false;
       i.op = i.op == Op::imin ? Op::imax : Op::imin;
       return true;
     }},
    {"wrong number in a mask",
     [](Program& p, Inst& i, Random& r) {
       if (i.op != Op::vconst || !is_compared(p, i.results[0])) return false;
       i.data[r() % i.data.size()] += 1;
       return true;
     }},
    {"swapped choice",
     [](Program&, Inst& i, Random&) {
       if (i.op != Op::select) return false;
       std::swap(i.args[1], i.args[2]);
       return true;
     }},
};

// --- in bytes

bool is_lane_instruction(const Decoded& d) {
  return d.info.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
         d.info.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
}

// Those of the immediate's bits that a vector instruction reads: another value of the rest is no fault. The
// fifth bit of vcmp, and all that vfixupimm has, are which exceptions these report.
unsigned immediate_bits_read(const Decoded& d) {
  const bool is_512 = d.info.avx.vector_length == 512;
  switch (d.info.mnemonic) {
    case ZYDIS_MNEMONIC_VINSERTF128:
    case ZYDIS_MNEMONIC_VINSERTI128:
    case ZYDIS_MNEMONIC_VEXTRACTF128:
    case ZYDIS_MNEMONIC_VEXTRACTI128:
    case ZYDIS_MNEMONIC_VINSERTI64X4:
    case ZYDIS_MNEMONIC_VEXTRACTI64X4:
    case ZYDIS_MNEMONIC_VPEXTRQ:
    case ZYDIS_MNEMONIC_VPINSRQ:
      return 0x1;
    case ZYDIS_MNEMONIC_VINSERTI32X4:
    case ZYDIS_MNEMONIC_VEXTRACTI32X4:
      return is_512 ? 0x3 : 0x1;
    case ZYDIS_MNEMONIC_VPEXTRD:
    case ZYDIS_MNEMONIC_VPINSRD:
      return 0x3;
    case ZYDIS_MNEMONIC_VPEXTRW:
    case ZYDIS_MNEMONIC_VPINSRW:
    case ZYDIS_MNEMONIC_VPCMPB:
    case ZYDIS_MNEMONIC_VPCMPW:
    case ZYDIS_MNEMONIC_VPCMPD:
    case ZYDIS_MNEMONIC_VPCMPQ:
      return 0x7;
    case ZYDIS_MNEMONIC_VALIGNQ:
      return is_512 ? 0x7 : 0x3;
    case ZYDIS_MNEMONIC_VALIGND:
      return is_512 ? 0xf : 0x7;
    case ZYDIS_MNEMONIC_VPEXTRB:
    case ZYDIS_MNEMONIC_VPINSRB:
    case ZYDIS_MNEMONIC_VCMPPS:
    case ZYDIS_MNEMONIC_VCMPPD:
      return 0xf;
    case ZYDIS_MNEMONIC_VBLENDVPS:
    case ZYDIS_MNEMONIC_VBLENDVPD:
    case ZYDIS_MNEMONIC_VPBLENDVB:
      return 0xf0;
    case ZYDIS_MNEMONIC_VFIXUPIMMPS:
    case ZYDIS_MNEMONIC_VFIXUPIMMPD:
      return 0;
    default:
      return 0xff;
  }
}

const ByteFault byte_fault_table[] = {
    {"bytes: wrong displacement",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       if (d.info.raw.disp.size == 0) return false;
       bytes[d.info.raw.disp.offset] =
           static_cast<uint8_t>(bytes[d.info.raw.disp.offset] + (r() % 2 == 0 ? 1 : -1));
       return true;
     }},
    {"bytes: wrong immediate of a vector instruction",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       if (!is_lane_instruction(d) || d.info.raw.imm[0].size == 0) return false;
       const unsigned read = immediate_bits_read(d);
       unsigned flipped = 0;
       while (read != 0 && flipped == 0) flipped = read & 1U << r() % 8;
       bytes[d.info.raw.imm[0].offset] ^= static_cast<uint8_t>(flipped);
       return read != 0;
     }},
    {"bytes: wrong immediate of a scalar instruction",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       if (is_lane_instruction(d) || d.info.raw.imm[0].size == 0 || d.info.raw.imm[0].is_relative)
         return false;
       bytes[d.info.raw.imm[0].offset] ^= static_cast<uint8_t>(1U << r() % 4);
       return true;
     }},
    {"bytes: wrong register",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       if (d.info.raw.modrm.offset == 0) return false;
       bytes[d.info.raw.modrm.offset] ^= static_cast<uint8_t>(8U << r() % 3);
       return true;
     }},
    {"bytes: inverted branch",
     [](const Decoded& d, uint8_t* bytes, Random&) {
       if (d.info.meta.category != ZYDIS_CATEGORY_COND_BR) return false;
       bytes[d.info.length == 2 ? 0 : 1] ^= 1;
       return true;
     }},
    {"bytes: flipped bit",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       bytes[r() % d.info.length] ^= static_cast<uint8_t>(1U << r() % 8);
       return true;
     }},
    {"bytes: no instruction",
     [](const Decoded& d, uint8_t* bytes, Random&) {
       constexpr uint8_t nop = 0x90;
       if (d.info.meta.category == ZYDIS_CATEGORY_NOP || d.info.meta.category == ZYDIS_CATEGORY_WIDENOP)
         return false;
       std::fill_n(bytes, d.info.length, nop);
       return true;
     }},
};

}  // namespace

std::span<const ProgramFault> program_faults() { return program_fault_table; }
std::span<const ByteFault> byte_faults() { return byte_fault_table; }

}  // namespace pooljit::tests
