// legalize: addresses without terms (ir/passes/address.h), then one file for every ISA; what differs between
// them is in ir/passes/legal.h. Instructions that the ISA has go through unchanged, others are expanded
// (ir/passes/expand.h, ir/passes/shuffle_cut.h).
#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>

#include "ir/passes/address.h"
#include "ir/passes/expand.h"
#include "ir/passes/legal.h"
#include "ir/passes/pipeline.h"
#include "ir/passes/shuffle_cut.h"

namespace pooljit::ir {
namespace {

class Legalizer {
 public:
  explicit Legalizer(Program program)
      : names_(program),
        insts_(std::move(program.insts)),
        masks_(program.types.size()),
        b_(std::move(program)),
        addresses_(insts_, b_, names_) {}

  Result<Program> run() {
    for (; at_ < insts_.size(); ++at_) {
      Inst& inst = insts_[at_];
      if (!addresses_.rewrite(inst)) continue;
      if (auto refused = rewrite(inst)) return tl::unexpected(*refused);
    }
    Program program = b_.finish();
    program.stage = Stage::legal;
    return program;
  }

 private:
  std::optional<Error> rewrite(Inst& inst) {
    switch (inst.op) {
      case Op::load:
        return load(inst);
      case Op::store:
        return store(inst);
      case Op::vmask:
        masks_[static_cast<size_t>(inst.results[0])] = inst.data;
        return keep();
      case Op::shuffle:
        return replace(inst, cut_shuffle(b_, inst.args[0], second(inst), inst.data));
      case Op::cmp:
        return replace(inst, expand_compare(b_, inst.pred, inst.args[0], inst.args[1]));
      case Op::cvt:
        return convert(inst);
      case Op::bitcast:
        return bitcast(inst);
      case Op::mul:
      case Op::min:
      case Op::max:
      case Op::propagate:
        return replace(inst, expand_binary(b_, inst.op, inst.args[0], inst.args[1]));
      case Op::shl:
      case Op::shr:
        return replace(inst, expand_shift(b_, inst.op, inst.args[0], inst.imm));
      default:
        return keep();
    }
  }

  std::optional<Error> replace(const Inst& inst, Value by) {
    names_.replace(inst.results[0], by);
    return std::nullopt;
  }

  // ------------------------------------------------------------------------------------------- conversions
  // Lanes of 32 bits that became narrower ones.
  struct Narrowed {
    DType to = DType::u8;
    Value wide = no_value;
    bool saturate = false;
    bool fits = false;  // they have nothing but zeros above
  };

  // Lanes that are narrowed and widened again by zeros stay as wide as they are.
  std::optional<Error> convert(const Inst& inst) {
    const Value from = inst.args[0];
    const DType to = b_.type(inst.results[0]).dtype, source = b_.type(from).dtype;
    const auto known = narrowed_.find(from);
    if (known != narrowed_.end() && to == DType::u32 && info(source).cls == DTypeClass::unsigned_int) {
      const Narrowed& one = known->second;
      return replace(inst, one.fits ? one.wide : expand_narrow_bits(b_, one.to, one.wide, one.saturate));
    }
    if (to == DType::bf16) {
      const Value bits = expand_bf16_bits(b_, from);
      const Value narrow = expand_convert(b_, DType::u16, bits, false);
      const Value result = b_.bitcast(Type::vec(to, b_.type(narrow).lanes), narrow);
      narrowed_.emplace(result, Narrowed{to, bits, false, true});
      return replace(inst, result);
    }
    const Value result = expand_convert(b_, to, from, inst.saturate);
    if (!is_float(to) && !is_float(source) && bytes(source) == 4 && bytes(to) < 4)
      narrowed_.emplace(result, Narrowed{to, from, inst.saturate, false});
    return replace(inst, result);
  }

  std::optional<Error> bitcast(Inst& inst) {
    const auto known = narrowed_.find(inst.args[0]);
    if (known != narrowed_.end() && b_.type(inst.args[0]).lanes == b_.type(inst.results[0]).lanes)
      narrowed_.emplace(inst.results[0], known->second);
    return keep();
  }

  static Value second(const Inst& inst) { return inst.args.size() > 1 ? inst.args[1] : no_value; }

  // ----------------------------------------------------------------------------------------- masked accesses
  enum class Lanes { none, some, all };
  Lanes lanes(Value mask) const {
    const std::span<const int64_t> data = constant_mask(mask);
    if (data.empty()) return Lanes::some;
    const auto set = [](int64_t lane) { return lane != 0; };
    if (std::all_of(data.begin(), data.end(), set)) return Lanes::all;
    return std::any_of(data.begin(), data.end(), set) ? Lanes::some : Lanes::none;
  }

  // Empty: it is none.
  std::span<const int64_t> constant_mask(Value mask) const {
    return static_cast<size_t>(mask) < masks_.size() ? masks_[static_cast<size_t>(mask)]
                                                     : std::span<const int64_t>();
  }

  // The register of a small vector is wider than it; a computed mask says nothing of the rest.
  Value within_vector(Value mask) {
    const Type type = b_.type(mask);
    if (type.vector_bytes() >= 16 || !constant_mask(mask).empty()) return mask;
    return b_.binary(Op::and_, mask,
                     b_.vmask(type, std::vector<int64_t>(static_cast<size_t>(type.lanes), 1)));
  }

  std::optional<Error> refuse(const Type& type) const {
    return unsupported("legal.mask",
                       std::string(info(b_.isa()).text) + " has no masked access of " +
                           std::string(info(type.dtype).text) + " elements",
                       "use a schedule with tail=split")
        .value();
  }

  std::optional<Error> load(Inst& inst) {
    if (inst.args.empty()) return keep();
    const Value mask = inst.args[0], pass = inst.args[1];
    const Type type = b_.type(pass);
    switch (lanes(mask)) {
      case Lanes::all:
        inst.args.clear();
        return keep();
      case Lanes::none:
        return replace(inst, pass);
      case Lanes::some:
        break;
    }
    if (!has_masked_access(b_.isa(), type.dtype)) return refuse(type);
    inst.args[0] = within_vector(mask);
    const Value zero = b_.vconst_splat(type, 0);
    if (!masks_to_zero_only(b_.isa()) || pass == zero) return keep();
    const Value loaded = b_.load(type, inst.addr, inst.args[0], zero);
    return replace(inst, b_.select(mask, loaded, pass));
  }

  std::optional<Error> store(Inst& inst) {
    if (inst.args.size() < 2) return keep();
    const Type type = b_.type(inst.args[0]);
    switch (lanes(inst.args[1])) {
      case Lanes::all:
        inst.args.resize(1);
        return keep();
      case Lanes::none:
        return std::nullopt;
      case Lanes::some:
        break;
    }
    if (!has_masked_access(b_.isa(), type.dtype)) return refuse(type);
    const int first = first_lanes(inst.args[1]);
    const bool reaches = inst.addr.offset <= std::numeric_limits<int32_t>::max() - type.vector_bytes();
    if (first > 0 && reaches && info(b_.isa()).mask == MaskEncoding::vector) {
      store_first(inst.addr, inst.args[0], first);
      return std::nullopt;
    }
    inst.args[1] = within_vector(inst.args[1]);
    return keep();
  }

  // How many lanes a constant mask has set, if these are the first ones; else 0.
  int first_lanes(Value mask) const {
    const std::span<const int64_t> data = constant_mask(mask);
    const auto end = std::find(data.begin(), data.end(), 0);
    const bool no_more = std::all_of(end, data.end(), [](int64_t lane) { return lane == 0; });
    return no_more ? static_cast<int>(end - data.begin()) : 0;
  }

  // Zen 3 takes more than ten cycles for a masked store of AVX2; whole ones of half the lanes, a quarter and
  // so on cost little everywhere.
  void store_first(const Address& at, Value value, int count) {
    const Type type = b_.type(value);
    const int half = type.lanes / 2;
    if (count == type.lanes) return b_.store(at, value);
    store_first(at, lower_half(b_, value), std::min(count, half));
    if (count <= half) return;
    const Address behind{at.base, at.terms, at.offset + int64_t{half} * bytes(type.dtype)};
    store_first(behind, upper_half(b_, value), count - half);
  }

  std::optional<Error> keep() {
    b_.keep(insts_.take(at_));
    return std::nullopt;
  }

  NewNames names_;
  InstList insts_;
  size_t at_ = 0;                                // the instruction that is being rewritten
  std::vector<std::span<const int64_t>> masks_;  // lanes of the source's constant masks, by value
  std::unordered_map<Value, Narrowed> narrowed_;
  Builder b_;
  StrengthReduction addresses_;
};

}  // namespace

Result<Program> legalize_isa(Program program) { return Legalizer(std::move(program)).run(); }

}  // namespace pooljit::ir
