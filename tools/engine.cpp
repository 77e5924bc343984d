#include "tools/engine.h"

#include <map>

namespace pooljit::tools {

CLI::Option* add_spec(CLI::App& command, std::string& spec) {
  return command.add_option("SPEC", spec,
                            "What to pool, e.g. 'max_pool2d(float32[1,64,112,112], kernel_size=3)'");
}

CLI::Option* add_size(CLI::App& command, std::string& size) {
  return command.add_option("--size", size,
                            "Of a spec with free dims: the extents of the spatial dims, 224x224 or 4x56x56");
}

CLI::Option* add_general(CLI::App& command, bool& general) {
  return command.add_flag(
      "--general", general,
      "The code for all sizes, at the spec's; of a spec with free dims and without --size "
      "that is done anyhow, at sizes with every kind of border and tail");
}

CLI::Option* add_sizes(CLI::App& command, std::vector<std::string>& sizes) {
  return command
      .add_option("--size", sizes,
                  "Of specs with free dims: the extents of the spatial dims, 224x224; several with commas, "
                  "each is done")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void add_backend(CLI::App& command, runtime::Options& options) {
  command.add_option("--backend", options.backend, "auto, xbyak, llvm, interpreter or reference")
      ->capture_default_str();
}

void add_fallback(CLI::App& command, runtime::Options& options) {
  command
      .add_option("--fallback", options.fallback,
                  "What backend auto is where no machine code can run: reference, or never: that is an error")
      ->capture_default_str();
}

void add_isa(CLI::App& command, runtime::Options& options) {
  command
      .add_option("--isa", options.isa,
                  "auto (the best that this machine has), " + ir::isa_texts(", ", " or "))
      ->capture_default_str();
}

void add_schedule(CLI::App& command, runtime::Options& options) {
  command.add_option("--schedule", options.schedule,
                     "Use this schedule, written as `pooljit show --stage schedule` prints it");
}

void add_measure(CLI::App& command, runtime::Options& options) {
  command.add_option("--measure", options.measure,
                     "Time so many schedules first and take the fastest: 6; same_bits: only such as give the "
                     "default's bits; default: $POOLJIT_MEASURE");
}

void add_tune_db(CLI::App& command, runtime::Options& options) {
  command.add_option("--tune-db", options.tune_db,
                     "Take the schedule from this file of `pooljit tune`, if it has one for the spec");
}

void add_threads(CLI::App& command, runtime::Options& options) {
  command.add_option("--threads", options.threads, "0: as many as this process may use")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_proof(CLI::App& command, Verdict& verdict, const std::string& help) {
  const std::map<std::string, Verdict> verdicts = {
      {"none", Verdict::none}, {"compare", Verdict::compare}, {"verify", Verdict::verify}};
  command.add_option("--proof", verdict, help)->transform(CLI::CheckedTransformer(verdicts).description(""));
}

}  // namespace pooljit::tools
