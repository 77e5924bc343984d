#include "ir/op_costs.h"

#include <algorithm>
#include <iterator>

namespace pooljit::ir {
namespace {

struct ClassInfo {
  std::string_view text;
  Unit unit;
  double latency;
};
constexpr ClassInfo classes[] = {
#define OP_CLASS(name, unit, latency) {#name, Unit::unit, latency},
#include "ir/op_classes.def"
#undef OP_CLASS
};

struct CostRow {
  std::string_view machine;
  Isa isa;
  OpCosts costs;
};
constexpr CostRow cost_rows[] = {
#define COSTS(machine, isa, load, masked_load, store, masked_store, shuffle, arithmetic, choose, divide, \
              root, convert, index, branch, decode, l1, l2, l3, memory)                                  \
  {machine,                                                                                              \
   Isa::isa,                                                                                             \
   {{load, masked_load, store, masked_store, shuffle, arithmetic, choose, divide, root, convert, index,  \
     branch},                                                                                            \
    decode,                                                                                              \
    {l1, l2, l3, memory}}},
#include "ir/op_costs.def"
#undef COSTS
};

constexpr bool has_generic_row(Isa isa) {
  return std::ranges::any_of(cost_rows,
                             [&](const CostRow& row) { return row.machine == "generic" && row.isa == isa; });
}
static_assert(std::ranges::all_of(isa_table, [](const IsaInfo& info) { return has_generic_row(info.isa); }),
              "ir/op_costs.def lacks the generic row of an instruction set");

constexpr std::string_view unit_names[] = {"load", "store", "shuffle", "arithmetic", "scalar", "decode"};

const CostRow* find_row(std::string_view machine, Isa isa) {
  return std::find_if(std::begin(cost_rows), std::end(cost_rows),
                      [&](const CostRow& row) { return row.machine == machine && row.isa == isa; });
}

}  // namespace

std::string_view name(Unit unit) { return unit_names[static_cast<size_t>(unit)]; }
std::string_view name(OpClass op) { return classes[static_cast<size_t>(op)].text; }
Unit unit_of(OpClass op) { return classes[static_cast<size_t>(op)].unit; }
double latency_of(OpClass op) { return op == OpClass::free ? 0 : classes[static_cast<size_t>(op)].latency; }

const OpCosts& costs_of(std::string_view machine, Isa isa) {
  const CostRow* found = find_row(machine, isa);
  return found == std::end(cost_rows) ? find_row("generic", isa)->costs : found->costs;
}

}  // namespace pooljit::ir
