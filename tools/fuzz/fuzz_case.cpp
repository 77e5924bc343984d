#include "tools/fuzz/fuzz_case.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "ir/choose/enumerate.h"
#include "ir/schedule_fields.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "runtime/sized_code.h"
#include "tools/fuzz/neighbour.h"
#include "tools/fuzz/random_pools.h"

namespace pooljit::fuzz {
namespace {

void change_own_field(ir::Schedule& schedule, Draw& draw) {
  const auto own = fields(schedule.family());
  if (own.empty()) return;
  const ir::ScheduleField& field = own[draw.below(own.size())];
  field.set(schedule,
            static_cast<int>(field.is_number() ? draw.between(1, 16) : draw.below(field.words.size())));
}

constexpr void (*schedule_fields[])(ir::Schedule&, Draw&) = {
    [](ir::Schedule& s, Draw& draw) {
      s.own = schedule_of(ir::all_families[draw.below(std::size(ir::all_families))]).own;
    },
    [](ir::Schedule& s, Draw& draw) { s.lanes = 1 << draw.below(7); },
    [](ir::Schedule& s, Draw& draw) { s.tail = static_cast<ir::Tail>(draw.below(3)); },
    change_own_field,
    change_own_field,
    change_own_field,
    [](ir::Schedule& s, Draw& draw) { s.stores = static_cast<ir::Stores>(draw.below(2)); },
};

runtime::Engine random_backend(Draw& draw) {
  std::vector<runtime::Engine> built;
  for (const runtime::EngineInfo& engine : runtime::engines())
    if (engine.is_native && runtime::is_built(engine.engine)) built.push_back(engine.engine);
  // The first takes microseconds, the others milliseconds.
  return draw.one_in(4) ? built[draw.below(built.size())] : built.front();
}

constexpr int most_tries = 20000;  // to draw a layer that FuzzChoices::only asks for

std::string quoted(const std::string& text) { return "'" + text + "'"; }

struct Word {
  const char* name;
  std::string value;
};

// What says how a spec is run. Those that are empty are not said.
std::vector<Word> words_of(const FuzzCase& one) {
  return {{"isa", one.isa},           {"backend", one.backend},
          {"schedule", one.schedule}, {"seed", one.seed == 1 ? "" : std::to_string(one.seed)},
          {"data", one.data},         {"before", one.before}};
}

// What code for all sizes is made of, if it can be run at the spec's.
std::optional<ir::PoolNest> general_nest_at(const frontend::PoolSpec& spec, ir::Isa isa) {
  const auto free_spec = runtime::freed(spec);
  if (!free_spec) return std::nullopt;
  auto any = runtime::general_nest_of(*free_spec, {runtime::Engine::interpreter, isa, std::nullopt});
  if (!any || !runtime::words_of_pools(*any, make_nest(spec))) return std::nullopt;
  return std::move(*any);
}

}  // namespace

ir::Schedule random_schedule(Draw& draw, const ir::PoolNest& nest, ir::Isa isa) {
  const std::vector<ir::Schedule> all = ir::enumerate_schedules(nest, isa);
  const ir::Schedule& enumerated = all[draw.below(all.size())];
  ir::Schedule changed = enumerated;
  for (uint64_t changes = draw.below(3); changes > 0; --changes) {
    // One of the pools, or the tasks, which count for several.
    const auto pools = pools_of(changed);
    if (!draw.one_in(4))
      schedule_fields[draw.below(std::size(schedule_fields))](pools[draw.below(pools.size())], draw);
    else
      changed.tasks = {.channels = static_cast<int>(draw.between(1, 80)),
                       .rows = static_cast<int>(draw.between(1, 9))};
  }
  return ir::lower(nest, changed, isa) ? changed : enumerated;
}

bool is_wanted(const FuzzCase& one, const FuzzChoices& choices) {
  return one.spec.find(choices.only) != std::string::npos;
}

ir::Result<void> check_only(const FuzzChoices& choices, uint64_t seed) {
  if (choices.only.empty()) return {};
  Draw draw(static_cast<uint32_t>(seed));
  if (is_wanted(draw_case(draw, choices).one, choices)) return {};
  return ir::unsupported(
      "fuzz.only", fmt::format("none of {} random layers holds '{}'", most_tries, choices.only),
      choices.is_own ? "a part of a canonical text, as `pooljit show` prints it"
                     : "a part of a canonical text; other libraries are asked about one pool of a tensor, no "
                       "unpool, and what they do");
}

DrawnCase draw_case(Draw& draw, const FuzzChoices& choices) {
  // Now and then what the library seemed not to do: a refusal may have had to do with another setting.
  const bool is_learned = choices.weights && !draw.one_in(16);
  constexpr uint64_t several = 8;  // one in so many cases is of several pools of a tensor
  const auto draw_spec = [&] {
    if (is_learned) return random_spec_of(draw, *choices.weights);
    DrawnSpec one = random_spec_of(draw, choices.is_own ? Style::any : Style::plain);
    if (choices.is_own && draw.one_in(several))
      if (auto pools = random_pools(one.spec, draw)) one.spec = std::move(*pools);
    return one;
  };
  DrawnSpec drawn = draw_spec();
  for (int tries = 1; tries < most_tries && !is_wanted({.spec = print(drawn.spec)}, choices); ++tries)
    drawn = draw_spec();
  const frontend::PoolSpec& spec = drawn.spec;
  DrawnCase result = {{.spec = print(spec), .seed = 1 + draw.below(1000000)}, std::move(drawn.settings)};
  if (!choices.is_own) {
    constexpr uint64_t neighbours = 4;  // one in so many cases comes after a layer that is almost the same
    if (draw.one_in(neighbours)) result.one.before = random_field(draw);
    return result;
  }
  const ir::Isa isa = choices.isa.value_or(ir::isa_table[draw.below(std::size(ir::isa_table))].isa);
  result.one.isa = info(isa).text;
  result.one.backend = runtime::info(choices.backend.value_or(random_backend(draw))).text;
  ir::PoolNest nest = make_nest(spec);
  constexpr uint64_t general = 4;  // one in so many cases is of the code for all sizes, where there is one
  if (draw.one_in(general))
    if (auto any = general_nest_at(spec, isa)) nest = std::move(*any), result.one.general = true;
  result.one.schedule = print(random_schedule(draw, nest, isa));
  return result;
}

FuzzCase random_case(Draw& draw, const FuzzChoices& choices) { return draw_case(draw, choices).one; }

std::string command_line(const FuzzCase& one, const std::string& against) {
  // What engine_python is, which is no option of the command's.
  const char* const python = against.empty() ? nullptr : std::getenv("POOLJIT_ENGINE_PYTHON");
  std::string text = python && *python ? "POOLJIT_ENGINE_PYTHON=" + quoted(python) + " " : "";
  text += "pooljit check " + quoted(one.spec);
  for (const Word& word : words_of(one))
    if (!word.value.empty()) text += fmt::format(" --{} {}", word.name, quoted(word.value));
  if (one.general) text += " --general";
  if (!against.empty()) text += " --against " + quoted(against);
  return text;
}

std::string golden_text(const FuzzCase& one, const std::string& reference) {
  std::string text = fmt::format("spec: {}\n", one.spec);
  for (const Word& word : words_of(one))
    if (!word.value.empty()) text += fmt::format("{}: {}\n", word.name, word.value);
  if (one.general) text += "general: yes\n";
  return text + "---\nok\n" + reference;
}

}  // namespace pooljit::fuzz
