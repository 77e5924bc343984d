// Prints for each spec of some problem files, on both instruction sets, the default schedule and its machine
// code: `ISA<TAB>SCHEDULE<TAB>BYTES<TAB>HASH<TAB>SPEC` a line, or `ISA<TAB>SCHEDULE<TAB>ERROR ID<TAB>SPEC`.
// --others N: the same for N more schedules of each spec, spread over all that lower() takes.
// For scripts/same-code, which compares two commits: it asks only for what every version of pooljit has.
//   print_code [--others N] FILE...
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "frontend/pool_spec.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/space.h"
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

void print_code(const ir::PoolNest& nest, const runtime::Choices& choices, const std::string& text) {
  const auto program = runtime::make_program(nest, choices, ir::Stage::legal);
  fmt::print("{}\t{}\t{}\t{}\n", ir::info(choices.isa).text, ir::print(*choices.schedule),
             program ? code_of(*program) : std::string(program.error().id), text);
}

// Steps through the space from a place that depends on the spec, so that together the specs see all of it.
void print_others(const ir::PoolNest& nest, runtime::Choices choices, const std::string& text, int others) {
  constexpr size_t step = 7919, tries_each = 32;  // a prime: it comes by every schedule
  const std::vector<ir::Schedule> space = ir::schedule_space(nest, choices.isa);
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  size_t place = hash_of({bytes, text.size()}) % std::max<size_t>(space.size(), 1);
  for (size_t tried = 0; others > 0 && tried < space.size() && tried < tries_each * size_t(others); ++tried) {
    choices.schedule = space[place];
    place = (place + step) % space.size();
    if (!ir::lower(nest, *choices.schedule, choices.isa)) continue;
    print_code(nest, choices, text);
    --others;
  }
}

void print_codes(const std::string& text, int others) {
  const auto spec = frontend::parse_spec(text);
  if (!spec) return void(fmt::print("{}\t{}\n", spec.error().id, text));
  const ir::PoolNest nest = make_nest(*spec);
  for (const ir::IsaInfo& isa : ir::isa_table) {
    runtime::Choices choices;
    choices.isa = isa.isa;
    choices.schedule = runtime::chosen_schedule(nest, choices);
    print_code(nest, choices, text);
    print_others(nest, choices, text, others);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_others = argc > 2 && std::string_view(argv[1]) == "--others";
  const int others = has_others ? std::atoi(argv[2]) : 0;
  for (int i = has_others ? 3 : 1; i < argc; ++i) {
    const auto problems = tools::read_problems(argv[i]);
    if (!problems) {
      fmt::print(stderr, "{}\n", ir::to_string(problems.error()));
      return 1;
    }
    for (const tools::Problem& problem : *problems) print_codes(problem.spec, others);
  }
}
