#include "runtime/linked_code.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

#include "ir/general/size_words.h"
#include "ir/pools.h"
#include "ir/schedule_text.h"
#include "jit/fork_gate.h"
#include "runtime/cpu_features.h"
#include "runtime/float_control.h"
#include "runtime/limits.h"
#include "runtime/native_code.h"
#include "runtime/sized_code.h"

namespace pooljit::runtime {
namespace {

ir::Error other_version(const pooljit_linked_code& code) {
  return {ir::ErrorKind::unsupported, "link.version",
          fmt::format("the code of {} was exported by pooljit {}, the library is {}", code.spec, code.version,
                      POOLJIT_VERSION),
          "export it again with the command of this library"};
}

// The best one that this machine runs; null: none.
const LinkedBody* body_of(const pooljit_linked_code& code) {
  for (int64_t i = code.body_count; i-- > 0;) {
    const auto isa = ir::find_isa(code.bodies[i].isa);
    if (isa && can_run(*isa)) return &code.bodies[i];
  }
  return nullptr;
}

// The parts of a Program that a run reads.
ir::Program program_of(const LinkedBody& body) {
  ir::Program program;
  for (const LinkedParam& param : std::span(body.params, static_cast<size_t>(body.param_count)))
    program.params.push_back({static_cast<ir::Param::Role>(param.role), static_cast<int>(param.number)});
  for (const int64_t extent : std::span(body.tasks, static_cast<size_t>(body.task_count)))
    program.tasks.push_back({"", extent});
  for (const LinkedTable& table : std::span(body.tables, static_cast<size_t>(body.table_count)))
    program.tables.emplace_back(table.words, table.words + table.count);
  program.scratch_bytes = body.scratch_bytes;
  return program;
}

bool has_words_of(const pooljit_linked_code& code, const ir::PoolNest& general) {
  const auto pools = pools_of(general);
  if (pools.size() != static_cast<size_t>(code.pool_count)) return false;
  for (size_t i = 0; i < pools.size(); ++i)
    if (ir::size_word_count(pools[i]) != code.word_counts[i]) return false;
  return true;
}

ir::Result<FreeKernelPtr> make_kernel(const pooljit_linked_code& code) {
  if (std::string_view(code.version) != POOLJIT_VERSION) return tl::unexpected(other_version(code));
  const LinkedBody* const body = body_of(code);
  if (!body)
    return ir::unsupported("link.isa", fmt::format("{} was exported for no ISA of this machine", code.spec),
                           "pooljit export --isa " + ir::isa_texts(",", ","));
  auto spec = frontend::parse_spec(code.spec, frontend::FreeDims::allowed);
  const auto schedule = ir::parse_schedule(body->schedule);
  const auto engine = find_engine(code.backend);
  if (!spec || !schedule || !engine) return tl::unexpected(other_version(code));
  const Choices choices{*engine, *ir::find_isa(body->isa), *schedule};
  auto general = general_nest_of(*spec, choices);
  if (!general || !has_words_of(code, *general)) return tl::unexpected(other_version(code));
  const ir::Program program = program_of(*body);
  CodeInfo facts;
  facts.nest = std::move(*general);
  facts.signature = signature(*spec);
  facts.backend = info(*engine).text;
  facts.isa = ir::info(choices.isa).text;
  facts.schedule = body->schedule;
  facts.proof = body->proof;
  facts.tasks = program.tasks;
  jit::CodeBlob blob;
  blob.entry = body->entry;
  blob.isa = choices.isa;
  blob.code = {reinterpret_cast<const uint8_t*>(body->entry), static_cast<size_t>(body->code_bytes)};
  Options options;
  options.threads = 1;
  options.exact_after = never_exact;
  return std::make_shared<const FreeKernel>(
      std::move(*spec), std::move(options), false,
      FreeKernel::General{std::make_shared<NativeCode>(std::move(facts), program, std::move(blob), nullptr),
                          "one code for all sizes, linked", false});
}

}  // namespace

ir::Result<FreeKernelPtr> linked_kernel(const pooljit_linked_code& code) {
  const std::atomic_ref<const FreeKernelPtr*> slot(*code.kernel);
  if (const FreeKernelPtr* const known = slot.load(std::memory_order_acquire)) return *known;
  const jit::HoldForks hold;
  const FloatControl control;
  auto made = make_kernel(code);
  if (!made) return made;
  auto mine = std::make_unique<const FreeKernelPtr>(*made);
  const FreeKernelPtr* before = nullptr;
  if (slot.compare_exchange_strong(before, mine.get(), std::memory_order_acq_rel)) {
    std::ignore = mine.release();  // for good
    return made;
  }
  return *before;  // another thread was first
}

}  // namespace pooljit::runtime
