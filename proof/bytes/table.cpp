#include "proof/bytes/table.h"

#include <string_view>
#include <vector>

#include "jit/fork_gate.h"

namespace pooljit::jit::x86 {
namespace {

// Zydis names its mnemonics in capitals.
constexpr VectorRow table[] = {
#define X86(mnemonic, form, op, type, from) \
  {ZYDIS_MNEMONIC_INVALID, InstructionForm::form, {ir::Op::op, ir::DType::type, ir::DType::from}},
#include "proof/bytes/instructions.def"
#undef X86
};
constexpr std::string_view names[] = {
#define X86(mnemonic, form, op, type, from) #mnemonic,
#include "proof/bytes/instructions.def"
#undef X86
};

std::vector<VectorRow> named_rows() {
  std::vector<VectorRow> all(std::begin(table), std::end(table));
  for (int i = 1; i <= ZYDIS_MNEMONIC_MAX_VALUE; ++i) {
    const auto mnemonic = static_cast<ZydisMnemonic>(i);
    const std::string_view text = ZydisMnemonicGetString(mnemonic);
    for (size_t row = 0; row < all.size(); ++row)
      if (names[row] == text) all[row].mnemonic = mnemonic;
  }
  return all;
}

}  // namespace

std::span<const VectorRow> rows() {
  return made_once([] { return named_rows(); });
}

const VectorRow* find_row(ZydisMnemonic mnemonic) {
  return made_once([] {
    std::vector<const VectorRow*> found(ZYDIS_MNEMONIC_MAX_VALUE + 1);
    for (const VectorRow& row : rows()) found[row.mnemonic] = &row;
    return found;
  })[mnemonic];
}

std::optional<Predicates> predicates_of(uint8_t imm) {
  using ir::Predicate;
  constexpr struct {
    int imm;
    Predicates preds;
  } predicates[] = {
      {0, {Predicate::eq, {}}},
      {1, {Predicate::lt, {}}},
      {2, {Predicate::le, {}}},
      {3, {Predicate::un, {}}},
      {4, {Predicate::ne, {}}},
      {5, {Predicate::ge, Predicate::un}},
      {6, {Predicate::gt, Predicate::un}},
      {7, {Predicate::le, Predicate::gt}},
      {8, {Predicate::eq, Predicate::un}},
      {9, {Predicate::lt, Predicate::un}},
      {10, {Predicate::le, Predicate::un}},
      {12, {Predicate::lt, Predicate::gt}},
      {13, {Predicate::ge, {}}},
      {14, {Predicate::gt, {}}},
  };
  for (const auto& row : predicates)
    if (row.imm == (imm & 15)) return row.preds;  // the fifth bit says only which NaNs raise flags
  return std::nullopt;
}

std::optional<ir::Predicate> order_of(uint8_t imm) {
  using ir::Predicate;
  switch (imm & 7) {
    case 0:
      return Predicate::eq;
    case 1:
      return Predicate::lt;
    case 2:
      return Predicate::le;
    case 4:
      return Predicate::ne;
    case 5:
      return Predicate::ge;
    case 6:
      return Predicate::gt;
    default:  // always or never
      return std::nullopt;
  }
}

}  // namespace pooljit::jit::x86
