// Prints for each spec of some problem files, on both instruction sets, the default schedule and what its
// code is: `ISA<TAB>SCHEDULE<TAB>BYTES<TAB>HASH<TAB>SPEC` a line, or the error's id in place of the last but
// one three. For scripts/same-code, which compares two commits: it asks only for what every version of
// pooljit has.
//   print_code FILE...
#include <fmt/format.h>

#include <cstdint>

#include "frontend/pool_spec.h"
#include "jit/backend.h"
#include "runtime/engines.h"
#include "tools/problem_file.h"

namespace {

using namespace pooljit;

// FNV-1a.
uint64_t hash_of(std::span<const uint8_t> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// What the constants that the code reads and the tables that its caller hands over say is part of it.
std::string code_of(const ir::Program& program) {
  const auto blob = jit::emit(jit::BackendId::xbyak, program);
  if (!blob) return blob.error().id;
  const auto* begin = blob->code.data();
  uint64_t tables = 0;
  for (const auto& table : program.tables)
    for (const int64_t number : table) tables = tables * 31 + static_cast<uint64_t>(number);
  return fmt::format("{}\t{:016x}-{:x}", blob->code.size(), hash_of({begin, blob->code.size()}), tables);
}

void print_codes(const std::string& text) {
  const auto spec = frontend::parse_spec(text);
  if (!spec) return void(fmt::print("{}\t{}\n", spec.error().id, text));
  const ir::PoolNest nest = make_nest(*spec);
  for (const ir::IsaInfo& isa : ir::isa_table) {
    runtime::Choices choices;
    choices.isa = isa.isa;
    choices.schedule = runtime::chosen_schedule(nest, choices);
    const auto program = runtime::make_program(nest, choices, ir::Stage::legal);
    fmt::print("{}\t{}\t{}\t{}\n", isa.text, ir::print(*choices.schedule),
               program ? code_of(*program) : std::string(program.error().id), text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto problems = tools::read_problems(argv[i]);
    if (!problems) {
      fmt::print(stderr, "{}\n", ir::to_string(problems.error()));
      return 1;
    }
    for (const tools::Problem& problem : *problems) print_codes(problem.spec);
  }
}
