// `pooljit check`: every engine against every other and against the oracle, on one spec or on a file of them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <map>
#include <semaphore>
#include <set>
#include <thread>

#include "frontend/pool_spec.h"
#include "ir/schedule_text.h"
#include "lab/check.h"
#include "lab/check_data.h"
#include "lab/elements.h"
#include "runtime/options.h"
#include "tools/against_options.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/fuzz/campaign.h"
#include "tools/fuzz/neighbour.h"
#include "tools/fuzz_report.h"
#include "tools/interrupt.h"
#include "tools/problem_file.h"
#include "tools/progress.h"
#include "tools/sizes.h"

namespace pooljit::tools {
namespace {

using Schedules = runtime::CheckOptions::Schedules;

struct CheckArguments {
  std::vector<std::string> sizes;
  std::string spec, file, isa = "all", backend = "all", schedule, before;
  AgainstOptions against;
  std::optional<Schedules> schedules;
  runtime::CheckOptions options;
  bool allow_unsupported = false, all = false;
  double seconds = 10;
  int threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
};

// What came of a file's specs.
struct Tally {
  int64_t agree = 0, differ = 0, unsupported = 0, invalid = 0, failed = 0;
  int64_t runs = 0, in_part = 0;
  std::set<std::string> skipped;

  int64_t done() const { return agree + differ + unsupported + invalid + failed; }
  // The worst thing that happened.
  Exit exit(bool allow_unsupported) const {
    if (differ != 0) return Exit::difference;
    if (invalid != 0) return Exit::invalid;
    if (failed != 0) return Exit::system;
    return unsupported != 0 && !allow_unsupported ? Exit::unsupported : Exit::ok;
  }
};

int64_t& count_of(Tally& tally, ir::ErrorKind kind) {
  switch (kind) {
    case ir::ErrorKind::unsupported:
      return tally.unsupported;
    case ir::ErrorKind::invalid:
      return tally.invalid;
    case ir::ErrorKind::system:
      break;
  }
  return tally.failed;
}

using Report = ir::Result<runtime::CheckReport>;

// The checks of a file's specs, some at a time. They are begun, and their reports are given out, in the
// file's order.
class Checks {
 public:
  Checks(const std::vector<Problem>& problems, const CheckArguments& arguments)
      : problems_(problems), options_(arguments.options), running_(arguments.threads) {
    ahead_ = static_cast<size_t>(arguments.threads) * 4;
  }

  // Nothing if Ctrl-C came first. Checks are then still at work: one may take minutes.
  std::optional<Report> next() {
    while (begun_ < problems_.size() && pending_.size() < ahead_)
      pending_.push_back(std::async(std::launch::async, [this, &problem = problems_[begun_++]] {
        const Turn turn(running_);
        return runtime::check(problem.spec, options_);
      }));
    constexpr std::chrono::milliseconds poll(50);
    while (pending_.front().wait_for(poll) != std::future_status::ready)
      if (interrupted()) return std::nullopt;
    Report report = pending_.front().get();
    pending_.pop_front();
    return report;
  }

 private:
  struct Turn {
    explicit Turn(std::counting_semaphore<>& free) : running(free) { running.acquire(); }
    ~Turn() { running.release(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    std::counting_semaphore<>& running;
  };

  const std::vector<Problem>& problems_;
  runtime::CheckOptions options_;
  std::counting_semaphore<> running_;
  size_t ahead_, begun_ = 0;
  std::deque<std::future<Report>> pending_;  // last, so that it ends before what its checks use
};

void take(const Problem& problem, const Report& report, const Progress& progress, Tally& tally) {
  if (report && report->ok()) {
    ++tally.agree;
  } else {
    progress.clear();
    fmt::print("{}: {}", problem.name, report ? print(*report) : to_string(report.error()) + "\n");
    std::fflush(stdout);
    ++(report ? tally.differ : count_of(tally, report.error().kind));
  }
  if (!report) return;
  tally.runs += report->runs;
  tally.in_part += report->is_partial() ? 1 : 0;
  tally.skipped.insert(report->skipped.begin(), report->skipped.end());
}

void print_summary(const Tally& tally, size_t total, double seconds) {
  for (const std::string& reason : tally.skipped) fmt::print("not compared: {}\n", reason);
  if (tally.in_part > 0) fmt::print("in part: {} specs (--all: wholly)\n", tally.in_part);
  fmt::print(
      "{} of {} specs: {} agree, {} differ, {} unsupported, {} invalid, {} failed; {} results, {:.1f} s\n",
      tally.done(), total, tally.agree, tally.differ, tally.unsupported, tally.invalid, tally.failed,
      tally.runs, seconds);
}

ir::Result<Exit> check_file(const CheckArguments& arguments) {
  const auto problems = read_problems(arguments.file, arguments.sizes);
  if (!problems) return tl::unexpected(problems.error());
  catch_interrupt();
  const auto start = std::chrono::steady_clock::now();
  const auto summarize = [&](const Tally& tally) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    print_summary(tally, problems->size(), elapsed.count());
  };
  Tally tally;
  const Progress progress(problems->size());
  Checks checks(*problems, arguments);
  for (const Problem& problem : *problems) {
    progress.show(static_cast<size_t>(tally.done()) + 1, problem.name);
    const std::optional<Report> report = checks.next();
    if (!report) {
      progress.clear();
      summarize(tally);
      std::fflush(stdout);
      std::_Exit(static_cast<int>(Exit::interrupted));  // without waiting for checks, which hold nothing
    }
    take(problem, *report, progress, tally);
  }
  progress.clear();
  summarize(tally);
  return tally.exit(arguments.allow_unsupported);
}

// "all" is every ISA, those that this machine lacks in the interpreter only; a named one has to be there.
ir::Result<std::optional<ir::Isa>> chosen_isa(const std::string& text) {
  if (text == "all") return std::nullopt;
  return runtime::resolve({.isa = text}).map([](const runtime::Choices& choices) {
    return std::optional(choices.isa);
  });
}

// Narrows the check to what is named.
ir::Result<void> narrow(const CheckArguments& arguments, runtime::CheckOptions& options) {
  const auto isa = chosen_isa(arguments.isa);
  if (!isa) return tl::unexpected(isa.error());
  options.isa = *isa;
  if (arguments.backend != "all") {
    const auto choices = runtime::resolve({.backend = arguments.backend});
    if (!choices) return tl::unexpected(choices.error());
    options.backend = choices->engine;
  }
  if (!arguments.schedule.empty()) {
    const auto schedule = ir::parse_schedule(arguments.schedule);
    if (!schedule) return tl::unexpected(schedule.error());
    options.schedule = *schedule;
  }
  return {};
}

// Another library in place of pooljit's engines, each spec in a process of its own.
class OtherChecks {
 public:
  static ir::Result<OtherChecks> make(const CheckArguments& arguments) {
    auto other = fuzz::OtherEngine::open(arguments.against.library);
    if (!other) return tl::unexpected(other.error());
    auto accepted = accepted_of(*other, arguments.against);
    if (!accepted) return tl::unexpected(accepted.error());
    auto cell = fuzz::Cell::make();
    if (!cell) return tl::unexpected(cell.error());
    return OtherChecks(arguments, std::move(*accepted), std::move(*other), std::move(*cell));
  }

  // Errors, of a spec or data that is wrong: those of parse_spec; "check.data".
  ir::Result<fuzz::Outcome> check(const std::string& text) const {
    const auto spec = frontend::parse_spec(text);
    if (!spec) return tl::unexpected(spec.error());
    const std::string& data = arguments_.options.data;
    if (!data.empty() && !runtime::find_data_kind(data))
      if (const auto elements = runtime::parse_elements(spec->dtype, data); !elements)
        return tl::unexpected(elements.error());
    return try_case_in(
        cell_,
        {.spec = print(*spec), .seed = arguments_.options.seed, .data = data, .before = arguments_.before},
        &other_, accepted_, arguments_.against.case_seconds);
  }

 private:
  OtherChecks(const CheckArguments& arguments, fuzz::Accepted accepted, fuzz::OtherEngine other,
              fuzz::Cell cell)
      : arguments_(arguments),
        accepted_(std::move(accepted)),
        other_(std::move(other)),
        cell_(std::move(cell)) {}
  const CheckArguments& arguments_;
  fuzz::Accepted accepted_;
  fuzz::OtherEngine other_;
  fuzz::Cell cell_;
};

void print_outcome(const std::string& name, const fuzz::Outcome& outcome) {
  if (outcome.verdict == fuzz::Outcome::Verdict::accepted)
    fmt::print("differs as accepted: {}\n{}{}\n", name, meaning_of(outcome), outcome.failure);
  else
    fmt::print(
        "FAILED: {}\n{}{}\n", name,
        outcome.kind == fuzz::Kind::known ? "as is known, but was not accepted:\n" + meaning_of(outcome) : "",
        outcome.failure);
}

ir::Result<Exit> check_other(const CheckArguments& arguments) {
  const auto checks = OtherChecks::make(arguments);
  if (!checks) return tl::unexpected(checks.error());
  const auto outcome = checks->check(arguments.spec);
  if (!outcome) return tl::unexpected(outcome.error());
  using Verdict = fuzz::Outcome::Verdict;
  if (outcome->verdict == Verdict::unsupported)
    return ir::unsupported("fuzz.unsupported", "the library does not do this layer");
  if (outcome->verdict == Verdict::agrees)
    fmt::print("ok: {}\n    {} runs\n", arguments.spec, outcome->runs);
  else
    print_outcome(arguments.spec, *outcome);
  return outcome->verdict == Verdict::failed ? Exit::difference : Exit::ok;
}

// One after the other: what the library does with its threads is its own.
ir::Result<Exit> check_file_other(const CheckArguments& arguments) {
  const auto problems = read_problems(arguments.file, arguments.sizes);
  if (!problems) return tl::unexpected(problems.error());
  const auto checks = OtherChecks::make(arguments);
  if (!checks) return tl::unexpected(checks.error());
  catch_interrupt();
  using Verdict = fuzz::Outcome::Verdict;
  Tally tally;
  int64_t accepted = 0;
  const Progress progress(problems->size());
  for (const Problem& problem : *problems) {
    if (interrupted()) break;
    progress.show(static_cast<size_t>(tally.done()) + 1, problem.name);
    const auto outcome = checks->check(problem.spec);
    progress.clear();
    if (!outcome) {
      fmt::print("{}: {}\n", problem.name, to_string(outcome.error()));
      ++count_of(tally, outcome.error().kind);
      continue;
    }
    if (outcome->verdict == Verdict::unsupported)
      fmt::print("{}: fuzz.unsupported: the library does not do this layer\n", problem.name);
    else if (outcome->verdict != Verdict::agrees)
      print_outcome(problem.name + ": " + problem.spec, *outcome);
    accepted += outcome->verdict == Verdict::accepted ? 1 : 0;
    tally.runs += outcome->runs;
    ++(outcome->verdict == Verdict::failed        ? tally.differ
       : outcome->verdict == Verdict::unsupported ? tally.unsupported
                                                  : tally.agree);
    std::fflush(stdout);
  }
  fmt::print(
      "{} of {} specs: {} agree ({} of them differ as accepted), {} differ, {} unsupported, {} invalid; {} "
      "results\n",
      tally.done(), problems->size(), tally.agree, accepted, tally.differ, tally.unsupported, tally.invalid,
      tally.runs);
  return interrupted() ? Exit::interrupted : tally.exit(arguments.allow_unsupported);
}

ir::Result<Exit> check_one(const CheckArguments& arguments) {
  const auto report = runtime::check(arguments.spec, arguments.options);
  if (!report) return tl::unexpected(report.error());
  fmt::print("{}", print(*report));
  if (report->is_partial())
    fmt::print("    --all does everything, --seconds more (now {})\n", arguments.seconds);
  return report->ok() ? Exit::ok : Exit::difference;
}

ir::Result<Exit> check(CheckArguments arguments) {
  if (auto done = narrow(arguments, arguments.options); !done) return tl::unexpected(done.error());
  // A file has time for less.
  arguments.options.schedules = arguments.schedules.value_or(
      arguments.all || arguments.file.empty() ? Schedules::all : Schedules::some);
  if (!arguments.all) arguments.options.seconds = arguments.seconds;
  if (!arguments.file.empty())
    return arguments.against.library.empty() ? check_file(arguments) : check_file_other(arguments);
  const auto specs = at_sizes(arguments.spec, arguments.sizes);
  if (!specs) return tl::unexpected(specs.error());
  Exit exit = Exit::ok;
  for (const std::string& spec : *specs) {
    arguments.spec = spec;
    const auto checked = arguments.against.library.empty() ? check_one(arguments) : check_other(arguments);
    if (!checked) return checked;
    exit = std::max(exit, *checked);  // ok, or a difference
  }
  return exit;
}

void add_other_engine(CLI::App& command, CheckArguments& arguments) {
  CLI::Option* against = add_against(command, arguments.against);
  const auto fields = fuzz::neighbour_fields();
  command
      .add_option("--before", arguments.before,
                  "With --against: call it with this field of the layer changed, before each call")
      ->needs(against)
      ->check(CLI::IsMember(std::vector<std::string>(fields.begin(), fields.end())));
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("check", "Compare all engines on the same data, special values included");
  auto arguments = std::make_shared<CheckArguments>();
  CLI::Option_group* what = command->add_option_group("what to check");
  add_spec(*what, arguments->spec);
  what->add_option("--file", arguments->file,
                   "Check each spec of a file: SPEC or NAME<TAB>SPEC a line, # comments");
  what->require_option(1);
  add_sizes(*command, arguments->sizes);
  add_general(*command, arguments->options.general);
  add_other_engine(*command, *arguments);
  command->add_option("--seed", arguments->options.seed, "Of the random data")->capture_default_str();
  command
      ->add_option("--isa", arguments->isa,
                   "all, auto (the best that this machine has), " + ir::isa_texts(", ", " or "))
      ->capture_default_str();
  command
      ->add_option("--backend", arguments->backend, "all, or the one back end that is compared: xbyak, llvm")
      ->capture_default_str();
  command->add_option("--schedule", arguments->schedule,
                      "Only this schedule, written as `pooljit show --stage schedule` prints it");
  command->add_option("--data", arguments->options.data,
                      "Only this kind (plain, ties, special, range), or the input's elements in order: '1 "
                      "-0.5 nan 0x7fc00001'");
  const std::map<std::string, Schedules> schedules = {
      {"best", Schedules::best}, {"all", Schedules::all}, {"some", Schedules::some}};
  command
      ->add_option("--schedules", arguments->schedules,
                   "best, all, or some: all (of huge layers two) through Xbyak, one through LLVM, of large "
                   "layers some tasks in the interpreter (default: all; with --file, some)")
      ->transform(CLI::CheckedTransformer(schedules).description(""));
  CLI::Option* seconds =
      command
          ->add_option(
              "--seconds", arguments->seconds,
              "What a spec may take, about; of a large layer some schedules are made, and the interpreter "
              "runs some of their tasks")
          ->check(CLI::PositiveNumber)
          ->capture_default_str();
  command->add_flag("--all", arguments->all, "Everything, however long it takes: all schedules, all tasks")
      ->excludes(seconds)
      ->excludes("--schedules");
  command
      ->add_option("--threads", arguments->threads,
                   "With --file: specs checked at a time (default: the machine's cores)")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--allow-unsupported", arguments->allow_unsupported,
                    "With --file: specs that pooljit does not support are no failure");
  command->footer(
      "Compared bit for bit: interpreter and back ends, for each ISA and schedule; and the result with the\n"
      "oracle, which shares no code with them. Buffers lie against guard pages.\n\n"
      "  pooljit check 'max_pool2d(float32[1,8,9,9], kernel_size=3, padding=1, return_indices=True)'\n"
      "  pooljit check --file bench/problems/networks.txt --allow-unsupported");
  command->callback([&action, arguments] { action = [arguments] { return check(*arguments); }; });
}

}  // namespace pooljit::tools
