// Machine code of the whole matrix can be read: whatever a back end chose to emit, the decode of the proof
// finds branches and addresses that follow counters, knows each instruction that touches data, and sees data
// multiplied with data in powers only. Nothing is run here, so every instruction set is read on any machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <tuple>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "proof/bytes/inspect.h"
#include "runtime/engines.h"
#include "runtime/proof/rounds.h"
#include "tests/matrix/specs.h"

namespace pooljit::runtime {
namespace {

// So many of the matrix; else those that have each pair of settings.
std::vector<tests::MatrixSpec> specs() {
  const char* const wanted = std::getenv("POOLJIT_INSPECT_SPECS");
  return wanted ? tests::matrix(std::strtoul(wanted, nullptr, 10)) : tests::pairs_of_matrix(1);
}

// By engine and block of specs.
constexpr size_t blocks = 4;
class Inspect : public testing::TestWithParam<std::tuple<const EngineInfo*, size_t>> {};

std::vector<const EngineInfo*> native_engines() {
  std::vector<const EngineInfo*> native;
  for (const EngineInfo& engine : engines())
    if (engine.is_native && is_built(engine.engine)) native.push_back(&engine);
  return native;
}
INSTANTIATE_TEST_SUITE_P(
    Engine, Inspect, testing::Combine(testing::ValuesIn(native_engines()), testing::Range<size_t>(0, blocks)),
    [](const auto& test) {
      return fmt::format("{}_{}", std::get<0>(test.param)->text, std::get<1>(test.param));
    });

// What nothing shows to be right is printed once per sentence, with the number of kernels.
struct Refusals {
  std::string first;
  int64_t kernels = 0;
};

TEST_P(Inspect, EveryKernelOfTheMatrixIsRead) {
  std::map<std::string, Refusals> refused;
  int64_t read = 0;
  const EngineInfo* const engine = std::get<0>(GetParam());
  const std::vector<tests::MatrixSpec> matrix = specs();
  for (size_t i = std::get<1>(GetParam()); i < matrix.size(); i += blocks) {
    const ir::PoolNest nest = make_nest(matrix[i].spec);
    if (nest.direction == ir::Direction::unpool) continue;  // it runs no machine code
    for (const ir::IsaInfo& isa : ir::isa_table) {
      const std::vector<ir::Schedule> schedules = enumerate_schedules(nest, isa.isa);
      if (schedules.empty()) continue;
      const Choices choices = {engine->engine, isa.isa, schedules[i / blocks % schedules.size()]};
      const auto code = engine->make(nest, choices);
      ASSERT_TRUE(code) << print(matrix[i].spec) << "\n" << ir::to_string(code.error());
      const auto machine = (*code)->machine();
      const auto facts = jit::inspect(*machine->blob, machine->params);
      if (facts) {
        EXPECT_TRUE(facts->may_be_called) << print(matrix[i].spec);
        EXPECT_FALSE(facts->products && !has_tested_values(nest) &&
                     argument_of(nest) != ProofArgument::product)
            << print(matrix[i].spec) << " " << print(*choices.schedule) << " " << isa.text << "\n"
            << facts->product;
        ++read;
        continue;
      }
      const std::string& why = facts.error().message;
      const std::string_view from_mnemonic = std::string_view(why).substr(why.find('(') + 1);
      const std::string_view mnemonic = from_mnemonic.substr(0, from_mnemonic.find(' '));
      Refusals& same = refused[fmt::format("{}: {}", mnemonic, why.substr(why.rfind(':') + 2))];
      if (same.kernels++ == 0)
        same.first = print(matrix[i].spec) + " " + print(*choices.schedule) + " " + std::string(isa.text);
    }
  }
  EXPECT_GT(read, 0);
  for (const auto& [why, same] : refused)
    ADD_FAILURE() << same.kernels << " kernels: " << why << "\nfirst in " << same.first;
}

}  // namespace
}  // namespace pooljit::runtime
