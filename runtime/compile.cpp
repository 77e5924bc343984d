#include "runtime/compile.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>

#include "ir/schedule_text.h"
#include "jit/fork_gate.h"
#include "runtime/float_control.h"
#include "runtime/fork.h"
#include "runtime/options.h"
#include "runtime/proof/general.h"
#include "runtime/proof/verify.h"
#include "runtime/sized_code.h"
#include "runtime/tuning/choose.h"
#include "runtime/tuning/first_use.h"
#include "runtime/tuning/store.h"
#include "runtime/unpool/unpool.h"

namespace pooljit::runtime {
namespace {

using Clock = std::chrono::steady_clock;

[[maybe_unused]] const ForkHandlers fork_handlers;

// The request of the text and the options.
struct Request {
  frontend::PoolSpec spec;
  Choices choices;
  int threads = 1;
  bool verify = false;
  std::string schedule_origin;
  std::string database;  // that what is measured is added to; empty: none
  std::string fallback;  // why the reference is taken; empty: it is not
  bool may_fall_back = false;

  // The schedule is found by measuring.
  bool measures() const { return choices.measuring.candidates > 0 && !choices.schedule && !is_unpool(spec); }

  // Takes the reference, if code that cannot run is why making it failed.
  bool fall_back(const ir::Error& error) {
    if (!may_fall_back || !runs_no_code(error)) return false;
    choices.engine = Engine::reference;
    choices.schedule.reset();
    choices.measuring = {};
    schedule_origin.clear();
    fallback = error.message;
    may_fall_back = false;
    return true;
  }
};

ir::Result<Request> make_request(frontend::PoolSpec spec, const Options& options, bool needs_database) {
  auto resolved = resolve_or_fall_back(options);
  if (!resolved) return tl::unexpected(resolved.error());
  Choices& choices = resolved->choices;
  const int threads = thread_count(options);
  const Measuring& measuring = choices.measuring;
  // A database's schedules may add in another order than the default's.
  const std::string database = measuring.same_bits ? "" : options.tune_db;
  const bool is_new = measuring.candidates > 0 && !is_there(database);
  auto origin = choose_schedule(spec, {database, needs_database && !is_new}, threads, choices);
  if (!origin) return tl::unexpected(origin.error());
  return Request{.spec = std::move(spec),
                 .choices = choices,
                 .threads = threads,
                 .verify = options.verify,
                 .schedule_origin = std::move(*origin),
                 .database = database,
                 .fallback = std::move(resolved->fallback),
                 .may_fall_back = may_fall_back(options)};
}

ir::Result<std::shared_ptr<Code>> measured_code(const Request& request) {
  auto found = measure_first_use(request.spec, request.choices);
  if (!found) return tl::unexpected(found.error());
  found->code->info.origin =
      found->origin +
      keep(*found, tune_key(request.spec, request.choices, request.threads), request.database);
  return found->code;
}

// The proof, for people.
ir::Result<std::string> sentence_of(const ir::Result<Proof>& proof) {
  if (!proof) return tl::unexpected(proof.error());
  if (!proof->ok()) return ir::invalid("prove.kernel", proof->failure, "a bug of pooljit: please report it");
  return print(*proof);
}

ir::Result<CodePtr> make_code(const Request& request, Clock::time_point start) {
  const EngineInfo& engine = info(request.choices.engine);
  auto code = is_unpool(request.spec) ? make_unpool(request.spec)
              : request.measures()    ? measured_code(request)
                                      : engine.make(frontend::make_nest(request.spec), request.choices);
  if (!code) return tl::unexpected(code.error());
  CodeInfo& made = (*code)->info;
  made.signature = frontend::signature(request.spec);
  made.backend = engine.text;
  made.compile_time = Clock::now() - start;
  if (!request.verify) return *code;
  const jit::LetForks let;  // it takes minutes, and forks itself
  auto proof = sentence_of(prove_code(**code, request.spec, request.choices));
  if (!proof) return tl::unexpected(proof.error());
  made.proof = std::move(*proof);
  return *code;
}

KernelPtr bind(Request request, CodePtr code) {
  std::string origin = code->info.origin.empty() ? std::move(request.schedule_origin) : code->info.origin;
  return std::make_shared<const Kernel>(
      std::move(request.spec), std::move(code), request.threads,
      Kernel::Remarks{std::move(origin), std::move(request.fallback), std::move(request.choices.label)});
}

std::string key_of(const Request& request, const Options& options) {
  std::string key = cache_key(request.spec, request.choices);
  if (request.measures())
    key += fmt::format(" measure={},{} tune_db={}", request.choices.measuring.candidates,
                       int{request.choices.measuring.same_bits}, request.database);
  if (request.verify) key += " verify=1";
  if (request.choices.names.any()) key += " names=" + options.names;
  // Tools know code by one name.
  if (!options.label.empty() && request.choices.names.any()) key += " label=" + options.label;
  return key;
}

ir::Result<KeyedKernel> make_kernel(Request request, const Options& options, Clock::time_point start) {
  std::string key;
  const auto get = [&] {
    key = key_of(request, options);
    return cache().get(key, [&] { return make_code(request, start); });
  };
  auto code = get();
  if (!code && request.fall_back(code.error())) code = get();
  if (!code) return tl::unexpected(code.error());
  return KeyedKernel{bind(std::move(request), *code), std::move(key)};
}

ir::Result<CodePtr> make_general(const Request& request, Clock::time_point start) {
  auto code = make_general_code(request.spec, request.choices);
  if (!code) return tl::unexpected(code.error());
  (*code)->info.compile_time = Clock::now() - start;
  if (!request.verify) return *code;
  const jit::LetForks let;
  auto proof = sentence_of(prove_general(*code, request.spec, request.choices));
  if (!proof) return tl::unexpected(proof.error());
  (*code)->info.proof = std::move(*proof);
  return *code;
}

// Why no code is made for all sizes, where the options say so.
std::string asks_for_exact(const Request& request, const Options& options) {
  if (options.exact_after == 1) return "exact_after=1";
  if (request.measures()) return "measure= times the schedules of each";
  if (request.choices.engine == Engine::reference) return "the reference has no code";
  return "";
}

// Options are resolved here once, so that what is wrong with them shows before the first run.
ir::Result<AnyKernel> make_free(const Cache::TextView& text, frontend::PoolSpec spec, bool needs_database,
                                Clock::time_point start) {
  const Options& options = text.options();
  auto request = make_request(std::move(spec), options, needs_database);
  if (!request) return tl::unexpected(request.error());
  const auto finish = [&](CodePtr code, std::string why) {
    return std::make_shared<const FreeKernel>(std::move(request->spec), options, needs_database,
                                              FreeKernel::General{std::move(code), std::move(why)});
  };
  const auto for_each_size = [&](std::string_view why) {
    FreeKernelPtr kernel = finish(nullptr, fmt::format("each size has its own: {}", why));
    cache().remember(text, kernel);
    return kernel;
  };
  if (const std::string why = asks_for_exact(*request, options); !why.empty()) return for_each_size(why);
  const std::string key = key_of(*request, options);
  auto code = cache().get(key, [&] { return make_general(*request, start); });
  if (!code) {
    const ir::Error& error = code.error();
    // What the code for a size lacks too, that says; what is proved wrong is not passed over.
    const bool is_other = error.kind == ir::ErrorKind::system || error.id.starts_with("prove.");
    if (is_other && !request->fall_back(error)) return tl::unexpected(error);
    return for_each_size(error.message);
  }
  FreeKernelPtr kernel = finish(*code, fmt::format("one code for all sizes, {}", request->schedule_origin));
  cache().remember(text, key, kernel);
  return kernel;
}

// Nothing is ignored in silence.
ir::Result<void> check_sizes_option(const frontend::PoolSpec& spec, const Options& options) {
  if (has_free_dims(spec)) return {};
  const auto refuse = [&](const char* name, int value) {
    return ir::invalid("runtime.options",
                       fmt::format("{}={} is given for {}", name, value, frontend::print(spec)),
                       "it is for specs with free dims: float32[N,64,H,W]");
  };
  if (options.sizes != 0) return refuse("sizes", options.sizes);
  if (options.exact_after != 0) return refuse("exact_after", options.exact_after);
  return {};
}

ir::Result<AnyKernel> compile_cached(const Cache::TextView& text, bool needs_database) {
  if (auto known = cache().find(text)) return *std::move(known);
  const jit::HoldForks hold;
  const FloatControl control;  // constants come out the same, too
  const auto start = Clock::now();
  auto spec = frontend::parse_spec(text.spec(), frontend::FreeDims::allowed);
  if (!spec) return tl::unexpected(spec.error());
  if (auto checked = check_sizes_option(*spec, text.options()); !checked)
    return tl::unexpected(checked.error());
  if (has_free_dims(*spec)) return make_free(text, std::move(*spec), needs_database, start);
  auto request = make_request(std::move(*spec), text.options(), needs_database);
  if (!request) return tl::unexpected(request.error());
  auto made = make_kernel(std::move(*request), text.options(), start);
  if (!made) return tl::unexpected(made.error());
  cache().remember(text, made->key, made->kernel);
  return made->kernel;
}

ir::Result<KernelPtr> with_known_sizes(const AnyKernel& any) {
  if (const auto* const kernel = std::get_if<KernelPtr>(&any)) return *kernel;
  return tl::unexpected(std::get<FreeKernelPtr>(any)->sizes_not_said());
}

const char* environment(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value ? value : nullptr;
}

// The last value of set_measure(): a number of candidates, and whether only such as give the default's bits.
constexpr int unset = -1, same_bits_flag = 1 << 16;
std::atomic<int> process_measure = unset;

std::string measure_of_process() {
  const int set = process_measure.load(std::memory_order_relaxed);
  if (set != unset)
    return fmt::format("{}{}", set & ~same_bits_flag, set & same_bits_flag ? ",same_bits" : "");
  const char* const named = environment("POOLJIT_MEASURE");
  return named ? named : "";
}

// Those that the code was made by.
Choices choices_of(const CodeInfo& made) {
  Choices choices;
  choices.engine = *find_engine(made.backend);
  if (const auto isa = ir::find_isa(made.isa)) choices.isa = *isa;
  if (!made.schedule.empty()) choices.schedule = *ir::parse_schedule(made.schedule);
  return choices;
}

// Choices that the options leave to the process and the environment.
struct Inherited {
  explicit Inherited(const Options& options)
      : database(options.tune_db.empty() ? environment("POOLJIT_TUNE_DB") : nullptr),
        measure(options.measure.empty() ? measure_of_process() : "") {}

  bool any() const { return database || !measure.empty(); }
  Options with(Options options) const {
    if (database) options.tune_db = database;
    if (!measure.empty()) options.measure = measure;
    return options;
  }

  const char* database;  // null: the options name one, or nobody does
  std::string measure;
};

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
  auto spec = frontend::parse_spec(spec_text, frontend::FreeDims::allowed);
  if (!spec) return tl::unexpected(spec.error());
  return check_spec(std::move(*spec), options);
}

ir::Result<std::shared_ptr<const CheckedSpec>> check_spec(frontend::PoolSpec spec, const Options& options) {
  const jit::HoldForks hold;
  const Inherited inherited(options);
  Options with = inherited.with(options);
  if (const auto choices = resolve_or_fall_back(with); !choices) return tl::unexpected(choices.error());
  if (auto checked = check_sizes_option(spec, with); !checked) return tl::unexpected(checked.error());
  return std::make_shared<const CheckedSpec>(std::move(spec), std::move(with), !inherited.database);
}

ir::Result<AnyKernel> compile_any(const CheckedSpec& spec) {
  return compile_cached(spec.key(), spec.needs_database());
}

ir::Result<KernelPtr> compile(const CheckedSpec& spec) {
  return compile_any(spec).and_then(with_known_sizes);
}

ir::Result<AnyKernel> compile_any(std::string_view spec_text, const Options& options) {
  const Inherited inherited(options);
  if (!inherited.any()) return compile_cached({spec_text, options}, true);
  return compile_cached({spec_text, inherited.with(options)}, !inherited.database);
}

ir::Result<KernelPtr> compile(std::string_view spec_text, const Options& options) {
  return compile_any(spec_text, options).and_then(with_known_sizes);
}

ir::Result<KeyedKernel> compile_keyed(frontend::PoolSpec spec, const Options& options, bool needs_database) {
  const jit::HoldForks hold;
  const FloatControl control;
  const auto start = Clock::now();
  auto request = make_request(std::move(spec), options, needs_database);
  if (!request) return tl::unexpected(request.error());
  return make_kernel(std::move(*request), options, start);
}

ir::Result<void> set_measure(std::string_view measure) {
  const auto measuring = parse_measuring(measure);
  if (!measuring) return tl::unexpected(measuring.error());
  process_measure =
      measure.empty() ? unset : measuring->candidates | (measuring->same_bits ? same_bits_flag : 0);
  return {};
}

ir::Result<KernelPtr> compile_uncached(std::string_view spec_text, const Options& options) {
  const jit::HoldForks hold;
  const FloatControl control;
  const auto start = Clock::now();
  auto spec = frontend::parse_spec(spec_text);
  if (!spec) return tl::unexpected(spec.error());
  auto request = make_request(std::move(*spec), options, true);
  if (!request) return tl::unexpected(request.error());
  auto code = make_code(*request, start);
  if (!code && request->fall_back(code.error())) code = make_code(*request, start);
  if (!code) return tl::unexpected(code.error());
  return bind(std::move(*request), *code);
}

ir::Result<std::string> prove_kernel(const Kernel& kernel) {
  const FloatControl control;  // of the child that probes, too
  return sentence_of(prove_code(kernel.code(), kernel.spec(), choices_of(kernel.code().info)));
}

ir::Result<std::string> prove_kernel(const FreeKernel& kernel) {
  const FloatControl control;
  const CodePtr& code = kernel.general_code();
  if (!code) return tl::unexpected(kernel.sizes_not_said());
  return sentence_of(prove_general(code, kernel.spec(), choices_of(code->info)));
}

ir::Result<bool> is_tuned(const frontend::PoolSpec& spec, const Options& options, bool needs_database) {
  if (!options.schedule.empty()) return false;
  return make_request(spec, options, needs_database).map([](const Request& request) {
    return request.choices.schedule.has_value();
  });
}

std::string cache_key(const frontend::PoolSpec& spec, const Choices& choices) {
  return fmt::format("{} isa={} schedule={} backend={}", frontend::signature(spec),
                     ir::info(choices.isa).text, choices.schedule ? ir::print(*choices.schedule) : "best",
                     info(choices.engine).text);
}

}  // namespace pooljit::runtime
