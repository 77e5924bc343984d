#include "runtime/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/parse_number.h"
#include "ir/schedule_text.h"
#include "runtime/cpu_features.h"
#include "runtime/limits.h"
#include "runtime/machine.h"
#include "runtime/threads.h"

namespace pooljit::runtime {
namespace {

std::string known_words() {
  return "backend=auto|xbyak|llvm|interpreter|reference isa=auto|" + ir::isa_texts("|", "|") +
         " threads=N verify=0|1 schedule=FAMILY(...) tune_db=FILE measure=N|same_bits|N,same_bits "
         "names=perf,jitdump,gdb fallback=reference|never label=NAME sizes=N exact_after=N|-1";
}
constexpr int usual_candidates = 6, most_candidates = 64;

// The next word of `text`; spaces inside brackets belong to it.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  size_t length = 0;
  for (int depth = 0; length < text.size(); ++length) {
    const char c = text[length];
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth <= 0 && (c == ' ' || c == '\t' || c == '\n')) break;
  }
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

bool parse_flag(std::string_view text, bool& flag) {
  flag = text == "1";
  return text == "0" || text == "1";
}

bool set_option(Options& options, std::string_view name, std::string_view value) {
  if (name == "threads") return ir::parse_number(value, options.threads);
  if (name == "sizes") return ir::parse_number(value, options.sizes);
  if (name == "exact_after") return ir::parse_number(value, options.exact_after);
  if (name == "verify") return parse_flag(value, options.verify);
  std::string* text = name == "backend"    ? &options.backend
                      : name == "isa"      ? &options.isa
                      : name == "schedule" ? &options.schedule
                      : name == "tune_db"  ? &options.tune_db
                      : name == "measure"  ? &options.measure
                      : name == "names"    ? &options.names
                      : name == "fallback" ? &options.fallback
                      : name == "label"    ? &options.label
                                           : nullptr;
  if (text) *text = value;
  return text != nullptr && !value.empty();
}

ir::Result<Engine> resolve_engine(std::string_view backend) {
  if (backend == "auto") return Engine::xbyak;
  const std::optional<Engine> engine = find_engine(backend);
  if (!engine)
    return ir::invalid("runtime.options", fmt::format("unknown backend \"{}\"", backend), known_words());
  return require(*engine).map([&] { return *engine; });
}

ir::Result<ir::Isa> resolve_isa(std::string_view text, const EngineInfo& engine) {
  const std::optional<ir::Isa> best = best_isa();
  std::optional<ir::Isa> isa = ir::find_isa(text);
  if (!isa && text != "auto")
    return ir::invalid("runtime.options", fmt::format("unknown isa \"{}\"", text), known_words());
  // An engine that runs no machine code takes any ISA's Program.
  if (!isa) isa = engine.is_native ? best : best.value_or(ir::least_isa);
  if (!isa || (engine.is_native && !can_run(*isa)))
    return ir::unsupported(
        "runtime.isa", fmt::format("this machine cannot run {}", ir::info(isa.value_or(ir::least_isa)).text),
        best ? fmt::format("isa={} is the best that it has", ir::info(*best).text)
             : "backend=interpreter and backend=reference need none");
  return *isa;
}

}  // namespace

ir::Result<Options> parse_option_words(std::string_view text) {
  Options options;
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    const size_t equals = std::min(word.find('='), word.size() - 1);
    if (!set_option(options, word.substr(0, equals), word.substr(equals + 1)))
      return ir::invalid("runtime.options", fmt::format("\"{}\" is no option", word), known_words());
  }
  return options;
}

namespace {

// It becomes a word of text files, and of what gdb reads.
ir::Result<void> check_label(std::string_view label) {
  constexpr size_t longest = 128;
  constexpr std::string_view marks = "_./-:+#@";
  const auto is_allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  };
  if (label.size() <= longest && std::ranges::all_of(label, is_allowed)) return {};
  return ir::invalid("runtime.label", fmt::format("label={} is no name of a layer", label.substr(0, longest)),
                     fmt::format("letters, digits and any of {}, at most {}", marks, longest));
}

}  // namespace

ir::Result<Measuring> parse_measuring(std::string_view text) {
  Measuring measuring;
  if (text.empty()) return measuring;
  const size_t comma = std::min(text.find(','), text.size());
  const std::string_view number = text == "same_bits" ? "" : text.substr(0, comma),
                         rest = text == "same_bits" ? text : text.substr(std::min(comma + 1, text.size()));
  measuring.candidates = usual_candidates;
  measuring.same_bits = rest == "same_bits";
  const bool is_number =
      number.empty() ? text == "same_bits" : ir::parse_number(number, measuring.candidates);
  const bool is_in_range =
      measuring.candidates == 0 || (measuring.candidates >= 2 && measuring.candidates <= most_candidates);
  if (!is_number || !is_in_range || (!measuring.same_bits && comma < text.size()))
    return ir::invalid(
        "runtime.options", fmt::format("measure={} says no number of candidates", text),
        fmt::format("measure=0 (off), 2 to {}, same_bits or {},same_bits; where no option says "
                    "it, the environment variable POOLJIT_MEASURE does",
                    most_candidates, usual_candidates));
  return measuring;
}

ir::Result<Choices> resolve(const Options& options) {
  if (options.threads < 0 || options.threads > max_threads)
    return ir::invalid("runtime.options", fmt::format("threads={} is out of range", options.threads),
                       fmt::format("0 (as many as the process may use) to {}", max_threads));
  if (options.sizes < 0 || options.sizes > most_kept_sizes)
    return ir::invalid("runtime.options", fmt::format("sizes={} is out of range", options.sizes),
                       fmt::format("1 to {}, 0 for {}", most_kept_sizes, usual_kept_sizes));
  if (options.exact_after < never_exact)
    return ir::invalid("runtime.options", fmt::format("exact_after={} is out of range", options.exact_after),
                       fmt::format("1 and more, {} for never, 0 for when it is paid back", never_exact));
  if (const auto checked = check_machine(); !checked) return tl::unexpected(checked.error());
  if (const auto checked = check_isa_limit(); !checked) return tl::unexpected(checked.error());
  if (const auto checked = check_thread_limit(); !checked) return tl::unexpected(checked.error());
  Choices choices;
  const auto engine = resolve_engine(options.backend);
  if (!engine) return tl::unexpected(engine.error());
  choices.engine = *engine;
  const auto isa = resolve_isa(options.isa, info(*engine));
  if (!isa) return tl::unexpected(isa.error());
  choices.isa = *isa;
  const auto names = jit::parse_names(options.names);
  if (!names)
    return ir::invalid("runtime.options", fmt::format("names={} asks for what is not known", options.names),
                       known_words());
  choices.names = jit::with_environment(*names);
  if (const auto checked = check_label(options.label); !checked) return tl::unexpected(checked.error());
  choices.label = options.label;
  if (options.fallback != "reference" && options.fallback != "never")
    return ir::invalid("runtime.options", fmt::format("unknown fallback \"{}\"", options.fallback),
                       known_words());
  const auto measuring = parse_measuring(options.measure);
  if (!measuring) return tl::unexpected(measuring.error());
  choices.measuring = *measuring;
  if (!options.schedule.empty()) {
    const auto schedule = ir::parse_schedule(options.schedule);
    if (!schedule) return tl::unexpected(schedule.error());
    choices.schedule = *schedule;
  }
  return choices;
}

bool may_fall_back(const Options& options) {
  return options.fallback == "reference" && options.backend == "auto" && options.isa == "auto" &&
         options.schedule.empty();
}

bool runs_no_code(const ir::Error& error) {
  return error.id == "runtime.isa" || error.id == "jit.executable";
}

ir::Result<Resolved> resolve_or_fall_back(const Options& options) {
  auto choices = resolve(options);
  if (choices) return Resolved{*choices, ""};
  if (!may_fall_back(options) || !runs_no_code(choices.error())) return tl::unexpected(choices.error());
  Options reference = options;
  reference.backend = info(Engine::reference).text;
  return resolve(reference).map([&](const Choices& instead) {
    return Resolved{instead, choices.error().message};
  });
}

int thread_count(const Options& options) {
  return options.threads > 0 ? options.threads : available_threads();
}

}  // namespace pooljit::runtime
