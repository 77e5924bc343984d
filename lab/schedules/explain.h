// Why a layer gets its schedule if nothing was measured.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/choose/evidence.h"
#include "ir/cost.h"
#include "ir/error.h"
#include "ir/machine.h"
#include "ir/nest.h"
#include "runtime/kernel_options.h"

namespace pooljit::runtime {

// Why a spec gets its schedule if nothing was measured: whether each family of schedules was asked, and its
// answer.
struct Explanation {
  struct FamilyVerdict {
    struct Rule {
      std::string name, about, evidence;
    };
    std::string family;   // "channels_first"
    std::string verdict;  // "offered", "left to others", "refused" or "not asked"
    std::string reason;   // the sentence of one that did not offer
    // Rows of ir/schedules/choose/rules.def that applied: what they say about what, what was measured.
    std::vector<Rule> rules;
    // Of those that offered:
    std::string schedule;          // its first
    size_t schedules = 0;          // how many it has
    int filled_lanes = 0;          // of a vector: what decides between families
    double predicted_seconds = 0;  // of a call on one thread; 0: no code can be made of it
    std::vector<std::pair<std::string, double>> price;  // cycles per output by part: "load", ..., "memory"
  };
  std::string schedule;          // the default
  std::string decided_by;        // "it fills 8 lanes, window_rows fills 4"
  double second_over_first = 0;  // predicted seconds of the best other family's first schedule over the
                                 // default's; 0: no other family offers one
  std::string isa, machine;      // "avx2"; the row of ir/machine.def that thresholds come from
  bool output_leaves_the_caches = false;  // stores pass the caches by, where that suits
  std::vector<FamilyVerdict> families;
  // The measured quality of this family's defaults, over layers of this dtype and layout.
  std::vector<ir::Evidence> evidence;
  // Of several pools, which have no families of their own: why each has the schedule that it has alone, and
  // its spec.
  std::string spec;
  std::vector<Explanation> members;

  // What `pooljit schedules SPEC --why` prints.
  std::string text() const;
};

// Errors: "reduction.*", of layers that no schedule can do; "schedule.unpool".
ir::Result<Explanation> explain(const frontend::PoolSpec& spec, ir::Isa isa, const ir::Machine& machine);
// For this machine, as the public interfaces do it. Errors: those of resolve() too.
ir::Result<Explanation> explain(const frontend::PoolSpec& spec, const Options& options);

// A predicted cost in cycles per output by part: the units, which work at the same time, so the busiest
// counts, the waiting between them, and memory.
std::vector<std::pair<std::string, double>> price_by_part(const ir::Cost& cost);

}  // namespace pooljit::runtime
