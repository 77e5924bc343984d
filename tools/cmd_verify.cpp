// `pooljit verify`: proves the machine code of kernels, of one spec or a file of them (docs/proof.md).
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "lab/schedules/candidates.h"
#include "runtime/cpu_features.h"
#include "runtime/options.h"
#include "runtime/proof/verify.h"
#include "runtime/sized_code.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/interrupt.h"
#include "tools/problem_file.h"
#include "tools/progress.h"
#include "tools/sizes.h"

namespace pooljit::tools {
namespace {

struct VerifyArguments {
  std::string spec, file;
  std::vector<std::string> sizes;
  runtime::Options options = {.backend = "all", .isa = "all"};
  runtime::ProofLimits limits;
  bool all_schedules = false;
  int threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  bool json = false, allow_unsupported = false, allow_smaller = false;
};

struct VerifyTally {
  int64_t proved = 0, smaller = 0, failed = 0, unsupported = 0, invalid = 0, system = 0, runs = 0;

  void take(const ir::Result<runtime::Proof>& proof) {
    if (proof) {
      ++(!proof->ok() ? failed : proof->smaller.empty() ? proved : smaller);
      runs += proof->probes.runs;
      return;
    }
    const ir::ErrorKind kind = proof.error().kind;
    ++(kind == ir::ErrorKind::unsupported ? unsupported : kind == ir::ErrorKind::invalid ? invalid : system);
  }
  Exit exit(const VerifyArguments& arguments) const {
    if (failed != 0) return Exit::difference;
    if (invalid != 0) return Exit::invalid;
    if (system != 0) return Exit::system;
    if (unsupported != 0 && !arguments.allow_unsupported) return Exit::unsupported;
    return smaller != 0 && !arguments.allow_smaller ? Exit::smaller : Exit::ok;
  }
};

// Every engine and ISA that is asked for: "all" is each back end of this build and each ISA of this machine.
ir::Result<std::vector<runtime::Choices>> choices(const runtime::Options& options) {
  std::vector<std::string> backends = {options.backend}, isas = {options.isa};
  if (options.backend == "all") {
    backends.clear();
    for (const runtime::EngineInfo& engine : runtime::engines())
      if (engine.is_native && runtime::is_built(engine.engine)) backends.emplace_back(engine.text);
  }
  if (options.isa == "all") {
    isas.clear();
    for (const ir::IsaInfo& isa : ir::isa_table)
      if (runtime::can_run(isa.isa)) isas.emplace_back(isa.text);
  }
  std::vector<runtime::Choices> all;
  for (const std::string& backend : backends)
    for (const std::string& isa : isas) {
      const auto resolved = runtime::resolve({.backend = backend, .isa = isa, .schedule = options.schedule});
      if (!resolved) return tl::unexpected(resolved.error());
      all.push_back(*resolved);
    }
  return all;
}

// Of what is asked for, for one spec: with every kind of schedule, if all are wanted, with free dims of those
// that make code for all sizes. A wrong spec has one, and its proof says what is wrong.
std::vector<runtime::Choices> with_schedules(const VerifyArguments& arguments, std::string_view spec_text,
                                             const std::vector<runtime::Choices>& all) {
  if (!arguments.all_schedules) return all;
  const auto spec = frontend::parse_spec(spec_text, frontend::FreeDims::allowed);
  if (!spec) return all;
  std::vector<runtime::Choices> varied;
  for (runtime::Choices choice : all) {
    const auto nest = has_free_dims(*spec) ? runtime::general_nest_of(*spec, choice) : make_nest(*spec);
    if (!nest) return all;
    for (const ir::Schedule& schedule : runtime::varied_schedules(*nest, choice.isa, 0)) {
      choice.schedule = schedule;
      varied.push_back(choice);
    }
  }
  return varied;
}

ir::Result<runtime::Proof> prove(std::string_view spec, const runtime::Choices& choice,
                                 const runtime::ProofLimits& limits) {
  auto proof = runtime::verify(spec, choice, limits);
  if (!proof && proof.error().id == "general.unsupported")
    proof.error().hint = "--size 224x224 proves the code for one";
  return proof;
}

nlohmann::json to_json(const runtime::Proof& proof) {
  nlohmann::json probes;
  for (size_t i = 0; i < runtime::part_count; ++i)
    probes[std::string(info(runtime::Part(i)).text)] = proof.probes.probes[i];
  nlohmann::json json = {{"spec", proof.spec},
                         {"backend", proof.backend},
                         {"isa", proof.isa},
                         {"schedule", proof.schedule},
                         {"proved", proof.ok()},
                         {"smaller", proof.smaller},
                         {"sizes", proof.sizes},
                         {"failure", proof.failure},
                         {"left", proof.left},
                         {"versions", proof.versions},
                         {"program_outputs", proof.program_outputs},
                         {"bytes_outputs", proof.bytes_outputs},
                         {"plane_kinds", proof.bytes_kinds},
                         {"task_ranges", proof.ranges},
                         {"probes", probes},
                         {"runs", proof.probes.runs},
                         {"batch", proof.probes.batch},
                         {"random_rounds", proof.probes.rounds.rounds},
                         {"log2_error", proof.probes.rounds.log2_error},
                         {"seconds", proof.seconds}};
  if (proof.code)
    json["code"] = {{"instructions", proof.code->instructions},
                    {"branches", proof.code->branches},
                    {"addresses", proof.code->addresses}};
  return json;
}

ir::Result<Exit> verify_one(const VerifyArguments& arguments, const std::vector<runtime::Choices>& all) {
  const auto specs = at_sizes(arguments.spec, arguments.sizes);
  if (!specs) return tl::unexpected(specs.error());
  VerifyTally tally;
  for (const std::string& spec : *specs)
    for (const runtime::Choices& choice : with_schedules(arguments, spec, all)) {
      const auto proof = prove(spec, choice, arguments.limits);
      if (!proof) return tl::unexpected(proof.error());
      if (arguments.json)
        fmt::print("{}\n", to_json(*proof).dump());
      else
        fmt::print("{}", print(*proof));
      std::fflush(stdout);
      tally.take(proof);
    }
  return tally.exit(arguments);
}

void report(const VerifyArguments& arguments, const Problem& problem, const ir::Result<runtime::Proof>& proof,
            const Progress& progress) {
  if (arguments.json && proof) {
    fmt::print("{}\n", to_json(*proof).dump());
  } else if (!proof || !proof->ok()) {
    progress.clear();
    fmt::print("{}: {}", problem.name, proof ? print(*proof) : to_string(proof.error()) + "\n");
  } else if (!proof->smaller.empty()) {
    progress.clear();
    fmt::print("{}: {} {} is proved for a smaller tensor: {}\n", problem.name, proof->backend, proof->isa,
               proof->smaller);
  }
  std::fflush(stdout);
}

// Problems are handed out one by one to threads, whose kernels run in child processes; reports take turns.
class FileRun {
 public:
  FileRun(const VerifyArguments& arguments, const std::vector<runtime::Choices>& choices,
          const std::vector<Problem>& problems)
      : arguments_(arguments), choices_(choices), problems_(problems), progress_(problems.size()) {}

  void run() {
    {
      std::vector<std::jthread> workers;
      for (int i = 1; i < arguments_.threads; ++i) workers.emplace_back([this] { work(); });
      work();
    }
    progress_.clear();
  }

  VerifyTally tally;
  size_t done = 0;

 private:
  void work() {
    for (size_t i = next_++; i < problems_.size() && !interrupted(); i = next_++) prove(problems_[i]);
  }

  void prove(const Problem& problem) {
    for (const runtime::Choices& choice : with_schedules(arguments_, problem.spec, choices_)) {
      const auto proof = tools::prove(problem.spec, choice, arguments_.limits);
      const std::scoped_lock lock(mutex_);
      if (interrupted()) return;
      report(arguments_, problem, proof, progress_);
      tally.take(proof);
      if (!proof) break;  // the same for the others
    }
    const std::scoped_lock lock(mutex_);
    progress_.show(++done, problem.name);
  }

  const VerifyArguments& arguments_;
  const std::vector<runtime::Choices>& choices_;
  const std::vector<Problem>& problems_;
  const Progress progress_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
};

ir::Result<Exit> verify_file(const VerifyArguments& arguments, const std::vector<runtime::Choices>& all) {
  const auto problems = read_problems(arguments.file, arguments.sizes);
  if (!problems) return tl::unexpected(problems.error());
  catch_interrupt();
  const auto start = std::chrono::steady_clock::now();
  FileRun file(arguments, all, *problems);
  file.run();
  const VerifyTally& tally = file.tally;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (!arguments.json)
    fmt::print(
        "{} of {} specs: {} kernels proved, {} for a smaller tensor, {} not, {} specs unsupported, {} "
        "invalid, "
        "{} failed; {} runs, {:.1f} s\n",
        file.done, problems->size(), tally.proved, tally.smaller, tally.failed, tally.unsupported,
        tally.invalid, tally.system, tally.runs, elapsed.count());
  return interrupted() ? Exit::interrupted : tally.exit(arguments);
}

ir::Result<Exit> verify(const VerifyArguments& arguments) {
  const auto all = choices(arguments.options);
  if (!all) return tl::unexpected(all.error());
  return arguments.file.empty() ? verify_one(arguments, *all) : verify_file(arguments, *all);
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("verify", "Prove the machine code of kernels (docs/proof.md lists what is assumed)");
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::Option_group* what = command->add_option_group("what to prove");
  add_spec(*what, arguments->spec);
  what->add_option("--file", arguments->file,
                   "Prove each spec of a file: SPEC or NAME<TAB>SPEC a line, # comments");
  what->require_option(1);
  add_sizes(*command, arguments->sizes);
  command
      ->add_option("--backend", arguments->options.backend,
                   "all (that make machine code), or one: auto, xbyak, llvm, interpreter, reference")
      ->capture_default_str();
  command
      ->add_option("--isa", arguments->options.isa,
                   "all (that this machine has), auto, " + ir::isa_texts(", ", " or "))
      ->capture_default_str();
  add_schedule(*command, arguments->options);
  const std::map<std::string, bool> schedules = {{"best", false}, {"all", true}};
  command
      ->add_option("--schedules", arguments->all_schedules,
                   "best: the default; all: every one that the chooser offers, and one of each other family")
      ->transform(CLI::CheckedTransformer(schedules).description(""))
      ->type_name("ENUM")
      ->default_str("best")
      ->excludes("--schedule");
  command
      ->add_option("--limit", arguments->limits.work,
                   "Elements that the probes of one kernel may visit; larger tensors are probed smaller. The "
                   "symbolic runs of Program and bytes grow with it")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "With --file: how many specs are proved at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag(
      "--probe", arguments->limits.probes_whole,
      "Probe whole tensors also where their bytes were executed, not only those that cost little");
  command->add_flag("--json", arguments->json, "A JSON object per kernel");
  command->add_flag("--allow-unsupported", arguments->allow_unsupported,
                    "With --file: specs that pooljit does not support are no failure");
  command->add_flag("--allow-smaller", arguments->allow_smaller,
                    "Tensors that are too large, of which a smaller one is proved, are no failure");
  command->footer(
      "What is proved, what is assumed and what is left: docs/proof.md.\n\n"
      "  pooljit verify 'max_pool2d(float32[1,64,56,56], kernel_size=3, stride=2, return_indices=True)'\n"
      "  pooljit verify --file bench/problems/networks.txt --allow-unsupported");
  command->callback([&action, arguments] { action = [arguments] { return verify(*arguments); }; });
}

}  // namespace pooljit::tools
