#include "runtime/compile.h"

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/float_control.h"
#include "runtime/options.h"
#include "runtime/proof/verify.h"
#include "runtime/tuning/choose.h"
#include "runtime/unpool/unpool.h"

namespace pooljit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// What the text and the options say.
struct Request {
  frontend::PoolSpec spec;
  Choices choices;
  int threads = 1;
  bool verify = false;
  std::string schedule_origin;
};

ir::Result<Request> read_request(std::string_view spec_text, const Options& options, bool needs_database) {
  auto spec = frontend::parse_spec(spec_text);
  if (!spec) return tl::unexpected(spec.error());
  auto choices = resolve(options);
  if (!choices) return tl::unexpected(choices.error());
  const int threads = thread_count(options);
  auto origin = choose_schedule(*spec, {options.tune_db, needs_database}, threads, *choices);
  if (!origin) return tl::unexpected(origin.error());
  return Request{std::move(*spec), *choices, threads, options.verify, std::move(*origin)};
}

ir::Result<std::string> prove(const Code& code, const frontend::PoolSpec& spec, const Choices& choices) {
  const auto proof = prove_code(code, spec, choices);
  if (!proof) return tl::unexpected(proof.error());
  if (!proof->ok()) return ir::invalid("prove.kernel", proof->failure, "a bug of pooljit: please report it");
  return print(*proof);
}

ir::Result<CodePtr> make_code(const Request& request, Clock::time_point start) {
  const EngineInfo& engine = info(request.choices.engine);
  auto code = is_unpool(request.spec) ? make_unpool(request.spec)
                                      : engine.make(frontend::make_nest(request.spec), request.choices);
  if (!code) return tl::unexpected(code.error());
  CodeInfo& made = (*code)->info;
  made.signature = frontend::signature(request.spec);
  made.backend = engine.text;
  made.compile_time = Clock::now() - start;
  if (!request.verify) return *code;
  auto proof = prove(**code, request.spec, request.choices);
  if (!proof) return tl::unexpected(proof.error());
  made.proof = std::move(*proof);
  return *code;
}

KernelPtr bind(Request request, CodePtr code) {
  return std::make_shared<const Kernel>(std::move(request.spec), std::move(code), request.threads,
                                        std::move(request.schedule_origin));
}

ir::Result<KernelPtr> compile_cached(const Cache::TextView& text, bool needs_database) {
  if (KernelPtr known = cache().find(text)) return known;
  const FloatControl control;  // constants come out the same, too
  const auto start = Clock::now();
  auto request = read_request(text.spec(), text.options(), needs_database);
  if (!request) return tl::unexpected(request.error());
  std::string key = cache_key(request->spec, request->choices);
  if (request->verify) key += " verify=1";
  if (request->choices.names.any()) key += " names=" + text.options().names;
  const auto code = cache().get(key, [&] { return make_code(*request, start); });
  if (!code) return tl::unexpected(code.error());
  KernelPtr kernel = bind(std::move(*request), *code);
  cache().remember(text, key, kernel);
  return kernel;
}

// The file that the environment names; null if the options name one, or nobody does.
const char* environment_database(const Options& options) {
  const char* database = options.tune_db.empty() ? std::getenv("POOLJIT_TUNE_DB") : nullptr;
  return database && *database ? database : nullptr;
}

}  // namespace

CheckedSpec::CheckedSpec(frontend::PoolSpec spec, Options options, bool needs_database)
    : spec_(std::move(spec)),
      text_(frontend::print(spec_)),
      signature_(frontend::signature(spec_)),
      options_(std::move(options)),
      needs_database_(needs_database),
      key_(text_, options_) {}

ir::Result<std::shared_ptr<const CheckedSpec>> check_spec(std::string_view spec_text,
                                                          const Options& options) {
  const FloatControl control;
  auto spec = frontend::parse_spec(spec_text);
  if (!spec) return tl::unexpected(spec.error());
  return check_spec(std::move(*spec), options);
}

ir::Result<std::shared_ptr<const CheckedSpec>> check_spec(frontend::PoolSpec spec, const Options& options) {
  if (const auto choices = resolve(options); !choices) return tl::unexpected(choices.error());
  Options with = options;
  const char* database = environment_database(options);
  if (database) with.tune_db = database;
  return std::make_shared<const CheckedSpec>(std::move(spec), std::move(with), !database);
}

ir::Result<KernelPtr> compile(const CheckedSpec& spec) {
  return compile_cached(spec.key(), spec.needs_database());
}

ir::Result<KernelPtr> compile(std::string_view spec_text, const Options& options) {
  const char* database = environment_database(options);
  if (!database) return compile_cached({spec_text, options}, true);
  Options with = options;
  with.tune_db = database;
  return compile_cached({spec_text, with}, false);
}

ir::Result<KernelPtr> compile_uncached(std::string_view spec_text, const Options& options) {
  const FloatControl control;
  const auto start = Clock::now();
  auto request = read_request(spec_text, options, true);
  if (!request) return tl::unexpected(request.error());
  const auto code = make_code(*request, start);
  if (!code) return tl::unexpected(code.error());
  return bind(std::move(*request), *code);
}

ir::Result<std::string> prove_kernel(const Kernel& kernel) {
  const FloatControl control;  // of the child that probes, too
  const CodeInfo& made = kernel.code().info;
  Choices choices;
  choices.engine = *find_engine(made.backend);
  if (const auto isa = ir::find_isa(made.isa)) choices.isa = *isa;
  if (!made.schedule.empty()) choices.schedule = *ir::parse_schedule(made.schedule);
  return prove(kernel.code(), kernel.spec(), choices);
}

std::string cache_key(const frontend::PoolSpec& spec, const Choices& choices) {
  return fmt::format("{} isa={} schedule={} backend={}", frontend::signature(spec),
                     ir::info(choices.isa).text, choices.schedule ? ir::print(*choices.schedule) : "best",
                     info(choices.engine).text);
}

}  // namespace pooljit::runtime
