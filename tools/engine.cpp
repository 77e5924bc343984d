#include "tools/engine.h"

namespace pooljit::tools {
namespace {

tl::unexpected<ir::Error> as_value(const Error& error) {
  const std::string what = error.what(), id = error.id() + ": ", hint = " (" + error.hint() + ")";
  std::string message = what.starts_with(id) ? what.substr(id.size()) : what;
  if (!error.hint().empty() && message.ends_with(hint)) message.resize(message.size() - hint.size());
  const auto kind = [&] {
    switch (error.kind()) {
      case Error::Kind::unsupported:
        return ir::ErrorKind::unsupported;
      case Error::Kind::system:
        return ir::ErrorKind::system;
      case Error::Kind::invalid:
        break;
    }
    return ir::ErrorKind::invalid;
  }();
  return tl::unexpected<ir::Error>(ir::Error{kind, error.id(), message, error.hint()});
}

}  // namespace

CLI::Option* add_spec(CLI::App& command, std::string& spec) {
  return command.add_option("SPEC", spec,
                            "What to pool, e.g. 'max_pool2d(float32[1,64,112,112], kernel_size=3)'");
}

void add_engine(CLI::App& command, Options& options) {
  command.add_option("--backend", options.backend, "auto, xbyak, llvm, interpreter or reference")
      ->capture_default_str();
  command.add_option("--isa", options.isa, "auto (the best that this machine has), avx2 or avx512")
      ->capture_default_str();
  command.add_option("--schedule", options.schedule,
                     "Use this schedule, as `pooljit show --stage schedule` prints it");
}

void add_threads(CLI::App& command, Options& options) {
  command.add_option("--threads", options.threads, "0: as many as this process may use")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

ir::Result<Kernel> compile_kernel(std::string_view spec, const Options& options) {
  try {
    return compile(spec, options);
  } catch (const Error& error) {
    return as_value(error);
  }
}

ir::Result<void> run_kernel(const Kernel& kernel, const void* input, void* output, void* indices) {
  try {
    kernel.run(input, output, indices);
    return {};
  } catch (const Error& error) {
    return as_value(error);
  }
}

}  // namespace pooljit::tools
