// `pooljit tune`: measures which schedule is the fastest on this machine, and remembers it (docs/tuning.md).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/tuning/store.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/problem_file.h"
#include "tools/tune_export.h"
#include "tools/tune_session.h"

namespace pooljit::tools {
namespace {

// Of entries with the same key the faster one stays.
ir::Result<Exit> merge(const TuneArguments& arguments) {
  const auto own = runtime::load_entries(arguments.database);
  if (!own) return tl::unexpected(own.error());
  std::vector<runtime::TuneEntry> best = own->entries;
  size_t read = 0;
  for (const std::string& path : arguments.merge) {
    const auto other = runtime::read_tune_database(path);
    if (!other) return tl::unexpected(other.error());
    for (const auto& ignored : other->ignored)
      fmt::print(stderr, "pooljit: {} line {} is ignored: {}\n", path, ignored.line, ignored.reason);
    read += other->entries.size();
    for (const runtime::TuneEntry& entry : other->entries) {
      const auto same = std::ranges::find_if(best, [&](const auto& old) { return old.has_key_of(entry); });
      if (same == best.end())
        best.push_back(entry);
      else if (entry.seconds < same->seconds || same->version != entry.version)
        *same = entry;
    }
  }
  if (auto stored = runtime::store_entries(arguments.database, best); !stored)
    return tl::unexpected(stored.error());
  fmt::print("{} entries of {} files, {} in {}\n", read, arguments.merge.size(), best.size(),
             arguments.database);
  return Exit::ok;
}

struct ExportForm {
  std::string_view name;
  nlohmann::ordered_json (*make)(const SampleRows& rows);
};
constexpr ExportForm export_forms[] = {
    {"t1", as_t1}, {"t4", as_t4}, {"t4-metadata", as_t4_metadata}, {"kernel-tuner", as_kernel_tuner}};

ir::Result<Exit> write_export(const TuneArguments& arguments) {
  if (arguments.exported == "json") {
    const auto database = runtime::read_tune_database(arguments.database);
    if (!database) return tl::unexpected(database.error());
    fmt::print("{}\n", database_json(*database).dump(2));
    return Exit::ok;
  }
  const RowFilter filter = {
      .spec = arguments.specs.empty() ? "" : arguments.specs.front(),
      .isa = arguments.options.isa == "auto" ? "" : arguments.options.isa,
      .threads = arguments.options.threads > 0 ? std::optional(arguments.options.threads) : std::nullopt,
      .cpu = arguments.cpu};
  const auto rows = read_samples(arguments.samples, filter);
  if (!rows) return tl::unexpected(rows.error());
  for (const ExportForm& form : export_forms)
    if (arguments.exported == form.name) fmt::print("{}\n", form.make(*rows).dump(2));
  return Exit::ok;
}

ir::Result<Exit> tune(const TuneArguments& arguments) {
  if (!arguments.exported.empty()) return write_export(arguments);
  if (!arguments.merge.empty()) return merge(arguments);
  std::vector<Problem> problems;
  for (const std::string& spec : arguments.specs) problems.push_back({spec, spec});
  if (!arguments.file.empty()) {
    auto read = read_problems(arguments.file);
    if (!read) return tl::unexpected(read.error());
    problems = std::move(*read);
  }
  return run_tune_session(arguments, std::move(problems));
}

void add_measuring(CLI::App& command, TuneArguments& arguments) {
  command.add_flag("--exhaustive", arguments.exhaustive,
                   "Measure every schedule, whatever time it takes; with --time-budget as far as that goes, "
                   "and the same command goes on");
  command
      .add_option("--seconds", arguments.seconds_each, "How long each schedule is measured while searching")
      ->check(CLI::Range(1e-4, 1e4));
  command.add_flag("--skip-scalar", arguments.skip_scalar,
                   "Leave out schedules of one lane, where there are others");
  command.add_option(
      "--samples", arguments.samples,
      "Append everything that is measured to this file, a JSON object a line; what is in it is "
      "not measured again");
  add_proof(
      command, arguments.verdict,
      "What the file of --samples says of each: none, and then nothing goes into the database; compare: "
      "with the oracle's results; verify: proved (default: verify)");
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("tune", "Measure the fastest schedules and remember them");
  auto arguments = std::make_shared<TuneArguments>();
  if (const char* path = std::getenv("POOLJIT_TUNE_DB"); path && *path) arguments->database = path;
  CLI::Option_group* what = command->add_option_group("what to tune");
  what->add_option("SPEC", arguments->specs, "What to pool; several are several specs");
  what->add_option("--file", arguments->file,
                   "Tune each spec of a file: SPEC or NAME<TAB>SPEC a line, # comments");
  what->add_option("--merge", arguments->merge,
                   "Put these databases into --db; of two entries for the same the faster one stays");
  CLI::Option* exported =
      what->add_option(
              "--export", arguments->exported,
              "Print what is known: json (the database); of the file of --samples t1, t4, t4-metadata "
              "or kernel-tuner, of one SPEC, --isa, --threads and --cpu if there are several")
          ->check(CLI::IsMember({"json", "t1", "t4", "t4-metadata", "kernel-tuner"}));
  what->require_option(1, 2);
  command->add_option("--db", arguments->database, "The database; default: $POOLJIT_TUNE_DB, or this")
      ->capture_default_str();
  command
      ->add_option("--time-budget", arguments->budget,
                   "Seconds for all specs together (default: 3 each, and less where nothing better "
                   "comes)")
      ->check(CLI::PositiveNumber);
  add_measuring(*command, *arguments);
  command->add_option("--cpu", arguments->cpu,
                      "Export rows of machines whose processor has this in its text");
  command->add_flag("--json", arguments->json, "A JSON object a line for each spec, and one for the summary");
  command->add_flag("--again", arguments->again, "Also specs that have a fresh entry");
  add_backend(*command, arguments->options);
  add_isa(*command, arguments->options);
  add_threads(*command, arguments->options);
  command->footer(
      "A schedule replaces the default only if it is faster by more than the noise of both and proved "
      "right.\n"
      "Every spec is written when it is done: stopped, the same command goes on where it was.\n\n"
      "  pooljit tune --file bench/problems/networks.txt --threads 1 --db tuned.db\n"
      "  POOLJIT_TUNE_DB=tuned.db pooljit bench 'max_pool2d(float32[1,64,112,112], kernel_size=3)' --threads "
      "1");
  command->callback([&action, arguments, exported] {
    const bool needs_samples =
        *exported ? arguments->exported != "json" : arguments->verdict == Verdict::none;
    if (needs_samples && arguments->samples.empty())
      throw CLI::ValidationError(*exported ? "--export " + arguments->exported : "--proof none",
                                 "needs --samples FILE");
    action = [arguments] { return tune(*arguments); };
  });
}

}  // namespace pooljit::tools
