// `pooljit show`: any stage on the way from the spec to machine code, as text. Needs no machine that could
// run it.
#include <fmt/format.h>

#include <cstdio>

#include "frontend/dialects.h"
#include "ir/schedule_text.h"
#include "ir/text.h"
#include "jit/backend.h"
#include "jit/decoder.h"
#include "lab/schedules/explain.h"
#include "runtime/compile.h"
#include "runtime/kernel_name.h"
#include "runtime/options.h"
#include "runtime/sized_code.h"
#include "runtime/tuning/choose.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/sizes.h"
#ifdef POOLJIT_WITH_LLVM
#include "jit/llvm/llvm_backend.h"
#endif

namespace pooljit::tools {
namespace {

struct ShowArguments {
  std::string spec, size, stage, dialect = "canonical";
  runtime::Options options;
};

// What every stage is made from. The engine is that of --backend; the choices are the interpreter's, which
// takes any ISA.
struct Subject {
  frontend::PoolSpec spec;
  ir::PoolNest nest;
  runtime::Choices choices;
  std::string backend;
};

using Text = ir::Result<std::string>;

// The schedule that compile() would take, where registers decide.
void take_schedule_that_fits(Subject& subject) {
  const auto fitting = runtime::make_with_registers(
      subject.nest, subject.choices, [&](const ir::Schedule& schedule) -> ir::Result<ir::Schedule> {
        runtime::Choices choices = subject.choices;
        choices.schedule = schedule;
        const auto program = runtime::make_program(subject.nest, choices, ir::Stage::legal);
        if (!program) return tl::unexpected(program.error());
        if (const auto blob = jit::emit(jit::BackendId::xbyak, *program); !blob)
          return tl::unexpected(blob.error());
        return schedule;
      });
  if (fitting) subject.choices.schedule = *fitting;
}

// The schedule that compile() finds by measuring; how it was found goes to stderr.
ir::Result<void> take_measured_schedule(Subject& subject, const runtime::Options& options) {
  const auto kernel = runtime::compile(frontend::print(subject.spec), options);
  if (!kernel) return tl::unexpected(kernel.error());
  fmt::print(stderr, "{}\n", (*kernel)->schedule_origin());
  if (const auto schedule = ir::parse_schedule((*kernel)->code().info.schedule))
    subject.choices.schedule = *schedule;
  return {};
}

Text show_nest(const Subject& subject) { return subject.nest.print(); }
// Refused where no code can be made of it.
Text show_schedule(const Subject& subject) {
  runtime::Choices chosen = subject.choices;
  chosen.schedule = runtime::chosen_schedule(subject.nest, subject.choices);
  return runtime::make_program(subject.nest, chosen, ir::Stage::affine).map([&](const ir::Program&) {
    return ir::print(*chosen.schedule);
  });
}

template <ir::Stage stage>
Text show_program(const Subject& subject) {
  return runtime::make_program(subject.nest, subject.choices, stage).map([](const ir::Program& program) {
    return ir::print(program);
  });
}

Text show_llvm([[maybe_unused]] const Subject& subject) {
#ifdef POOLJIT_WITH_LLVM
  return runtime::make_program(subject.nest, subject.choices, ir::Stage::affine).and_then(jit::llvm_ir);
#else
  return ir::unsupported("backend.missing", "this build has no LLVM", "build with -DPOOLJIT_LLVM=ON");
#endif
}

Text show_asm(const Subject& subject) {
  const std::string_view wanted = subject.backend == "auto" ? "xbyak" : std::string_view(subject.backend);
  for (const jit::BackendInfo& backend : jit::backends()) {
    if (backend.text != wanted) continue;
    if (auto found = jit::require_decoder(); !found) return tl::unexpected(found.error());
    const auto program = runtime::make_program(subject.nest, subject.choices, backend.consumes);
    if (!program) return tl::unexpected(program.error());
    const auto blob = jit::emit(backend.id, *program);
    if (!blob) return tl::unexpected(blob.error());
    return runtime::named_listing(subject.nest, subject.choices.label, backend.text, *blob, *program);
  }
  return ir::unsupported("backend.missing", fmt::format("back end {} makes no machine code here", wanted),
                         "`pooljit list` lists the ones of this build");
}

struct StageRow {
  std::string_view name;
  Text (*show)(const Subject&);
  std::string_view note;
};
constexpr std::string_view spec_stage = "spec";  // also of specs that no other stage can do yet
constexpr std::string_view nest_stage = "nest";  // also of an unpool, which has no Program
constexpr StageRow stages[] = {
    {spec_stage, nullptr, "the canonical text of the spec, or another dialect's with --as"},
    {nest_stage, show_nest, "which inputs make each output"},
    {"schedule", show_schedule, "how it will be computed"},
    {"program", show_program<ir::Stage::affine>, "the vector IR, as lowered"},
    {"legal", show_program<ir::Stage::legal>, "the vector IR, with the ISA's own instructions only"},
    {"llvm", show_llvm, "the optimised LLVM module"},
    {"asm", show_asm, "a disassembly, with the Program line of each instruction beside it"},
};

ir::Result<Exit> show_spec(const ShowArguments& arguments) {
  const auto spec = frontend::parse_meaning(arguments.spec);
  if (!spec) return tl::unexpected(spec.error());
  for (const frontend::Dialect& dialect : frontend::dialects()) {
    if (dialect.name != arguments.dialect) continue;
    const Text text = print_as(dialect, *spec);
    if (!text) return tl::unexpected(text.error());
    fmt::print("{}\n", *text);
  }
  return Exit::ok;
}

// With free dims that of the code for all sizes.
ir::Result<ir::PoolNest> nest_of(const frontend::PoolSpec& spec, const runtime::Choices& choices) {
  if (!has_free_dims(spec)) return make_nest(spec);
  auto nest = runtime::general_nest_of(spec, choices);
  if (!nest) nest.error().hint = "--size 224x224 shows the code for one";
  return nest;
}

ir::Result<Exit> show(ShowArguments arguments) {
  auto sized = at_size(arguments.spec, arguments.size);
  if (!sized) return tl::unexpected(sized.error());
  arguments.spec = std::move(*sized);
  // A backend's name is checked for every stage, so that a misspelt one is not passed over.
  runtime::Options options = arguments.options;
  if (options.backend != "auto" && !runtime::find_engine(options.backend))
    return tl::unexpected(runtime::resolve(options).error());
  if (arguments.stage == spec_stage) return show_spec(arguments);
  const auto spec = frontend::parse_spec(arguments.spec, frontend::FreeDims::allowed);
  if (!spec) return tl::unexpected(spec.error());
  options.backend = "interpreter";
  const auto choices = runtime::resolve(options);
  if (!choices) return tl::unexpected(choices.error());

  auto nest = nest_of(*spec, *choices);
  if (!nest) return tl::unexpected(nest.error());
  Subject subject{*spec, std::move(*nest), *choices, arguments.options.backend};
  const auto has_schedules = runtime::has_schedules(*spec);
  if (!has_schedules && arguments.stage != nest_stage) return tl::unexpected(has_schedules.error());
  if (!arguments.options.measure.empty()) {
    if (const auto taken = take_measured_schedule(subject, arguments.options); !taken)
      return tl::unexpected(taken.error());
  } else if (has_schedules) {
    take_schedule_that_fits(subject);
  }
  for (const StageRow& row : stages) {
    if (row.name != arguments.stage) continue;
    const Text text = row.show(subject);
    if (!text) return tl::unexpected(text.error());
    fmt::print("{}{}", *text, text->ends_with('\n') ? "" : "\n");
  }
  return Exit::ok;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("show", "Print any stage between spec and machine code");
  auto arguments = std::make_shared<ShowArguments>();
  std::vector<std::string> names;
  std::string notes = "Stages:\n";
  for (const StageRow& row : stages) {
    names.emplace_back(row.name);
    notes += fmt::format("  {:10}{}\n", row.name, row.note);
  }
  add_spec(*command, arguments->spec)->required();
  add_size(*command, arguments->size);
  command->add_option("--stage", arguments->stage, "What to print; see below")
      ->required()
      ->check(CLI::IsMember(names));
  std::vector<std::string> dialects;
  for (const frontend::Dialect& dialect : frontend::dialects()) dialects.emplace_back(dialect.name);
  command->add_option("--as", arguments->dialect, "Stage spec: the dialect to print it in")
      ->check(CLI::IsMember(dialects));
  add_backend(*command, arguments->options);
  add_isa(*command, arguments->options);
  add_schedule(*command, arguments->options);
  add_measure(*command, arguments->options);
  command->add_option("--label", arguments->options.label,
                      "Stage asm: the layer's name in its model, shown before ours");
  command->footer(
      notes +
      "\nOf free dims without --size what serves all sizes.\n"
      "\n  pooljit show 'max_pool1d(float32[1,16,64]:nhwc, kernel_size=2)' --stage program"
      "\n  pooljit show 'max_pool2d(float32[1,64,112,112], kernel_size=3)' --stage asm --isa avx2");
  command->callback([&action, arguments] { action = [arguments] { return show(*arguments); }; });
}

}  // namespace pooljit::tools
