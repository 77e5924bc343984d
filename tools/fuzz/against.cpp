#include "tools/fuzz/against.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "frontend/pool_spec.h"
#include "lab/check_case.h"
#include "lab/elements.h"
#include "runtime/layer.h"
#include "tools/fuzz/cell.h"
#include "tools/fuzz/difference.h"
#include "tools/fuzz/explain.h"
#include "tools/fuzz/fault_place.h"
#include "tools/fuzz/neighbour.h"

namespace pooljit::fuzz {
namespace {

using frontend::PoolSpec;

// A byte that the engine must not have touched: what it was not given at this place is as it was.
std::string stray_write(const runtime::Case& data, size_t place) {
  if (!std::ranges::equal(data.input.at[0].bytes(), data.input.at[1].bytes())) return "it wrote to the input";
  for (const runtime::Placed* placed : {&data.output, &data.indices})
    for (size_t i = 0; i < placed->touchable.size(); ++i)
      if (!placed->touchable[i] && placed->at[place].bytes()[i] != placed->at[1 - place].bytes()[i])
        return fmt::format("byte {} of an output's buffer lies in a gap and was written", i);
  return "";
}

// What an engine is tried on: the kinds of data that a case names, or its elements.
class Inputs {
 public:
  // Errors: "check.data".
  static ir::Result<Inputs> make(const PoolSpec& spec, const ir::PoolNest& nest, const FuzzCase& one) {
    const auto only = runtime::find_data_kind(one.data);
    Inputs inputs(nest, std::max<int64_t>(spec.batch.value_or(1), 1), one.seed);
    if (!only && !one.data.empty()) {
      auto elements = runtime::parse_elements(nest.input.dtype, one.data);
      if (!elements) return tl::unexpected(elements.error());
      inputs.elements_ = std::move(*elements);
      inputs.numbers_ = {0};
      return inputs;
    }
    for (size_t i = 0; i < inputs.kinds_.size(); ++i)
      if (!only || *only == inputs.kinds_[i]) inputs.numbers_.push_back(i);
    return inputs;
  }

  size_t size() const { return numbers_.size(); }
  ir::Result<runtime::Case> input(size_t i) const {
    return runtime::Case::make(nest_, kinds_[numbers_[i]], batch_, seed_ * 1000 + numbers_[i], elements_);
  }

 private:
  Inputs(const ir::PoolNest& nest, int64_t batch, uint64_t seed)
      : nest_(nest), kinds_(runtime::data_kinds(nest)), batch_(batch), seed_(seed) {}
  const ir::PoolNest& nest_;
  std::span<const runtime::DataKind> kinds_;
  int64_t batch_;
  uint64_t seed_;
  std::vector<size_t> numbers_;  // of kinds_
  std::vector<uint64_t> elements_;
};

std::string names_of(const std::vector<Divergence>& rules) {
  std::string names;
  for (const Divergence rule : rules) names += fmt::format("{}{}", names.empty() ? "" : " ", info(rule).name);
  return names;
}

// An objection, with the bits of what looks the same as a number, and how much is wrong.
std::string said_of(const Outcome& outcome, const std::string& objection) {
  if (outcome.place.empty()) return objection;
  const size_t bound = objection.find(", give or take");
  return fmt::format("{} is {}, the reference says {}{}\n{} of {} outputs are wrong", outcome.place,
                     outcome.got, outcome.expected, bound == std::string::npos ? "" : objection.substr(bound),
                     outcome.wrong, outcome.of);
}

// The engine's call on one input, its buffers where a fault would tell them.
int call_on(const runtime::Case& data, size_t place, const auto& run) {
  for (const size_t other : {0, 1}) data.clear_outputs(other);
  const runtime::Call call = data.call(place);
  const WatchedBuffer buffers[] = {{"input", data.input.at[place].bytes()},
                                   {"output", data.output.at[place].bytes()},
                                   {"indices", data.indices.at[place].bytes()}};
  watch_buffers(std::span(buffers).first(call.indices ? 3 : 2));
  int code = 0;
  {
    const Cell::Charge engine(true);
    code = run(call);
  }
  watch_buffers({});
  return code;
}

// What no engine is asked about.
bool is_unasked(const PoolSpec& spec) { return spec.batch == 0 || is_unpool(spec) || is_pools(spec); }

}  // namespace

ir::Result<OtherEngine> OtherEngine::open(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return ir::system_error("fuzz.library", fmt::format("{}: {}", path, why),
                            "a shared library that exports pooljit_engine_run (include/pooljit_engine.h); a "
                            "path with a slash, or a name that the loader finds");
  };
  const auto load = [&]() { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); };
  constexpr double load_seconds = 60;
  const auto cell = Cell::make();
  if (!cell) return tl::unexpected(cell.error());
  const auto probe = cell->run([&] { return nlohmann::json(load() != nullptr); }, load_seconds, load_seconds);
  if (!probe) return tl::unexpected(probe.error());
  if (!probe->is_done()) return refuse("while it was loaded: " + probe->death.failure);
  void* const library = load();
  const auto reason = [] {
    const char* const why = ::dlerror();
    return std::string(why ? why : "no reason given");
  };
  if (!library) return refuse(reason());
  void* const run = ::dlsym(library, "pooljit_engine_run");
  if (!run) return refuse(reason());
  const auto find = [&]<typename Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
  };
  Takes takes = nullptr;
  Words words;
  find("pooljit_engine_takes", takes);
  find("pooljit_engine_version", words.version);
  find("pooljit_engine_start", words.start);
  find("pooljit_engine_error", words.error);
  return OtherEngine(path, reinterpret_cast<Run>(run), takes, words);
}

std::string OtherEngine::version() const {
  if (!words_.version || (words_.start && words_.start(1, "avx512") != POOLJIT_ENGINE_DONE)) return "";
  const char* const text = words_.version();
  return text ? text : "";
}

// What the engine made of one input. A difference is explained by what is accepted, if that can be.
Outcome OtherEngine::judge(const ir::PoolNest& nest, int code, runtime::Case& data, size_t place,
                           const std::string& spec, const Accepted& accepted) const {
  using Verdict = Outcome::Verdict;
  Outcome outcome = {.verdict = Verdict::failed, .data = std::string(data.data)};
  const auto failed = [&](Kind kind, const std::string& wrong) {
    outcome.kind = kind;
    outcome.failure =
        fmt::format("{}{}\n{}", data.name(), place == 0 ? "" : ", buffers at the beginning of a page", wrong);
    return accepted.settled(outcome, spec);
  };
  const auto note = [&](const Difference& first) {
    outcome.place = first.place, outcome.got = first.got, outcome.expected = first.expected;
    outcome.wrong = first.wrong, outcome.of = first.of;
  };
  if (code != POOLJIT_ENGINE_DONE) {
    const char* const words = words_.error ? words_.error() : nullptr;
    const std::string said = words && *words ? words : Cell::printed_by_case();
    return failed(Kind::error, fmt::format("it returned {}{}{}", code, said.empty() ? "" : "\n", said));
  }
  if (const std::string stray = stray_write(data, place); !stray.empty())
    return failed(Kind::stray_write, stray);
  const auto objection = data.objection(nest, place);
  const bool is_plain = !nest.is_backward() && nest.epilogue.empty();
  if (!is_plain) return objection ? failed(Kind::differs, *objection) : Outcome();
  const runtime::Results results = data.results(place);
  std::optional<std::vector<Divergence>> known;
  if (objection) {
    known = explain(nest, data, results, accepted.divergences_of(spec));
    if (known) {
      outcome.explanation = names_of(*known);
    } else {
      if (const auto first = first_difference(nest, data, results)) note(*first);
      const auto other = explain(nest, data, results);
      if (other) outcome.explanation = names_of(*other);
      return failed(other ? Kind::known : Kind::differs, said_of(outcome, *objection));
    }
  }
  if (const auto broken = broken_rule(nest, data, results, accepted.rules_of(spec))) {
    note(difference_at(nest, data, results, broken->output, broken->rule == Divergence::ties_last));
    outcome.explanation = info(broken->rule).name;
    return failed(Kind::inconsistent, fmt::format("{} is {}: elsewhere its rule is {}", outcome.place,
                                                  outcome.got, info(broken->rule).name));
  }
  if (!objection) return {};
  failed(Kind::known, *objection);
  outcome.verdict = Verdict::accepted;
  return outcome;
}

std::optional<OtherEngine::Answer> OtherEngine::ask(const PoolSpec& spec,
                                                    std::span<const uint64_t> elements) const {
  const runtime::LayerStruct layer(spec);
  auto data = runtime::Case::make(layer.nest(), runtime::DataKind::plain,
                                  std::max<int64_t>(spec.batch.value_or(1), 1), 1, elements);
  if (!data) return std::nullopt;
  const int code = call_on(*data, 0, [&](const runtime::Call& call) {
    return run_(layer.get(), call.input, call.output, call.indices);
  });
  if (code != POOLJIT_ENGINE_DONE) return std::nullopt;
  runtime::Results results = data->results(0);
  return Answer{std::move(*data), std::move(results)};
}

// Whatever it makes of the layer: that is judged where it is drawn.
void OtherEngine::call_neighbour(const PoolSpec& spec, const std::string& field) const {
  if (const auto other = neighbour(spec, field); other && !is_unasked(*other)) ask(*other, {});
}

ir::Result<Outcome> OtherEngine::try_case(const FuzzCase& one, const Accepted& accepted) const {
  auto spec = frontend::parse_spec(one.spec);
  if (!spec) return tl::unexpected(spec.error());
  if (is_unasked(*spec)) return Outcome{.verdict = Outcome::Verdict::unsupported};
  const Cell::Charge ours(false);
  const runtime::LayerStruct layer(*spec);
  const auto inputs = Inputs::make(*spec, layer.nest(), one);
  if (!inputs) return tl::unexpected(inputs.error());
  const auto run = [&](const runtime::Call& call) {
    return run_(layer.get(), call.input, call.output, call.indices);
  };
  Outcome worst;
  int64_t runs = 0;
  for (size_t i = 0; i < inputs->size() && worst.verdict != Outcome::Verdict::failed; ++i) {
    auto data = inputs->input(i);
    if (!data) return tl::unexpected(data.error());
    for (const size_t place : {0, 1}) {
      call_neighbour(*spec, one.before);
      const int code = call_on(*data, place, run);
      if (code == POOLJIT_ENGINE_UNSUPPORTED) return Outcome{.verdict = Outcome::Verdict::unsupported};
      ++runs;
      const Outcome found = judge(layer.nest(), code, *data, place, one.spec, accepted);
      if (found.verdict > worst.verdict) worst = found;
      if (worst.verdict == Outcome::Verdict::failed) break;
    }
  }
  worst.runs = runs;
  return worst;
}

bool OtherEngine::takes(const std::string& text) const {
  const auto spec = frontend::parse_spec(text);
  if (!spec || is_unasked(*spec)) return false;
  const runtime::LayerStruct layer(*spec);
  if (takes_) return takes_(layer.get()) == POOLJIT_ENGINE_DONE;
  const int64_t batch = std::max<int64_t>(spec->batch.value_or(1), 1);
  const auto data = runtime::Case::make(layer.nest(), runtime::DataKind::plain, batch, 1);
  if (!data) return false;
  return call_on(*data, 0, [&](const runtime::Call& call) {
           return run_(layer.get(), call.input, call.output, call.indices);
         }) != POOLJIT_ENGINE_UNSUPPORTED;
}

}  // namespace pooljit::fuzz
