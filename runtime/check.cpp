#include "runtime/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "frontend/pool_spec.h"
#include "ir/agreement.h"
#include "ir/interp/interpret.h"
#include "runtime/check_compare.h"
#include "runtime/check_data.h"
#include "runtime/cpu_features.h"
#include "runtime/crash_context.h"
#include "runtime/engines.h"
#include "runtime/guarded_buffer.h"
#include "runtime/native_code.h"

namespace pooljit::runtime {
namespace {

using Bytes = std::vector<std::byte>;
using Failure = std::optional<std::string>;

// What outputs hold before a run: what is not written shows, and so does what should not be.
constexpr std::byte canary{0xa5};
// Most taps that a case may have in all; the batch is cut to it.
constexpr double most_taps = 2e8;
constexpr int64_t most_bytes = int64_t{4} << 30;
constexpr int64_t largest_batch = 3;

// A view of memory, twice: with its last byte against a guard page, and with its first.
class Placed {
 public:
  static ir::Result<Placed> make(const MemoryView& view) {
    auto back = GuardedBuffer::make(size_t(view.span_bytes()), GuardedBuffer::Flush::last_byte);
    if (!back) return tl::unexpected(back.error());
    auto front = GuardedBuffer::make(size_t(view.span_bytes()), GuardedBuffer::Flush::first_byte);
    if (!front) return tl::unexpected(front.error());
    return Placed(view, std::move(*back), std::move(*front));
  }

  MemoryView view;
  std::array<GuardedBuffer, 2> at;
  std::vector<bool> touchable;

  ir::Region region() const { return {view.span_bytes(), touchable.empty() ? nullptr : &touchable}; }

 private:
  Placed(const MemoryView& placed, GuardedBuffer back, GuardedBuffer front)
      : view(placed), at{std::move(back), std::move(front)}, touchable(element_bytes(placed)) {}
};

// One input and all that was made of it.
struct Case {
  DataKind kind;
  int64_t batch;
  Placed input, output, indices;
  // What the interpreter made of it under the present Program.
  Bytes expected_output, expected_indices;
  std::optional<ir::Judge> judge;  // made when the first result is there
  // Results that it has allowed already.
  std::vector<std::pair<Bytes, Bytes>> allowed;

  Call call(size_t place) const {
    return {input.at[place].data(), output.at[place].data(),
            indices.view.rank > 0 ? indices.at[place].data() : nullptr, batch};
  }
  void clear_outputs(size_t place) const {
    std::ranges::fill(output.at[place].bytes(), canary);
    std::ranges::fill(indices.at[place].bytes(), canary);
  }
  std::string name() const { return fmt::format("data \"{}\", batch {}", runtime::name(kind), batch); }
};

// A Program that several engines run.
struct Subject {
  ir::Isa isa;
  ir::Schedule schedule;
  ir::Program affine;
};

std::string name(const Subject& subject) {
  return fmt::format("{} {}", ir::info(subject.isa).text, ir::print(subject.schedule));
}

Grid make_grid(const std::vector<ir::TaskDim>& tasks, int64_t batch, int threads) {
  std::vector<int64_t> extents;
  for (const ir::TaskDim& task : tasks)
    extents.push_back(task.extent == ir::TaskDim::batch_extent ? batch : task.extent);
  return Grid(extents, threads);
}

class Checker {
 public:
  Checker(frontend::PoolSpec spec, const CheckOptions& options)
      : spec_(std::move(spec)), nest_(frontend::make_nest(spec_)), options_(options) {
    report_.spec = frontend::print(spec_);
  }

  ir::Result<CheckReport> run() {
    if (auto made = make_cases(); !made) return tl::unexpected(made.error());
    note_skipped();
    for (const ir::IsaInfo& isa : ir::isa_table) {
      if (!is_wanted(isa)) continue;
      const std::vector<ir::Schedule> schedules = ir::enumerate_schedules(nest_, isa.isa);
      for (size_t i = 0; i < schedules.size(); ++i) {
        if (options_.schedules == CheckOptions::Schedules::best && i > 0) break;
        if (Failure failure = check_schedule(isa.isa, schedules, i)) {
          report_.failure = *failure;
          return report_;
        }
      }
    }
    return report_;
  }

 private:
  bool is_sampled() const { return options_.schedules == CheckOptions::Schedules::some; }

  // --- cases

  int64_t batch_of(size_t number) const {
    if (!spec_.batch) return 1;
    // Explicit strides say nothing of batches beyond their own.
    const bool is_packed = spec_.strides.empty() && spec_.output_strides.empty();
    double taps = double(nest_.channels) * double(nest_.full_taps());
    for (const ir::NestDim& dim : nest_.dims) taps *= double(dim.output);
    const int64_t most = std::clamp(int64_t(most_taps / taps), int64_t{1}, largest_batch);
    return std::min(1 + int64_t(number) % largest_batch,
                    is_packed ? most : std::min(most, std::max(*spec_.batch, int64_t{1})));
  }

  ir::Result<void> make_cases() {
    for (const DataKind kind : data_kinds(nest_)) {
      const size_t number = cases_.size();
      const int64_t batch = batch_of(number);
      const std::array views = {input_view(nest_, batch), output_view(nest_, batch),
                                indices_view(nest_, batch)};
      for (const MemoryView& view : views)
        if (view.span_bytes() > most_bytes)
          return ir::unsupported("check.size", "the tensors are too large to be checked",
                                 fmt::format("at most {} bytes each", most_bytes));
      std::vector<Placed> placed;
      for (const MemoryView& view : views) {
        auto made = Placed::make(view);
        if (!made) return tl::unexpected(made.error());
        placed.push_back(std::move(*made));
      }
      for (const GuardedBuffer& input : placed[0].at)
        fill_input(views[0], nest_.input.dtype, kind, options_.seed * 1000 + number, input.bytes());
      cases_.push_back(
          {kind, batch, std::move(placed[0]), std::move(placed[1]), std::move(placed[2]), {}, {}, {}, {}});
      report_.max_batch = std::max(report_.max_batch, batch);
    }
    return {};
  }

  // --- what runs

  bool is_wanted(const ir::IsaInfo& isa) const { return !options_.isa || *options_.isa == isa.isa; }

  void note_skipped() {
    for (const EngineInfo& engine : engines())
      if (!is_built(engine.engine))
        report_.skipped.push_back(fmt::format("{}: this build lacks it", engine.text));
    for (const ir::IsaInfo& isa : ir::isa_table)
      if (is_wanted(isa) && !can_run(isa.isa))
        report_.skipped.push_back(fmt::format("{}: this machine cannot run it; interpreted only", isa.text));
  }

  // LLVM takes milliseconds per Program: a sampled check gives it one schedule per ISA.
  bool takes_part(const EngineInfo& engine, size_t schedule, size_t schedules) const {
    if (!engine.is_native || !is_built(engine.engine)) return false;
    return !is_sampled() || engine.engine != Engine::llvm || schedule == options_.seed % schedules;
  }

  // The cases that a Program is run on: all, or, sampled, those that its number picks.
  bool is_picked(size_t number, size_t schedule) const {
    return !is_sampled() || schedule == 0 || (number + schedule) % cases_.size() < 2;
  }

  Failure check_schedule(ir::Isa isa, const std::vector<ir::Schedule>& schedules, size_t number) {
    const ir::Schedule& schedule = schedules[number];
    auto program = ir::lower(nest_, schedule, isa);
    if (!program)
      return fmt::format("{} was enumerated but not lowered: {}", ir::print(schedule),
                         ir::to_string(program.error()));
    const Subject subject{isa, schedule, std::move(*program)};
    ++report_.programs;
    for (size_t i = 0; i < cases_.size(); ++i)
      if (is_picked(i, number))
        if (Failure failure = check_interpreter(subject, cases_[i])) return failure;
    if (!can_run(isa)) return std::nullopt;
    for (const EngineInfo& engine : engines())
      if (takes_part(engine, number, schedules.size()))
        if (Failure failure = check_native(subject, engine, number)) return failure;
    return std::nullopt;
  }

  // --- the interpreter, against the oracle

  Failure interpret(const ir::Program& program, const Case& data, size_t place) {
    std::vector<uint64_t> args(program.params.size());
    const Call call = data.call(place);
    fill_arguments(program.params, program.tables, call, make_grid(program.tasks, data.batch, 1).ranges(0),
                   args.data());
    const auto done =
        ir::interpret(program, args, {data.input.region(), data.output.region(), data.indices.region()});
    ++report_.runs;
    if (done) return std::nullopt;
    return fmt::format("the interpreter refuses the Program: {}", ir::to_string(done.error()));
  }

  Failure check_interpreter(const Subject& subject, Case& data) {
    set_context("interpreter", subject, data);
    data.clear_outputs(0);
    const auto who = [&](std::string_view what) {
      return fmt::format("interpreter, {}\n{}\n{}", name(subject), data.name(), what);
    };
    if (Failure failure = interpret(subject.affine, data, 0)) return who(*failure);
    const Call call = data.call(0);
    const auto output = data.output.at[0].bytes(), indices = data.indices.at[0].bytes();
    data.expected_output.assign(output.begin(), output.end());
    data.expected_indices.assign(indices.begin(), indices.end());
    std::pair result(data.expected_output, data.expected_indices);
    if (std::ranges::find(data.allowed, result) != data.allowed.end()) return std::nullopt;
    if (!data.judge) data.judge.emplace(nest_, data.batch, call.input);
    if (const auto sentence = data.judge->disagreement(call.output, call.indices)) return who(*sentence);
    data.allowed.push_back(std::move(result));
    return std::nullopt;
  }

  // --- back ends, against the interpreter

  Failure check_native(const Subject& subject, const EngineInfo& engine, size_t number) {
    const auto who = [&](std::string_view what) {
      return fmt::format("{}, {}\n{}", engine.text, name(subject), what);
    };
    const auto code = engine.make(nest_, {engine.engine, subject.isa, subject.schedule});
    if (!code) return who(ir::to_string(code.error()));
    for (size_t i = 0; i < cases_.size(); ++i) {
      if (!is_picked(i, number)) continue;
      const Case& data = cases_[i];
      set_context(engine.text, subject, data);
      for (size_t place = 0; place < data.input.at.size(); ++place)
        if (Failure failure = check_run(**code, data, place))
          return who(fmt::format("{}, {}\n{}{}", data.name(),
                                 place == 0 ? "one task range" : "split for two threads", *failure,
                                 blame(engine, subject, data)));
    }
    return std::nullopt;
  }

  // The first place runs in one piece, the second in cells for two threads, the last one first.
  Failure check_run(const Code& code, const Case& data, size_t place) {
    data.clear_outputs(place);
    const Grid grid = make_grid(code.info.tasks, data.batch, place == 0 ? 1 : 2);
    for (int64_t cell = grid.cells(); cell-- > 0;) code.run(data.call(place), grid.ranges(cell));
    ++report_.runs;
    return compare(data, place);
  }

  Failure compare(const Case& data, size_t place) const {
    const bool is_average = nest_.reduction == ir::Reduction::avg && ir::is_float(nest_.output.dtype);
    if (Failure failure = first_difference({"output", nest_.output.dtype, is_average}, data.output.view,
                                           data.expected_output, data.output.at[place].bytes()))
      return failure;
    if (!nest_.indices) return std::nullopt;
    return first_difference({"index", nest_.indices->dtype, false}, data.indices.view, data.expected_indices,
                            data.indices.at[place].bytes());
  }

  // Whose fault it is: interprets the Program that the back end consumed.
  std::string blame(const EngineInfo& engine, const Subject& subject, const Case& data) {
    const auto stage = consumed_stage(engine.engine);
    if (stage == ir::Stage::affine) return "";
    const auto consumed = make_program(nest_, {engine.engine, subject.isa, subject.schedule}, stage);
    if (!consumed) return "";
    data.clear_outputs(0);
    Failure failure = interpret(*consumed, data, 0);
    if (!failure) failure = compare(data, 0);
    return failure ? fmt::format("\na pass is at fault: the Program that {} consumed, interpreted: {}",
                                 engine.text, *failure)
                   : fmt::format(
                         "\nthe back end is at fault: the Program that {} consumed, interpreted, is right",
                         engine.text);
  }

  void set_context(std::string_view engine, const Subject& subject, const Case& data) const {
    set_crash_context(fmt::format("{}, {}, {}\n  {}", engine, name(subject), data.name(), report_.spec));
  }

  frontend::PoolSpec spec_;
  ir::PoolNest nest_;
  CheckOptions options_;
  std::vector<Case> cases_;
  CheckReport report_;
};

}  // namespace

ir::Result<CheckReport> check(std::string_view spec_text, const CheckOptions& options) {
  auto spec = frontend::parse_spec(spec_text);
  if (!spec) return tl::unexpected(spec.error());
  return Checker(std::move(*spec), options).run();
}

std::string print(const CheckReport& report) {
  std::string text = fmt::format("{}: {}\n", report.ok() ? "ok" : "FAILED", report.spec);
  if (report.ok())
    text += fmt::format("    {} Programs, {} runs, batches 1 to {}\n", report.programs, report.runs,
                        report.max_batch);
  else
    text += report.failure + "\n";
  for (const std::string& line : report.skipped) text += fmt::format("    not run: {}\n", line);
  return text;
}

}  // namespace pooljit::runtime
