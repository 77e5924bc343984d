// `pooljit export`: kernels as an object file or a static library with a C header, for programs that make no
// code at run time (docs/export.md).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "export/header.h"
#include "export/object.h"
#include "export/source.h"
#include "ir/schedule_text.h"
#include "jit/object/archive.h"
#include "runtime/options.h"
#include "tools/command.h"
#include "tools/engine.h"
#include "tools/interrupt.h"
#include "tools/output_files.h"
#include "tools/problem_file.h"
#include "tools/progress.h"

namespace pooljit::tools {
namespace {

namespace fs = std::filesystem;

struct ExportArguments {
  std::string spec, file, name, prefix, output, header, source;
  std::vector<std::string> isas;
  runtime::Options options;
};

using Kernels = std::vector<runtime::ExportedKernel>;

ir::Result<std::vector<ir::Isa>> read_isas(const std::vector<std::string>& texts) {
  std::set<ir::Isa> isas;
  for (const std::string& text : texts) {
    const auto isa = ir::find_isa(text);
    if (!isa)
      return ir::invalid("runtime.options", fmt::format("isa={} is unknown", text),
                         "--isa " + ir::isa_texts(",", ","));
    isas.insert(*isa);
  }
  return std::vector<ir::Isa>(isas.begin(), isas.end());
}

ir::Result<runtime::Engine> read_engine(const runtime::Options& options) {
  const auto engine = runtime::find_engine(options.backend == "auto" ? "xbyak" : options.backend);
  if (!engine) return tl::unexpected(runtime::resolve(options).error());
  if (!info(*engine).is_native || !runtime::is_built(*engine))
    return ir::unsupported("backend.missing",
                           fmt::format("back end {} makes no machine code here", options.backend),
                           "`pooljit list` lists the ones of this build");
  return *engine;
}

ir::Result<runtime::ExportOptions> read_options(const ExportArguments& arguments) {
  runtime::ExportOptions options;
  const auto isas = read_isas(arguments.isas);
  if (!isas) return tl::unexpected(isas.error());
  const auto engine = read_engine(arguments.options);
  if (!engine) return tl::unexpected(engine.error());
  options.isas = *isas;
  options.engine = *engine;
  options.tune_db = arguments.options.tune_db;
  options.verify = arguments.options.verify;
  if (arguments.options.schedule.empty()) return options;
  const auto schedule = ir::parse_schedule(arguments.options.schedule);
  if (!schedule) return tl::unexpected(schedule.error());
  options.schedule = *schedule;
  return options;
}

// resnet50/stem -> resnet50_stem, "pool1 + pool2:0" -> pool1_pool2_0: replaces the characters that are no
// letters in names of problem files and models.
std::string function_name(const std::string& prefix, const std::string& text) {
  constexpr std::string_view between = "/-.+: ";
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_between = between.find(text[i]) != std::string_view::npos;
    // " + " is one sign.
    if (is_between && i > 0 && between.find(text[i - 1]) != std::string_view::npos) continue;
    name += is_between ? '_' : text[i];
  }
  return prefix.empty() ? name : prefix + "_" + name;
}

ir::Result<std::vector<Problem>> read_specs(const ExportArguments& arguments) {
  if (arguments.file.empty()) return std::vector<Problem>{{arguments.name, arguments.spec}};
  return read_problems(arguments.file);
}

// The same error, with the line of the file that it is about.
ir::Error located(ir::Error error, const ExportArguments& arguments, const Problem& problem) {
  if (!arguments.file.empty())
    error.message = fmt::format("{}:{}: {}", arguments.file, problem.line, error.message);
  return error;
}

// pools of lib/pools.h: what the names of the header's table begin with.
std::string table_of(const std::string& prefix, const std::string& header) {
  std::string stem = fs::path(header).stem().string();
  for (char& c : stem)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (stem.empty() || std::isdigit(static_cast<unsigned char>(stem[0])) != 0) stem = "pools_" + stem;
  return prefix.empty() ? stem : prefix + "_" + stem;
}

// No two functions or constants may have one name.
class Symbols {
 public:
  explicit Symbols(const ExportArguments& arguments) {
    if (arguments.header.empty()) return;
    const std::string table = table_of(arguments.prefix, arguments.header);
    for (const char* of_table : {"_find", "_kernels"}) taken_.emplace(table + of_table, 0);
  }

  ir::Result<void> take(const runtime::ExportedKernel& kernel, const Problem& problem) {
    std::vector<std::string> names = runtime::global_symbols(kernel);
    std::ranges::copy(header_names(kernel), std::back_inserter(names));
    for (const std::string& symbol : names) {
      const auto [known, is_new] = taken_.try_emplace(symbol, problem.line);
      if (is_new) continue;
      return ir::invalid(
          "export.same_name",
          known->second == 0
              ? fmt::format("two kernels, or one and the header's table, would define {}", symbol)
              : fmt::format("line {} defines {} too", known->second, symbol),
          "name them apart");
    }
    return {};
  }

 private:
  std::map<std::string, int> taken_;
};

// No kernels: interrupted.
ir::Result<Kernels> make_kernels(const ExportArguments& arguments, const runtime::ExportOptions& options) {
  const auto specs = read_specs(arguments);
  if (!specs) return tl::unexpected(specs.error());
  catch_interrupt();
  const Progress progress(specs->size());
  Kernels kernels;
  Symbols symbols(arguments);
  for (const Problem& problem : *specs) {
    if (interrupted()) break;
    progress.show(kernels.size() + 1, problem.name);
    auto kernel =
        problem.has_name || arguments.file.empty()
            ? runtime::make_exported(function_name(arguments.prefix, problem.name), problem.spec, options)
            : ir::Result<runtime::ExportedKernel>(
                  ir::invalid("export.name", "the spec has no name", "NAME<TAB>SPEC"));
    auto done = kernel ? symbols.take(*kernel, problem) : tl::unexpected(kernel.error());
    if (!done) {
      progress.clear();
      return tl::unexpected(located(done.error(), arguments, problem));
    }
    kernels.push_back(std::move(*kernel));
  }
  progress.clear();
  if (interrupted()) kernels.clear();
  return kernels;
}

std::string guard_of(const std::string& path) {
  std::string guard = "POOLJIT_EXPORT_" + fs::path(path).filename().string();
  for (char& c : guard) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return guard;
}

std::vector<uint8_t> binary(const Kernels& kernels, const std::string& path) {
  if (fs::path(path).extension() != ".a") return runtime::make_object(kernels).write();
  std::vector<jit::ArchiveMember> members;
  for (const runtime::ExportedKernel& kernel : kernels) {
    const jit::ElfObject object = runtime::make_object({&kernel, 1});
    members.push_back({kernel.name + ".o", object.write(), global_symbols(kernel)});
  }
  return jit::archive(members);
}

struct Output {
  std::string path;
  std::vector<uint8_t> bytes;
};

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

ir::Result<std::vector<Output>> make_outputs(const ExportArguments& arguments, const Kernels& kernels) {
  const auto header = [&](const std::string& path) {
    return bytes_of(export_header(kernels, guard_of(path), table_of(arguments.prefix, path)));
  };
  std::vector<Output> outputs;
  if (!arguments.output.empty()) outputs.push_back({arguments.output, binary(kernels, arguments.output)});
  if (!arguments.header.empty()) outputs.push_back({arguments.header, header(arguments.header)});
  if (arguments.source.empty()) return outputs;
  std::error_code error;
  fs::create_directories(arguments.source, error);
  if (error)
    return ir::system_error("file.create",
                            fmt::format("cannot create {}: {}", arguments.source, error.message()));
  const std::string& named = !arguments.output.empty() ? arguments.output : arguments.header;
  const std::string base = named.empty() ? kernels.front().name : fs::path(named).stem().string();
  const std::string path = arguments.source + "/" + base;
  outputs.push_back({path + ".S", bytes_of(runtime::assembly_source(runtime::make_object(kernels, false)))});
  outputs.push_back({path + ".c", bytes_of(info_source(kernels, base + ".h"))});
  outputs.push_back({path + ".h", header(base + ".h")});
  return outputs;
}

ir::Result<void> write(const std::vector<Output>& outputs) {
  OutputFiles files;
  for (const Output& output : outputs) {
    const auto file = files.add(output.path);
    if (!file) return tl::unexpected(file.error());
    if (auto done = files.write(*file, std::as_bytes(std::span(output.bytes))); !done) return done;
  }
  return files.commit();
}

ir::Result<Exit> export_kernels(const ExportArguments& arguments) {
  const auto options = read_options(arguments);
  if (!options) return tl::unexpected(options.error());
  const auto start = std::chrono::steady_clock::now();
  const auto kernels = make_kernels(arguments, *options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!kernels) return tl::unexpected(kernels.error());
  if (kernels->empty()) return Exit::interrupted;
  const auto outputs = make_outputs(arguments, *kernels);
  if (!outputs) return tl::unexpected(outputs.error());
  if (auto done = write(*outputs); !done) return tl::unexpected(done.error());
  for (const Output& output : *outputs)
    fmt::print("{}: {} kernel{}, {} bytes\n", output.path, kernels->size(), kernels->size() == 1 ? "" : "s",
               output.bytes.size());
  if (options->verify) {
    size_t bodies = 0;
    for (const runtime::ExportedKernel& kernel : *kernels) bodies += kernel.codes.size();
    fmt::print("proved {} bod{} in {:.1f} s\n", bodies, bodies == 1 ? "y" : "ies", took.count());
  }
  return Exit::ok;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("export", "Write kernels as an object file and a C header");
  auto arguments = std::make_shared<ExportArguments>();
  CLI::Option_group* what = command->add_option_group("what to export");
  CLI::Option* spec = add_spec(*what, arguments->spec);
  CLI::Option* file = what->add_option("--file", arguments->file,
                                       "Export each spec of a file: NAME<TAB>SPEC a line, # comments");
  what->require_option(1);
  CLI::Option* name = command->add_option("--name", arguments->name, "Of the C function, for SPEC");
  name->excludes(file);
  spec->needs(name);
  command->add_option("--namespace", arguments->prefix, "What all names begin with: P_NAME");
  CLI::Option* output = command->add_option(
      "-o,--output", arguments->output, "An object (FILE.o), or a static library (FILE.a) of one per spec");
  command->add_option("--header", arguments->header, "The C header (also C++)");
  CLI::Option* source = command->add_option("--source", arguments->source,
                                            "Write the same as assembly, C and a header into this folder");
  for (const ir::IsaInfo& isa : ir::isa_table) arguments->isas.emplace_back(isa.text);
  command->add_option("--isa", arguments->isas, "Instruction sets, best first at run time")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--backend", arguments->options.backend, "auto (xbyak), xbyak or llvm")
      ->capture_default_str();
  add_schedule(*command, arguments->options);
  add_tune_db(*command, arguments->options);
  command->add_flag(
      "--verify", arguments->options.verify,
      "Prove each kernel before anything is written, about a second for each and each ISA; this "
      "machine has to run it");
  command->footer(
      "The program that links it needs no library, but for specs with free dims, whose functions take the\n"
      "size: libpooljit makes the tables of a size, and no code. docs/export.md.\n\n"
      "  pooljit export 'max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)' \\\n"
      "    --name stem -o stem.o --header stem.h\n"
      "  pooljit export 'max_pool2d(float32[N,64,H,W], kernel_size=3)' --name pool -o pool.o --header "
      "pool.h\n"
      "  pooljit export --file bench/problems/networks.txt --isa avx2,avx512 -o libpools.a --header pools.h");
  command->callback([&action, arguments, output, source] {
    if (output->count() + source->count() == 0) throw CLI::RequiredError("--output or --source");
    action = [arguments] { return export_kernels(*arguments); };
  });
}

}  // namespace pooljit::tools
