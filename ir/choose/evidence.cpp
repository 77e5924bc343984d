#include "ir/choose/evidence.h"

#include "ir/choose/lying.h"

namespace pooljit::ir {
namespace {

struct Row {
  Isa isa;
  DType dtype;
  Lying lying;
  Family family;
  Evidence evidence;
};

constexpr Row rows[] = {
#define EVIDENCE(isa, dtype, lying, family, machine, layers, within, loss, worst) \
  {Isa::isa, DType::dtype, Lying::lying, Family::family, {machine, layers, within, loss, worst}},
#include "ir/choose/evidence.def"
#undef EVIDENCE
};

}  // namespace

std::vector<Evidence> evidence_of(const PoolNest& nest, Isa isa, Family family) {
  std::vector<Evidence> found;
  for (const Row& row : rows)
    if (row.isa == isa && row.dtype == nest.input.dtype && row.lying == lying_of(nest.input) &&
        row.family == family)
      found.push_back(row.evidence);
  return found;
}

}  // namespace pooljit::ir
