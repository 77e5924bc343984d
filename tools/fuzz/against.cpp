#include "tools/fuzz/against.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/pool_spec.h"
#include "runtime/check_case.h"
#include "runtime/elements.h"
#include "tools/engine_layer.h"
#include "tools/fuzz/explain.h"

namespace pooljit::fuzz {
namespace {

using frontend::PoolSpec;

// A byte that the engine must not have touched.
std::string stray_write(const runtime::Case& data) {
  if (!std::ranges::equal(data.input.at[0].bytes(), data.input.at[1].bytes())) return "it wrote to the input";
  for (const runtime::Placed* placed : {&data.output, &data.indices})
    for (size_t i = 0; i < placed->touchable.size(); ++i)
      if (!placed->touchable[i] && placed->at[0].bytes()[i] != placed->at[1].bytes()[i])
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

// Takes in what the engine made of one input. A failure weighs more than what is explained.
void judge(const ir::PoolNest& nest, int code, runtime::Case& data, Outcome& outcome) {
  std::string wrong = code == POOLJIT_ENGINE_DONE ? stray_write(data) : fmt::format("it returned {}", code);
  if (wrong.empty()) {
    const auto objection = data.objection(nest, 0);
    if (!objection) return;
    const auto rules =
        nest.is_backward() || !nest.epilogue.empty() ? std::nullopt : explain(nest, data, data.results(0));
    if (rules && !outcome.explanation.empty()) return;
    if (rules) {
      outcome.verdict = Outcome::Verdict::explained;
      for (const Divergence rule : *rules)
        outcome.explanation += fmt::format("{}{}", rule == rules->front() ? "" : " ", info(rule).name);
      outcome.failure = fmt::format("{}\n{}", data.name(), *objection);
      return;
    }
    wrong = *objection;
  }
  outcome.verdict = Outcome::Verdict::failed;
  outcome.explanation.clear();
  outcome.failure = fmt::format("{}\n{}", data.name(), wrong);
}

}  // namespace

ir::Result<OtherEngine> OtherEngine::open(const std::string& path) {
  const auto refuse = [&](const char* why) {
    return ir::system_error("fuzz.library", fmt::format("{}: {}", path, why ? why : "no reason given"),
                            "a shared library that exports pooljit_engine_run (include/pooljit_engine.h); a "
                            "path with a slash, or a name that the loader finds");
  };
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return refuse(::dlerror());
  void* const run = ::dlsym(library, "pooljit_engine_run");
  if (!run) return refuse(::dlerror());
  return OtherEngine(path, reinterpret_cast<Run>(run));
}

ir::Result<Outcome> OtherEngine::try_case(const FuzzCase& one) const {
  auto spec = frontend::parse_spec(one.spec);
  if (!spec) return tl::unexpected(spec.error());
  if (spec->batch == 0 || spec->direction == ir::Direction::unpool)
    return Outcome{.verdict = Outcome::Verdict::unsupported};
  const tools::EngineLayer layer(*spec);
  const auto inputs = Inputs::make(*spec, layer.nest(), one);
  if (!inputs) return tl::unexpected(inputs.error());
  Outcome outcome;
  for (size_t i = 0; i < inputs->size(); ++i) {
    auto data = inputs->input(i);
    if (!data) return tl::unexpected(data.error());
    for (const size_t place : {0, 1}) data->clear_outputs(place);
    const runtime::Call call = data->call(0);
    const int code = run_(layer.get(), call.input, call.output, call.indices);
    if (code == POOLJIT_ENGINE_UNSUPPORTED) return Outcome{.verdict = Outcome::Verdict::unsupported};
    ++outcome.runs;
    judge(layer.nest(), code, *data, outcome);
    if (outcome.verdict == Outcome::Verdict::failed) break;
  }
  return outcome;
}

}  // namespace pooljit::fuzz
