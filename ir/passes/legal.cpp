#include "ir/passes/legal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

#include "ir/passes/shuffle_forms.h"

namespace pooljit::ir {
namespace {

using Set = uint32_t;  // of dtypes, a bit each

constexpr Set of(std::initializer_list<DType> dtypes) {
  Set set = 0;
  for (DType dtype : dtypes) set |= 1u << static_cast<int>(dtype);
  return set;
}
constexpr bool contains(Set set, DType dtype) { return set >> static_cast<int>(dtype) & 1; }

constexpr Set floats = of({DType::f32, DType::f64});
constexpr Set bytes1 = of({DType::u8, DType::i8});
constexpr Set bytes2 = of({DType::u16, DType::i16});
constexpr Set bytes4 = of({DType::u32, DType::i32});
constexpr Set bytes8 = of({DType::u64, DType::i64});
constexpr Set ints = bytes1 | bytes2 | bytes4 | bytes8;
constexpr Set signed_ints = of({DType::i8, DType::i16, DType::i32, DType::i64});
constexpr Set all = ints | floats;

// Of the rows below: the first row of ir/isa.def that has it. Those after it have it too.
constexpr Isa avx2 = Isa::avx2;
constexpr Isa avx512 = Isa::avx512;

struct OpRow {
  Op op;
  Set dtypes;
  Isa since;
};
constexpr OpRow op_rows[] = {
    {Op::add, all, avx2},
    {Op::sub, all, avx2},
    {Op::mul, bytes2 | bytes4 | floats, avx2},
    {Op::mul, bytes8, avx512},
    {Op::mulh, of({DType::u16, DType::i16}), avx2},
    {Op::mull, of({DType::u64}), avx2},
    {Op::div, floats, avx2},
    {Op::sqrt, floats, avx2},
    {Op::fma, floats, avx2},
    {Op::propagate, floats, avx512},
    {Op::min, bytes1 | bytes2 | bytes4 | floats, avx2},
    {Op::max, bytes1 | bytes2 | bytes4 | floats, avx2},
    {Op::min, bytes8, avx512},
    {Op::max, bytes8, avx512},
    {Op::and_, all, avx2},
    {Op::or_, all, avx2},
    {Op::shl, bytes2 | bytes4 | bytes8, avx2},
    {Op::shr, bytes2 | bytes4 | of({DType::u64}), avx2},
    {Op::shr, of({DType::i64}), avx512},
};

constexpr size_t isas = std::size(isa_table);
constexpr size_t op_count = 0
#define OP(name, group, operands, result, effect, equation) +1
#include "ir/ops.def"
#undef OP
    ;

// The rows by op and ISA.
constexpr auto dtypes_of = [] {
  std::array<std::array<Set, isas>, op_count> sets{};
  for (const OpRow& row : op_rows)
    for (const IsaInfo& isa : isa_table)
      if (row.since <= isa.isa) sets[static_cast<size_t>(row.op)][static_cast<size_t>(isa.isa)] |= row.dtypes;
  return sets;
}();
static_assert(
    std::ranges::all_of(isa_table,
                        [](const IsaInfo& isa) {
                          return dtypes_of[static_cast<size_t>(Op::add)][static_cast<size_t>(isa.isa)] != 0;
                        }),
    "an instruction set of ir/isa.def has no operations here");

struct CompareRow {
  std::initializer_list<Predicate> preds;
  Set dtypes;
  Isa since;
};
const CompareRow compare_rows[] = {
    {{Predicate::eq, Predicate::ne, Predicate::lt, Predicate::le, Predicate::gt, Predicate::ge,
      Predicate::un},
     floats,
     avx2},
    {{Predicate::eq, Predicate::ne, Predicate::lt, Predicate::le, Predicate::gt, Predicate::ge},
     ints,
     avx512},
    {{Predicate::eq}, ints, avx2},
    {{Predicate::gt}, signed_ints, avx2},
};

// From any of `from` to any of `to`.
struct ConvertRow {
  Set from, to;
  Isa since;
};
constexpr ConvertRow float_convert_rows[] = {
    {of({DType::i32}), floats, avx2},           {floats, of({DType::i32}), avx2},
    {of({DType::f16}), of({DType::f32}), avx2}, {of({DType::f32}), of({DType::f16}), avx2},
    {of({DType::f32}), of({DType::f64}), avx2}, {of({DType::f64}), of({DType::f32}), avx2},
    {of({DType::i64}), floats, avx512},         {floats, of({DType::i64}), avx512},
};

}  // namespace

bool has_op(Isa isa, Op op, DType dtype) {
  return contains(dtypes_of[static_cast<size_t>(op)][static_cast<size_t>(isa)], dtype);
}

bool has_compare(Isa isa, Predicate pred, DType dtype) {
  for (const CompareRow& row : compare_rows) {
    if (!contains(row.dtypes, dtype) || row.since > isa) continue;
    for (Predicate known : row.preds)
      if (known == pred) return true;
  }
  return false;
}

bool has_convert(Isa isa, DType from, DType to, bool saturate) {
  if (is_float(from) || is_float(to)) {
    for (const ConvertRow& row : float_convert_rows)
      if (contains(row.from, from) && contains(row.to, to) && row.since <= isa) return !saturate;
    return false;
  }
  if (bytes(to) > bytes(from)) return !saturate;
  const bool same_sign = is_signed_int(from) == is_signed_int(to);
  return isa >= avx512 && bytes(to) < bytes(from) && (same_sign || !saturate);
}

bool has_masked_access(Isa isa, DType dtype) { return info(isa).masks_narrow || bytes(dtype) >= 4; }

bool masks_to_zero_only(Isa isa) { return info(isa).mask == MaskEncoding::vector; }

std::optional<std::string> why_not_legal(const Program& program, const Inst& inst) {
  const std::string_view isa = info(program.isa).text;
  if (inst.results.empty() && inst.op != Op::store) return std::nullopt;
  const Type& type = program.type(
      inst.op == Op::store || inst.op == Op::cmp || inst.op == Op::cvt ? inst.args[0] : inst.results[0]);
  const auto missing = [&](std::string_view what) {
    return fmt::format("{} has no {} of {}", isa, what, info(type.dtype).text);
  };
  if (!inst.addr.terms.empty()) return "an address has loop terms";
  switch (inst.op) {
    case Op::load:
    case Op::store: {
      const bool masked = inst.args.size() == 2;
      if (masked && !has_masked_access(program.isa, type.dtype)) return missing("masked access");
      return std::nullopt;
    }
    case Op::shuffle:
      if (!shuffle_form(program.isa, program.type(inst.args[0]), inst.args.size() == 2, inst.data))
        return missing("single shuffle for these lanes");
      return std::nullopt;
    case Op::cmp:
      if (!has_compare(program.isa, inst.pred, type.dtype)) return missing("such comparison");
      return std::nullopt;
    case Op::cvt:
      if (!has_convert(program.isa, type.dtype, program.type(inst.results[0]).dtype, inst.saturate))
        return missing("such conversion");
      return std::nullopt;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::mulh:
    case Op::mull:
    case Op::div:
    case Op::min:
    case Op::max:
    case Op::propagate:
    case Op::fma:
    case Op::sqrt:
    case Op::and_:
    case Op::or_:
    case Op::shl:
    case Op::shr:
      if (type.kind == Type::Kind::vec && !has_op(program.isa, inst.op, type.dtype))
        return missing(info(inst.op).text);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace pooljit::ir
