// A kernel of `pooljit export`: the code that the JIT would make of one spec, for several ISAs, and the facts
// about it that the header and NAME_info have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "runtime/code.h"
#include "runtime/engines.h"

namespace pooljit::runtime {

struct ExportOptions {
  std::vector<ir::Isa> isas;  // in the order of ir/isa.def, each once; this machine need not have them
  Engine engine = Engine::xbyak;
  std::optional<ir::Schedule> schedule;  // absent: the database's, or the default
  std::string tune_db;                   // empty: none
  bool verify = false;
};

// A view of memory: in logical order, N (if batched), C, spatial. Strides in elements; in a blocked layout
// the one of C is the distance of two blocks. With free dims what depends on the size is 0.
struct ExportedTensor {
  std::string_view dtype;
  std::vector<int64_t> shape, strides;
  int64_t bytes = 0;  // from the first element to the last, of the spec's batch
};

struct ExportedCode {
  ir::Isa isa = ir::least_isa;
  CodePtr code;
  std::string proof;  // empty: nothing was asked for
};

struct ExportedKernel {
  std::string name;  // of its C function
  frontend::PoolSpec spec;
  std::string text;  // canonical
  std::string_view backend;
  ExportedTensor input;
  // Several only of several pools; indices: of those members that have them.
  std::vector<ExportedTensor> outputs, indices;
  std::vector<ExportedTensor> operands;
  int64_t scratch_bytes = 0;  // of the ISA that wants most
  std::vector<ExportedCode> codes;

  // One code for all sizes, which the library runs (runtime/linked_code.h).
  bool is_free() const { return has_free_dims(spec); }
  bool has_batch() const { return spec.batch.has_value(); }
  bool writes_indices() const { return spec.direction == ir::Direction::forward; }
};

// Errors: those of parse_spec, the tuning database and the engines; "export.name" (no C identifier, a word of
// C or C++, or a name of the header's own), "export.unpool", "general.unsupported" (there is no code for all
// sizes), "export.verify" (this machine cannot run what is to be proved), "prove.*".
ir::Result<ExportedKernel> make_exported(const std::string& name, std::string_view spec_text,
                                         const ExportOptions& options);

// The symbols that its object exports: the functions and NAME_info. With free dims NAME_code in place of the
// functions, which the header defines.
std::vector<std::string> global_symbols(const ExportedKernel& kernel);
// The other names that the header defines.
std::vector<std::string> header_names(const ExportedKernel& kernel);

}  // namespace pooljit::runtime
