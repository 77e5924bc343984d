// The kernels that mutants (tests/proof/mutants.h) are made of: each layer on each ISA that this machine
// runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/program.h"
#include "jit/backend.h"
#include "runtime/proof/verify.h"

namespace pooljit::tests {

struct Subject {
  frontend::PoolSpec spec;  // with free dims: of the code for all sizes
  runtime::Choices choices;
  ir::PoolNest nest;
  ir::Program program;
  jit::CodeBlob blob;
};

uint64_t subject_count();
std::string_view layer_of_subject(uint64_t number);
bool is_of_all_sizes(uint64_t number);
// None: the ISA has no such kernel.
std::optional<Subject> make_subject(uint64_t number);

// Where a subject is run: of code for all sizes the sizes that are proved, of other code there is one.
struct SubjectSize {
  frontend::PoolSpec spec;
  ir::PoolNest nest;
  std::vector<std::vector<int64_t>> words;
};
std::vector<SubjectSize> places_of(const Subject& subject);
// Of code for all sizes: at each of these that it serves.
std::vector<SubjectSize> places_at(const Subject& subject, const std::vector<std::vector<int64_t>>& sizes);
// Of code for all sizes, some that are not proved.
std::vector<SubjectSize> other_places_of(const Subject& subject);

// Bytes as the subject's code, at a place.
runtime::CodePtr code_at(const Subject& subject, const jit::CodeBlob& blob, const SubjectSize& place);
// Errors: those of runtime::prove_code.
ir::Result<runtime::Proof> prove(const Subject& subject, const jit::CodeBlob& blob,
                                 const runtime::ProofLimits& limits = {});
ir::Result<runtime::Proof> prove_at(const Subject& subject, const jit::CodeBlob& blob,
                                    const SubjectSize& place, const runtime::ProofLimits& limits = {});

}  // namespace pooljit::tests
