#include "runtime/proof/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "frontend/pool_spec.h"
#include "ir/schedule.h"
#include "ir/schedule_text.h"
#include "runtime/memory_view.h"
#include "runtime/proof/child.h"
#include "runtime/proof/general.h"
#include "runtime/proof/member.h"
#include "runtime/proof/read_code.h"
#include "runtime/proof/shrink.h"
#include "runtime/proof/symbolic.h"
#include "runtime/proof/tensor.h"
#include "runtime/proof/through.h"
#include "runtime/tuning/choose.h"

namespace pooljit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// Bytes of a batch beyond which one batch has to do.
constexpr int64_t most_bytes_for_two = 64 << 20;

// Given strides may say nothing of a second batch, or put it into the first.
bool has_room_for_two(const ir::PoolNest& nest) {
  const auto has_room = [](const ir::View& view, const MemoryView& one) {
    return view.batch_stride * ir::bytes(view.dtype) >= one.span_bytes();
  };
  return has_room(nest.input, input_view(nest, 1)) && has_room(nest.output, output_view(nest, 1)) &&
         (!nest.indices || has_room(*nest.indices, indices_view(nest, 1)));
}

// One kernel serves every batch size, so where there is room for two batches there are two, whatever the
// spec's own: else nobody would see a wrong step from batch to batch.
int64_t probed_batch(const frontend::PoolSpec& spec, const ir::PoolNest& nest) {
  const int64_t own = std::clamp(spec.batch.value_or(1), int64_t{1}, int64_t{2});
  const int64_t most = spec.batch && has_room_for_two(nest) ? 2 : own;
  const int64_t bytes = input_view(nest, 1).span_bytes() + output_view(nest, 1).span_bytes();
  return bytes > most_bytes_for_two ? 1 : most;
}

// Facts that steps of an epilogue hide, and facts of them that are only tested.
void say_what_steps_leave(const ir::PoolNest& nest, Proof& proof) {
  if (nest.epilogue.empty()) return;
  if (!has_all_steps(nest))
    proof.left.push_back(fmt::format("what the steps make of values, which is tested with {} inputs",
                                     proof.probes.count(Part::steps)));
  if (proof.probes.untold > 0)
    proof.left.push_back(fmt::format(
        "{} outputs of a plane that the numbers tried for an operand did not change", proof.probes.untold));
  for (const std::string_view hidden : hidden_by_steps(nest)) proof.left.emplace_back(hidden);
}

void say_what_is_left(const ir::PoolNest& nest, bool by_keys, Proof& proof) {
  if (proof.program_outputs == 0) proof.left.emplace_back("the Program is not proved symbolically");
  if (argument_of(nest) == ProofArgument::extremum && by_keys && proof.program_outputs == 0)
    proof.left.emplace_back(
        "elements are compared as integer keys: that these keep the order of floats is tested");
  const Rounds& rounds = proof.probes.rounds;
  if (has_tested_values(nest) && argument_of(nest) != ProofArgument::product)
    proof.left.emplace_back(
        "the value of the power function, which is tested; which elements reach it is proved");
  else if (rounds.claim == Claim::tested)
    proof.left.push_back(fmt::format(
        "weights, which are tested with {} inputs: the steps leave too little of a result to decide them",
        rounds.rounds));
  else if (rounds.rounds > 0)
    proof.left.push_back(fmt::format("weights: a wrong kernel passes with probability 2^{:.0f}{}",
                                     rounds.log2_error, sentence(rounds.claim)));
  if (rounds.rounds > 0 && ir::is_float(nest.output.dtype))
    proof.left.emplace_back(argument_of(nest) == ProofArgument::product
                                ? "how products of other than powers of two are rounded"
                                : "how sums of other than small whole numbers are rounded");
  say_what_steps_leave(nest, proof);
}

ir::Result<void> probe_all(const Code& code, const Member& member, const Choices& choices,
                           const ProofLimits& limits, Proof& proof) {
  if (proof.ok() && !code.info.schedule.empty())
    if (auto done = prove_program(member, choices, limits, proof); !done) return done;
  if (!proof.ok() || proof.probes.batch == 0) return {};
  auto report = probe_in_child(code, proof.probes.batch, limits.seconds);
  if (!report) return tl::unexpected(report.error());
  proof.probes = std::move(*report);
  proof.failure = proof.probes.failure;
  return {};
}

ir::Result<std::shared_ptr<Code>> make_code(const frontend::PoolSpec& spec, const Choices& choices) {
  if (const auto has = has_schedules(spec); !has) return tl::unexpected(has.error());
  const EngineInfo& engine = info(choices.engine);
  auto code = engine.make(frontend::make_nest(spec), choices);
  if (code) (*code)->info.backend = engine.text;
  return code;
}

// The version that is made like another: for outputs that are aligned, or for all.
const Code& same_version(const Code& code, const Code& like) {
  for (const Code* version : code.versions())
    if ((version->info.output_alignment > 1) == (like.info.output_alignment > 1)) return *version;
  return code;
}

// The choices that make just this code.
Choices choices_of(const Code& code, Choices choices) {
  if (!code.info.schedule.empty()) choices.schedule = *ir::parse_schedule(code.info.schedule);
  return choices;
}

// Code for a smaller tensor by the same schedule; where that does not suit it with stores into the caches,
// or else as the caller chose.
ir::Result<std::shared_ptr<Code>> make_smaller(const frontend::PoolSpec& small, const Code& whole,
                                               const Choices& choices) {
  Choices same = choices_of(whole, choices);
  auto made = make_code(small, same);
  if (made || !same.schedule) return made;
  same.schedule->stores = ir::Stores::cached;
  made = make_code(small, same);
  return made ? made : make_code(small, choices);
}

// Where a smaller tensor is done by other loops (bands of rows, say), the whole one is probed, if that costs
// no more than so many times the limit.
constexpr double whole_factor = 100;

// Whether two pieces of code count as having the same loops: as many, of which as many can be split.
bool have_same_loops(const Code& a, const Code& b, const std::optional<jit::CodeFacts>& facts_a,
                     const std::optional<jit::CodeFacts>& facts_b) {
  return a.info.tasks.size() == b.info.tasks.size() &&
         (!facts_a || !facts_b || facts_a->branches == facts_b->branches);
}

// Rows that are walked in pieces take several of these: so many times the least that windows need, or all.
constexpr int64_t wider_rows[] = {1, 2, 3, 4, 6, 8, whole_rows};

// The same layer, smaller, its code, and what is wrong with the bytes of that.
struct Smaller {
  frontend::PoolSpec spec;
  Member member;
  CodePtr code;
  std::string failure;
};

// None: those that are small enough are done by other loops.
ir::Result<std::optional<Smaller>> with_same_loops(const Code& whole, const frontend::PoolSpec& spec,
                                                   const Choices& choices, double most_work,
                                                   const Proof& proof) {
  for (const int64_t wider : wider_rows) {
    const auto small = shrunk(spec, most_work, wider);
    if (!small && wider == 1)
      return ir::unsupported("prove.size",
                             "the tensor is too large to be probed, and so are smaller ones like it",
                             "pooljit verify --limit raises what probing may cost");
    if (!small) break;
    auto made = make_smaller(*small, whole, choices);
    if (!made) return tl::unexpected(made.error());
    const Code& code = same_version(**made, whole);
    Proof of_small;
    inspect(code, compares_keys(code, Member(code.info.nest), choices.isa), of_small);
    if (have_same_loops(whole, code, proof.code, of_small.code))
      return Smaller{*small, Member(code.info.nest), std::move(*made), of_small.failure};
  }
  return std::nullopt;
}

// The same of one of several pools: of fewer channels, in tasks of as many.
ir::Result<std::optional<Smaller>> with_fewer_channels(const Code& whole, const Member& member,
                                                       const frontend::PoolSpec& spec, const Choices& choices,
                                                       const ProofLimits& limits, const Proof& proof) {
  constexpr std::string_view channels = "c";
  const auto cut = std::ranges::find(whole.info.tasks, channels, &ir::TaskDim::name);
  const auto small = fewer_channels(spec, cut == whole.info.tasks.end() ? 1 : cut->extent);
  if (!small) return std::nullopt;
  Choices same = choices_of(whole, choices);
  if (same.schedule && small->pieces > 1) same.schedule->tasks.channels = static_cast<int>(small->pieces);
  auto made = make_code(small->spec, same);
  if (!made) return tl::unexpected(made.error());
  const Member like(std::make_shared<const ir::PoolNest>((*made)->info.nest), member.number());
  const CodePtr code = like.code_of(*made);
  if (probing_work(code->info.nest, proof.probes.batch) > whole_factor * limits.work) return std::nullopt;
  Proof of_small;
  inspect(*code, compares_keys(*code, like, choices.isa), of_small);
  if (!have_same_loops(whole, *code, proof.code, of_small.code)) return std::nullopt;
  return Smaller{small->spec, like, code, of_small.failure};
}

ir::Result<void> probe_smaller(const Code& whole, const Member& member, const frontend::PoolSpec& spec,
                               const Choices& choices, const ProofLimits& limits, double most_work,
                               bool is_executed, Proof& proof) {
  if (!member.sizes().empty())
    return ir::unsupported("prove.size", "so large a tensor is not probed at each size",
                           "pooljit verify --limit raises what probing may cost");
  auto small = member.is_alone() ? with_same_loops(whole, spec, choices, most_work, proof)
                                 : with_fewer_channels(whole, member, spec, choices, limits, proof);
  if (!small) return tl::unexpected(small.error());
  if (!*small) {
    if (probing_work(whole.info.nest, proof.probes.batch) > whole_factor * limits.work)
      return ir::unsupported("prove.size",
                             "the tensor is too large to be probed, and a smaller one is done by other loops",
                             "pooljit verify --limit raises what probing may cost");
    return probe_all(whole, member, choices_of(whole, choices), limits, proof);
  }
  const Code& code = same_version(*(*small)->code, whole);
  proof.left.push_back(fmt::format(
      "{}: what was {} is {}, {}",
      proof.bytes_outputs > 0 ? "the whole is executed" : "the tensor is too large",
      is_executed ? "probed" : "executed and probed", frontend::print((*small)->spec), code.info.schedule));
  if (proof.bytes_outputs == 0) proof.smaller = frontend::print((*small)->spec);
  if (whole.info.output_alignment > 1 && code.info.output_alignment == 1)
    proof.left.emplace_back(
        "the version for aligned outputs is read, not probed: vectors of the smaller tensor lie otherwise");
  proof.probes.batch = probed_batch((*small)->spec, code.info.nest);
  proof.failure = (*small)->failure;
  if (!is_executed && proof.ok() && !execute_bytes(code, choices.isa, limits, proof))
    say_only_probed("the smaller tensor is too large for it, too", proof);
  return probe_all(code, (*small)->member, choices_of(code, choices), limits, proof);
}

// Probes of code that was read are a second opinion, of so many elements.
constexpr double share_of_read = 0.1;

// One of the versions that code has.
ir::Result<Proof> prove_version(const Code& code, const Member& member, const frontend::PoolSpec& spec,
                                const Choices& choices, int64_t batch, const ProofLimits& limits) {
  Proof proof;
  proof.probes.batch = batch;
  const bool by_keys = compares_keys(code, member, choices.isa);
  inspect(code, by_keys, proof);
  const bool is_executed = !proof.ok() || execute_bytes(code, choices.isa, limits, proof);
  if (proof.ok()) {
    const double share = work_of_run(member) / work(code.info.nest);
    const double cost = share * probing_work(code.info.nest, proof.probes.batch);
    const bool is_read = proof.bytes_outputs > 0 && !limits.probes_whole;
    const double most_work = is_read ? limits.work * share_of_read : limits.work;
    if (!is_executed && cost <= most_work) say_only_probed("there are too many different taps", proof);
    auto done = cost > most_work
                    ? probe_smaller(code, member, spec, choices, limits, most_work, is_executed, proof)
                    : probe_all(code, member, choices_of(code, choices), limits, proof);
    if (!done && done.error().id == "prove.size" && cost <= limits.work)
      done = probe_all(code, member, choices_of(code, choices), limits, proof);
    const bool is_only_executed = !done && done.error().id == "prove.size" && proof.bytes_outputs > 0;
    if (is_only_executed)
      proof.left.push_back("it is not probed: " + done.error().message);
    else if (!done)
      return tl::unexpected(done.error());
  }
  if (proof.ok()) say_what_is_left(code.info.nest, by_keys, proof);
  return proof;
}

void add_counts(Proof& a, const Proof& b) {
  for (size_t i = 0; i < part_count; ++i) a.probes.probes[i] += b.probes.probes[i];
  a.probes.runs += b.probes.runs;
  for (const std::string& sentence : b.left)
    if (std::ranges::find(a.left, sentence) == a.left.end()) a.left.push_back(sentence);
}

// Of several pools by one kernel: of its bytes each proof says the same.
Proof with_member(Proof a, const Proof& b) {
  const auto sum = [](int64_t of_a, int64_t of_b) { return of_a > 0 && of_b > 0 ? of_a + of_b : 0; };
  a.program_outputs = sum(a.program_outputs, b.program_outputs);
  a.bytes_outputs = sum(a.bytes_outputs, b.bytes_outputs);
  a.bytes_kinds = std::max(a.bytes_kinds, b.bytes_kinds);
  a.ranges = std::min(a.ranges, b.ranges);
  if (a.smaller.empty()) a.smaller = b.smaller;
  add_counts(a, b);
  a.failure = b.failure;
  return a;
}

}  // namespace

Proof with_size(Proof all, const Proof& one) {
  all.program_outputs += one.program_outputs;
  all.bytes_outputs += one.bytes_outputs;
  all.bytes_kinds = std::max(all.bytes_kinds, one.bytes_kinds);
  all.ranges += one.ranges;
  all.seconds += one.seconds;
  add_counts(all, one);
  all.failure = one.failure;
  return all;
}

namespace {

// All versions have to be right.
Proof joined(Proof a, const Proof& b) {
  if (a.code && b.code) {
    a.code->instructions += b.code->instructions;
    a.code->branches += b.code->branches;
    a.code->addresses += b.code->addresses;
  }
  a.program_outputs = std::min(a.program_outputs, b.program_outputs);
  a.bytes_outputs = std::min(a.bytes_outputs, b.bytes_outputs);
  a.bytes_kinds = std::max(a.bytes_kinds, b.bytes_kinds);
  a.ranges = std::min(a.ranges, b.ranges);
  if (a.smaller.empty()) a.smaller = b.smaller;
  add_counts(a, b);
  ++a.versions;
  if (!b.failure.empty()) a.failure = "where the output is not aligned: " + b.failure;
  return a;
}

ir::Result<Proof> prove_member(const Code& code, const Member& member, const frontend::PoolSpec& spec,
                               const Choices& choices, const ProofLimits& limits) {
  if (!argument_of(code.info.nest))
    return ir::unsupported("prove.unsupported", "no probes decide this operator");
  if (const auto rounds = rounds_needed(code.info.nest); rounds && rounds->rounds == 0)
    return ir::unsupported("prove.unsupported", "no gradients of this dtype are divided without rounding",
                           "prove the same layer in float32");
  const int64_t batch = probed_batch(spec, code.info.nest);
  if (!spec.strides.empty() &&
      Lattice(code.info.nest, code.info.nest.input, batch, &ir::NestDim::input).repeats())
    return ir::unsupported("prove.unsupported",
                           "elements of the input lie in one place, which no probe tells apart",
                           "prove the same layer with other strides: the windows are the same");
  std::optional<Proof> proof;
  for (const Code* version : code.versions()) {
    auto one = prove_version(*version, member, spec, choices, batch, limits);
    if (!one) return one;
    proof = proof ? joined(std::move(*proof), *one) : std::move(*one);
    if (!proof->ok()) break;
  }
  return std::move(*proof);
}

}  // namespace

ir::Result<Proof> prove_code(const Code& code, const frontend::PoolSpec& spec, const Choices& choices,
                             const ProofLimits& limits) {
  if (const auto has = has_schedules(spec); !has) return tl::unexpected(has.error());
  const auto start = Clock::now();
  std::optional<Proof> proof;
  for (const Member& member : members_of(code)) {
    const CodePtr own = member.code_of(CodePtr(CodePtr(), &code));
    auto one = prove_member(*own, member, spec, choices, limits);
    if (!one) return one;
    proof = proof ? with_member(std::move(*proof), *one) : std::move(*one);
    if (!proof->ok()) break;
  }
  proof->spec = frontend::print(spec);
  proof->backend = code.info.backend;
  proof->isa = code.info.isa;
  proof->schedule = code.info.schedule;
  proof->seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return std::move(*proof);
}

ir::Result<Proof> verify(std::string_view spec_text, const Choices& choices, const ProofLimits& limits) {
  const auto spec = frontend::parse_spec(spec_text, frontend::FreeDims::allowed);
  if (!spec) return tl::unexpected(spec.error());
  if (has_free_dims(*spec)) return verify_general(*spec, choices, limits);
  const auto code = make_code(*spec, choices);
  if (!code) return tl::unexpected(code.error());
  return prove_code(**code, *spec, choices, limits);
}

std::string print(const Proof& proof) {
  const std::string_view verdict = !proof.ok()             ? "NOT PROVED"
                                   : proof.smaller.empty() ? "proved"
                                                           : "proved for a smaller tensor";
  std::string text =
      fmt::format("{}: {}\n    {} {} {}\n", verdict, proof.spec, proof.backend, proof.isa, proof.schedule);
  if (!proof.ok()) return text + "    " + proof.failure + "\n";
  if (proof.code)
    text +=
        fmt::format("    code     {} instructions of {}{}: {} branches, {} addresses, none depends on data\n",
                    proof.code->instructions, proof.isa, proof.versions > 1 ? " in two versions" : "",
                    proof.code->branches, proof.code->addresses);
  if (proof.program_outputs > 0)
    text += fmt::format("    program  {} elements, each made of exactly its window\n", proof.program_outputs);
  if (proof.bytes_outputs > 0)
    text += fmt::format("    bytes    {} elements, each made of exactly its window\n", proof.bytes_outputs);
  if (proof.bytes_outputs > 0 && proof.ranges > 1)
    text += fmt::format("    tasks    {} ranges, each leaves what all tasks leave there\n", proof.ranges);
  for (size_t i = 0; i < part_count; ++i)
    if (proof.probes.probes[i] > 0)
      text += fmt::format("    {:8} {} probes: {}\n", info(Part(i)).text, proof.probes.probes[i],
                          info(Part(i)).shows);
  if (!proof.sizes.empty())
    text += fmt::format("    sizes    {}: {}\n", proof.sizes.size(), fmt::join(proof.sizes, " "));
  for (const std::string& sentence : proof.left) text += fmt::format("    left     {}\n", sentence);
  return text + fmt::format("    {} runs with batch {}, {:.2f} s\n", proof.probes.runs, proof.probes.batch,
                            proof.seconds);
}

}  // namespace pooljit::runtime
