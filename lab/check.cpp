#include "lab/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "frontend/pool_spec.h"
#include "ir/agreement.h"
#include "ir/interp/interpret.h"
#include "ir/schedule_text.h"
#include "lab/schedules/candidates.h"
#include "lab/check_budget.h"
#include "lab/check_case.h"
#include "lab/check_compare.h"
#include "lab/check_member.h"
#include "runtime/cpu_features.h"
#include "lab/crash_context.h"
#include "lab/elements.h"
#include "runtime/engines.h"
#include "runtime/machine.h"
#include "runtime/proof/member.h"
#include "runtime/native_code.h"

namespace pooljit::runtime {
namespace {

using Failure = std::optional<std::string>;

constexpr int64_t largest_batch = 3;
// Most taps that a case may have in all; the batch is cut to it.
constexpr double most_taps = 2e8;
// The same for a sampled check, and the most that the interpreter is given of a Program: it takes a thousand
// times as long as machine code.
constexpr double most_taps_sampled = 2e7, most_taps_interpreted = 4e6;
// A sampled check of a layer with more taps has two schedules: the default and one that the seed picks.
constexpr double most_taps_of_many = 5e8;

// A Program that several engines run.
struct Subject {
  ir::Isa isa;
  ir::Schedule schedule;
  ir::Program affine;
};

std::string name(const Subject& subject) {
  return fmt::format("{} {}", ir::info(subject.isa).text, ir::print(subject.schedule));
}

// Of one back end, which takes no Program as long as this one; that says nothing of what the others make.
bool is_own_limit(const ir::Error& error) { return error.id == "jit.llvm.size"; }

class Checker {
 public:
  Checker(const frontend::PoolSpec& spec, Member member, const CheckOptions& options)
      : spec_(spec), member_(std::move(member)), nest_(member_.nest()), options_(options) {
    report_.spec = frontend::print(spec_);
  }

  ir::Result<CheckReport> run() {
    if (auto made = make_cases(); !made) return tl::unexpected(made.error());
    note_skipped();
    for (const ir::IsaInfo& isa : ir::isa_table)
      if (auto done = try_given_schedule(isa); !done) return tl::unexpected(done.error());
    for (const Turn& turn : make_turns()) {
      if (turn.number > 0 && budget_.is_over()) {
        ++report_.left_out;
      } else if (Failure failure = check_schedule(turn)) {
        if (refusal_) return tl::unexpected(*refusal_);
        report_.failure = *failure;
        return report_;
      }
      note_results();
    }
    if (pieces_ > 0) report_.interpreted = interpreted_ / double(pieces_);
    return report_;
  }

 private:
  // A schedule of an ISA, the one of that number out of so many.
  struct Turn {
    ir::Isa isa;
    ir::Schedule schedule;
    size_t number, count;
  };

  bool is_sampled() const { return options_.schedules == CheckOptions::Schedules::some; }

  // Of given elements what the first Program makes: within the bound that is another sum than the oracle's.
  void note_results() {
    if (elements_.empty() || !report_.results.empty() || !cases_[0].whole) return;
    report_.results = results_text(nest_, cases_[0], *cases_[0].whole);
  }

  // --- cases

  int64_t batch_of(size_t number) const {
    if (!spec_.batch) return 1;
    // Explicit strides say nothing of batches beyond their own.
    const auto packs_output = [](const frontend::PoolSpec& one) { return one.output_strides.empty(); };
    const bool is_packed = spec_.strides.empty() && packs_output(spec_) &&
                           std::ranges::all_of(pools_of(spec_), packs_output);
    const double room = is_sampled() ? most_taps_sampled : most_taps;
    const int64_t most = std::clamp(int64_t(room / count_taps(nest_)), int64_t{1}, largest_batch);
    return std::min(1 + int64_t(number) % largest_batch,
                    is_packed ? most : std::min(most, std::max(*spec_.batch, int64_t{1})));
  }

  ir::Result<void> make_cases() {
    const std::optional<DataKind> only = find_data_kind(options_.data);
    if (!only && !options_.data.empty()) return make_given_case();
    const std::span<const DataKind> kinds = data_kinds(nest_);
    if (only && std::ranges::find(kinds, *only) == kinds.end())
      return ir::invalid("check.data", fmt::format("{} input has no data \"{}\"",
                                                   ir::info(nest_.input.dtype).spec_name, options_.data));
    for (size_t number = 0; number < kinds.size(); ++number) {
      if (only && *only != kinds[number]) continue;
      auto made = add_case(Case::make(nest_, kinds[number], batch_of(number), options_.seed * 1000 + number));
      if (!made) return made;
    }
    return {};
  }

  // The spec's own batch, on these elements.
  ir::Result<void> make_given_case() {
    auto elements = parse_elements(nest_.input.dtype, options_.data);
    if (!elements) return tl::unexpected(elements.error());
    elements_ = std::move(*elements);
    const int64_t batch = std::max<int64_t>(spec_.batch.value_or(1), 1);
    return add_case(Case::make(nest_, DataKind::plain, batch, options_.seed * 1000, elements_));
  }

  ir::Result<void> add_case(ir::Result<Case> made) {
    if (!made) return tl::unexpected(made.error());
    report_.max_batch = std::max(report_.max_batch, made->batch);
    cases_.push_back(std::move(*made));
    return {};
  }

  // --- what runs

  std::vector<ir::Schedule> schedules_for(ir::Isa isa) const {
    if (options_.schedule) return {*options_.schedule};
    std::vector<ir::Schedule> all = varied_schedules(member_.lowered(), isa, options_.seed);
    if (!is_sampled() || count_taps(nest_) <= most_taps_of_many || all.size() < 3) return all;
    return {all[0], all[1 + options_.seed % (all.size() - 1)]};
  }

  // Where there may not be time for all: the defaults, and then those that the seed chooses.
  std::vector<Turn> make_turns() const {
    std::vector<Turn> turns;
    for (const ir::IsaInfo& isa : ir::isa_table) {
      if (!is_wanted(isa)) continue;
      const std::vector<ir::Schedule> all = schedules_for(isa.isa);
      const size_t wanted = options_.schedules == CheckOptions::Schedules::best ? 1 : all.size();
      for (size_t i = 0; i < std::min(wanted, all.size()); ++i)
        turns.push_back({isa.isa, all[i], i, all.size()});
    }
    if (!budget_.is_bounded()) return turns;
    // Not that of std::ranges, which clang 14 does not compile.
    const auto others = std::stable_partition(turns.begin(), turns.end(),
                                              [](const Turn& turn) { return turn.number == 0; });
    std::shuffle(others, turns.end(), std::mt19937_64(options_.seed));
    return turns;
  }

  // One that was given may not suit the nest, which is no failure.
  ir::Result<void> try_given_schedule(const ir::IsaInfo& isa) const {
    if (!options_.schedule || !is_wanted(isa)) return {};
    const auto program = member_.lower(*options_.schedule, isa.isa);
    return program ? ir::Result<void>() : tl::unexpected(program.error());
  }

  bool is_wanted(const ir::IsaInfo& isa) const { return !options_.isa || *options_.isa == isa.isa; }

  void note_skipped() {
    for (const EngineInfo& engine : engines())
      if (const auto found = require(engine.engine); !found)
        report_.skipped.push_back(fmt::format("{}: {}", engine.text, found.error().message));
    for (const ir::IsaInfo& isa : ir::isa_table)
      if (is_wanted(isa) && !can_run(isa.isa))
        report_.skipped.push_back(fmt::format("{}: this machine cannot run it; interpreted only", isa.text));
  }

  // LLVM takes milliseconds per Program: a sampled check gives it one schedule per ISA.
  bool takes_part(const EngineInfo& engine, const Turn& turn) const {
    if (!engine.is_native || !is_built(engine.engine)) return false;
    if (options_.backend && *options_.backend != engine.engine) return false;
    return !is_sampled() || engine.engine != Engine::llvm || turn.number == options_.seed % turn.count;
  }

  // The cases that a Program is run on: all, or, sampled, those that its number picks.
  bool is_picked(size_t number, size_t schedule) const {
    return !is_sampled() || schedule == 0 || (number + schedule) % cases_.size() < 2;
  }

  Failure check_schedule(const Turn& turn) {
    auto program = member_.lower(turn.schedule, turn.isa);
    if (!program)
      return fmt::format("{} is not lowered: {}", ir::print(turn.schedule), ir::to_string(program.error()));
    const Subject subject{turn.isa, turn.schedule, std::move(*program)};
    ++report_.programs;
    for (size_t i = 0; i < cases_.size(); ++i)
      if (is_picked(i, turn.number))
        if (Failure failure = check_interpreter(subject, cases_[i])) return failure;
    if (!can_run(turn.isa)) return std::nullopt;
    for (const EngineInfo& engine : engines())
      if (takes_part(engine, turn))
        if (Failure failure = check_native(subject, engine, turn.number)) return failure;
    return std::nullopt;
  }

  // --- the interpreter, against the oracle

  // Outputs of a Program that are interpreted: as many as the budget allows, maybe none; sampled, not all of much
  // where machine code runs it too.
  Tasks choose(const Subject& subject, const Case& data) {
    const double allowed = budget_.next_taps(), all = count_taps(nest_) * double(data.batch);
    const double most =
        is_sampled() && can_run(subject.isa) ? std::min(allowed, most_taps_interpreted) : allowed;
    if (all <= most) return split_tasks(nest_, subject.affine.tasks, data.batch, 1);
    const Tasks some = choose_tasks(nest_, subject.affine.tasks, data.batch, most,
                                    options_.seed + static_cast<uint64_t>(report_.programs));
    return allowed > 0 ? some : Tasks{{}, 0};
  }

  Failure interpret(const ir::Program& program, const Tasks& tasks, const Case& data) {
    std::vector<uint64_t> args(program.params.size());
    data.clear_outputs(0);
    ++report_.runs;
    const std::vector<ir::Region> operands = data.operand_regions();
    Call call = data.call(0);
    call.sizes = member_.sizes();
    std::vector<ir::Region> sizes;
    for (const std::vector<int64_t>& words : call.sizes)
      sizes.push_back({std::ssize(words) * int64_t{sizeof words[0]}, nullptr});
    for (const TaskRanges& cell : tasks.cells) {
      fill_arguments(program.params, program.tables, call, cell, args.data());
      const auto done = ir::interpret(
          program, args, {data.input.region(), data.output.region(), data.indices.region(), operands, sizes});
      if (!done) return fmt::format("the interpreter refuses the Program: {}", ir::to_string(done.error()));
    }
    return std::nullopt;
  }

  Failure check_interpreter(const Subject& subject, Case& data) {
    set_context("interpreter", subject, data);
    const auto who = [&](std::string_view what) {
      return fmt::format("interpreter, {}\n{}\n{}", name(subject), data.name(), what);
    };
    data.tasks = choose(subject, data);
    const auto start = std::chrono::steady_clock::now();
    if (Failure failure = interpret(subject.affine, data.tasks, data)) return who(*failure);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    budget_.interpreted(elapsed.count(), count_taps(nest_) * double(data.batch) * data.tasks.share);
    ++pieces_;
    interpreted_ += data.tasks.share;
    data.interpreted = data.results(0);
    data.whole.reset();
    const bool is_all = data.tasks.is_all();
    if (!is_all && can_run(subject.isa)) return std::nullopt;
    if (const auto sentence = is_all ? data.objection(nest_, 0) : data.objection_to_part(nest_, 0))
      return who(*sentence);
    data.whole = data.interpreted;
    return std::nullopt;
  }

  // --- back ends, against the interpreter

  Failure check_native(const Subject& subject, const EngineInfo& engine, size_t number) {
    const auto who = [&](std::string_view what) {
      return fmt::format("{}, {}\n{}", engine.text, name(subject), what);
    };
    const auto code = member_.make({engine.engine, subject.isa, subject.schedule});
    if (!code) {
      const ir::Error& error = code.error();
      const bool is_limit = is_own_limit(error);
      if (options_.schedule && (is_limit ? options_.backend.has_value() : error.id.starts_with("schedule.")))
        refusal_ = error;
      if (!is_limit || refusal_) return who(ir::to_string(error));
      report_.skipped.push_back(fmt::format("{}, {}: {}", engine.text, name(subject), error.message));
      return std::nullopt;
    }
    for (size_t i = 0; i < cases_.size(); ++i) {
      if (!is_picked(i, number)) continue;
      Case& data = cases_[i];
      set_context(engine.text, subject, data);
      const auto explain = [&](std::string_view how, std::string_view what, std::string_view whose) {
        return who(fmt::format("{}, {}\n{}{}", data.name(), how, what, whose));
      };
      if (Failure failure = check_interpreted(**code, data))
        return explain("the interpreted tasks", *failure, blame(engine, subject, data));
      const bool is_judged = !data.whole;
      if (Failure failure = check_whole(**code, data))
        return explain("split for two threads", *failure, is_judged ? "" : blame(engine, subject, data));
    }
    return std::nullopt;
  }

  // The tasks that the interpreter ran leave the same memory, untouched bytes included.
  Failure check_interpreted(const Code& code, const Case& data) {
    run(code, data.tasks, data, 0);
    return compare(data, data.interpreted, 0);
  }

  // All tasks leave what the interpreter left. Where it did not run them all, the oracle has to allow what
  // the first engine leaves, and the others leave the same.
  Failure check_whole(const Code& code, Case& data) {
    run(code, split_tasks(nest_, code.info.tasks, data.batch, 2), data, 1);
    if (data.whole) return compare(data, *data.whole, 1);
    if (auto sentence = data.objection(nest_, 1)) return sentence;
    data.whole = data.results(1);
    return std::nullopt;
  }

  void run(const Code& code, const Tasks& tasks, const Case& data, size_t place) {
    data.clear_outputs(place);
    for (const TaskRanges& cell : tasks.cells) code.run(data.call(place), cell);
    ++report_.runs;
  }

  Failure compare(const Case& data, const Results& expected, size_t place) const {
    // Arithmetic and conversions may make any NaN.
    const bool computes = !nest_.is_extreme() || nest_.is_backward() ||
                          nest_.input.dtype != nest_.output.dtype || !nest_.epilogue.empty();
    const bool any_nan = computes && ir::is_float(nest_.output.dtype);
    if (Failure failure = first_difference({"output", nest_.output.dtype, any_nan}, data.output.view,
                                           expected.output, data.output.at[place].bytes()))
      return failure;
    if (!nest_.indices) return std::nullopt;
    return first_difference({"index", nest_.indices->dtype, false}, data.indices.view, expected.indices,
                            data.indices.at[place].bytes());
  }

  // Whose fault it is: interprets the Program that the back end consumed.
  std::string blame(const EngineInfo& engine, const Subject& subject, const Case& data) {
    const auto stage = consumed_stage(engine.engine);
    if (stage == ir::Stage::affine) return "";
    const auto consumed = member_.program({engine.engine, subject.isa, subject.schedule}, stage);
    if (!consumed) return "";
    Failure failure = interpret(*consumed, data.tasks, data);
    if (!failure) failure = compare(data, data.interpreted, 0);
    return failure ? fmt::format("\na pass is at fault: the Program that {} consumed, interpreted: {}",
                                 engine.text, *failure)
                   : fmt::format(
                         "\nthe back end is at fault: the Program that {} consumed, interpreted, is right",
                         engine.text);
  }

  void set_context(std::string_view engine, const Subject& subject, const Case& data) const {
    set_crash_context(fmt::format("{}, {}, {}\n  {}", engine, name(subject), data.name(), report_.spec));
  }

  const frontend::PoolSpec& spec_;
  const Member member_;
  const ir::PoolNest& nest_;  // the member's
  CheckOptions options_;
  std::vector<uint64_t> elements_;    // given ones
  std::optional<ir::Error> refusal_;  // of the given schedule, by a back end
  std::vector<Case> cases_;
  CheckBudget budget_{options_.seconds};
  int64_t pieces_ = 0;      // Programs on data
  double interpreted_ = 0;  // of each the share, added up
  CheckReport report_;
};

}  // namespace

ir::Result<CheckReport> check_member(const frontend::PoolSpec& spec, const Member& member,
                                     const CheckOptions& options) {
  return Checker(spec, member, options).run();
}

}  // namespace pooljit::runtime
