// Layer: a nest, an instruction set and a machine, with the facts that families and the chooser ask for.
// Each fact is computed once and holds for every schedule of the layer.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "ir/error.h"
#include "ir/isa.h"
#include "ir/machine.h"
#include "ir/nest.h"
#include "ir/reductions/facts.h"

namespace pooljit::ir {

// True if the ISA can mask the loads and stores of the nest's elements.
bool can_mask(const PoolNest& nest, Isa isa);

// The smallest power of two that is at least `count`, at most the lanes that fit the ISA's vector.
int fitting_lanes(int64_t count, Isa isa, int working_bytes);

struct ChooserRule;

class Layer {
 public:
  // Errors: those of reduction_facts(). The nest and the machine must outlive the Layer. What it hands out
  // may be another nest that gives the same results: in memory order (ir/schedules/lanes/memory_order.h), or
  // with other strides of single windows (single_windows.h).
  static Result<Layer> of(const PoolNest& nest, Isa isa, const Machine& machine = generic_machine);

  // The same windows over another nest, whose facts are this one's; the nest must outlive the Layer.
  Layer over(const PoolNest& nest) const;

  const PoolNest& nest() const { return *nest_; }
  Isa isa() const { return isa_; }
  const Machine& machine() const { return *machine_; }

  const ReductionFacts& facts(LaneUse lanes) const { return facts_[static_cast<size_t>(lanes)]; }
  // Bytes of the widest lane, epilogue included, in vectors whose lanes are used so.
  int lane_bytes(LaneUse lanes) const { return lane_bytes_[static_cast<size_t>(lanes)]; }
  // The most lanes that fit a vector.
  int most_lanes(LaneUse lanes) const { return info(isa_).vector_bytes / lane_bytes(lanes); }
  // The smallest power of two that is at least `count`, at most most_lanes().
  int fitting_lanes(LaneUse lanes, int64_t count) const;

  int registers() const { return info(isa_).vector_registers; }
  // Loads and stores of the nest's elements can be masked.
  bool can_mask() const { return can_mask_; }
  // Channels that are adjacent in all views.
  int64_t adjacent_channels() const { return adjacent_channels_; }
  // The same in the views that are read; outputs may be stored one by one.
  int64_t adjacent_channels_read() const { return adjacent_channels_read_; }
  // Bytes that the windows of one image may read.
  int64_t image_bytes() const { return image_bytes_; }

  // Rows of ir/schedules/choose/rules.def that apply to the layer are noted there, each once.
  struct RuleNote {
    const ChooserRule* rule;
    int64_t answer;  // 0: no
  };
  using RuleNotes = std::vector<RuleNote>;
  void note_rules(RuleNotes* notes) { rule_notes_ = notes; }
  RuleNotes* rule_notes() const { return rule_notes_; }

 private:
  Layer(const PoolNest& nest, Isa isa, const Machine& machine);

  std::shared_ptr<const PoolNest> ordered_;  // the nest that is done in place of the given one
  const PoolNest* nest_;
  Isa isa_;
  const Machine* machine_;
  RuleNotes* rule_notes_ = nullptr;
  std::array<ReductionFacts, 3> facts_;
  std::array<int, 3> lane_bytes_ = {};
  bool can_mask_;
  int64_t adjacent_channels_, adjacent_channels_read_, image_bytes_;
};

}  // namespace pooljit::ir
