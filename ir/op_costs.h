// OpCosts: cycles of each kind of instruction on one processor, as data (ir/op_costs.def).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ir/isa.h"

namespace pooljit::ir {

// Units that instructions wait for. Each does its own work, all of them at the same time.
enum class Unit : uint8_t { load, store, shuffle, arithmetic, scalar, decode };
inline constexpr size_t unit_count = 6;
std::string_view name(Unit unit);

enum class OpClass : uint8_t {
#define OP_CLASS(name, unit, latency) name,
#include "ir/op_classes.def"
#undef OP_CLASS
  free  // makes no instruction
};
inline constexpr size_t op_class_count = static_cast<size_t>(OpClass::free);
std::string_view name(OpClass op);
Unit unit_of(OpClass op);       // not of free
double latency_of(OpClass op);  // cycles until what is carried can be used; of free 0

struct OpCosts {
  std::array<double, op_class_count> cycles{};  // of the unit, per instruction
  double decode = 0;                            // per instruction of any kind
  std::array<double, 4> level_bytes{};          // per cycle, moved through L1, L2, L3 and memory by one core
};

// The row of a machine's text; the generic row of the instruction set where there is none.
const OpCosts& costs_of(std::string_view machine, Isa isa);

}  // namespace pooljit::ir
