// The parts of a spec that check() runs: each pool of several, and code for all sizes at some of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "ir/choose/enumerate.h"
#include "lab/check.h"
#include "lab/check_case.h"
#include "lab/check_member.h"
#include "lab/elements.h"
#include "runtime/proof/general.h"
#include "runtime/sized_code.h"

namespace pooljit::runtime {
namespace {

// Of a spec with free dims.
constexpr size_t sizes_of_check = 6;

// Of several pools of one tensor: one Program makes all of them.
void add_member(CheckReport& all, const CheckReport& member) {
  all.runs += member.runs;
  all.left_out = std::max(all.left_out, member.left_out);
  all.interpreted = std::min(all.interpreted, member.interpreted);
  all.failure = member.failure;
  all.results += member.results;
  for (const std::string& line : member.skipped)
    if (std::ranges::find(all.skipped, line) == all.skipped.end()) all.skipped.push_back(line);
}

void add_size(CheckReport& all, const CheckReport& size) {
  add_member(all, size);
  all.programs += size.programs;
  all.max_batch = std::max(all.max_batch, size.max_batch);
}

ir::Result<ir::PoolNest> any_nest_of(const frontend::PoolSpec& free_spec, const CheckOptions& options) {
  return general_nest_of(free_spec, {.engine = Engine::interpreter, .schedule = options.schedule});
}

// Of code for this size alone; where `any` is a nest of any size, of the code for that at this size.
ir::Result<CheckReport> check_sized(const frontend::PoolSpec& spec, const ir::PoolNest* any,
                                    const CheckOptions& options) {
  const ir::PoolNest nest = make_nest(spec);
  std::shared_ptr<const GeneralCode> general;
  if (any) {
    auto words = words_of_pools(*any, nest);
    if (!words) return tl::unexpected(words.error());
    general = std::make_shared<const GeneralCode>(GeneralCode{*any, std::move(*words)});
  }
  std::optional<CheckReport> all;
  const std::vector<Member> members = members_of(nest, general);
  CheckOptions of_member = options;
  if (options.seconds) *of_member.seconds /= double(members.size());
  for (const Member& member : members) {
    auto report = check_member(spec, member, of_member);
    if (!report) return report;
    all ? add_member(*all, *report) : void(all = std::move(*report));
    if (!all->ok()) break;
  }
  return std::move(*all);
}

// Some of those that proofs look at: the least, the one with windows of all kinds, and others by the seed.
std::vector<std::vector<int64_t>> sizes_to_check(const frontend::PoolSpec& spec, const ir::PoolNest* general,
                                                 uint64_t seed) {
  const auto schedules =
      general ? ir::enumerate_schedules(*general, ir::least_isa, 1) : std::vector<ir::Schedule>(1);
  std::vector<std::vector<int64_t>> sizes = sizes_to_prove(spec, schedules.front());
  if (sizes.size() <= sizes_of_check) return sizes;
  std::shuffle(sizes.begin() + 1, sizes.end() - 1, std::mt19937_64(seed));
  std::swap(sizes[1], sizes.back());
  sizes.resize(sizes_of_check);
  return sizes;
}

// Where there is no code for all sizes, the code of each size is checked.
ir::Result<CheckReport> check_free(const frontend::PoolSpec& spec, const CheckOptions& options) {
  const auto general = any_nest_of(spec, options);
  std::optional<CheckReport> all;
  const auto sizes = sizes_to_check(spec, general && !options.schedule ? &*general : nullptr, options.seed);
  CheckOptions of_size = options;
  if (options.seconds) *of_size.seconds /= double(sizes.size());
  for (const std::vector<int64_t>& size : sizes) {
    const auto sized = with_sizes(spec, size);
    if (!sized) return tl::unexpected(sized.error());
    auto report = check_sized(*sized, general ? &*general : nullptr, of_size);
    if (!report && report.error().id == "general.window") report = check_sized(*sized, nullptr, of_size);
    if (!report) return report;
    if (!report->ok()) report->failure = fmt::format("at {}\n{}", fmt::join(size, "x"), report->failure);
    all ? add_size(*all, *report) : void(all = std::move(*report));
    if (!all->ok()) break;
  }
  all->spec = print(spec);
  return std::move(*all);
}

}  // namespace

ir::Result<CheckReport> check(std::string_view spec_text, const CheckOptions& options) {
  auto spec = frontend::parse_spec(spec_text, frontend::FreeDims::allowed);
  if (!spec) return tl::unexpected(spec.error());
  if (is_unpool(*spec))
    return ir::unsupported("check.unpool", "an unpool is one routine: there are no engines to compare",
                           "run it");
  if (has_free_dims(*spec)) return check_free(*spec, options);
  if (!options.general) return check_sized(*spec, nullptr, options);
  const auto free_spec = freed(*spec);
  if (!free_spec) return tl::unexpected(free_spec.error());
  const auto general = any_nest_of(*free_spec, options);
  if (!general) return tl::unexpected(general.error());
  return check_sized(*spec, &*general, options);
}

ir::Result<std::string> reference_of(std::string_view spec_text, std::string_view text) {
  const auto spec = frontend::parse_spec(spec_text);
  if (!spec) return tl::unexpected(spec.error());
  const int64_t batch = std::max<int64_t>(spec->batch.value_or(1), 1);
  std::string all;
  for (const Member& member : members_of(make_nest(*spec))) {
    const auto elements = parse_elements(member.nest().input.dtype, text);
    if (!elements) return tl::unexpected(elements.error());
    const auto made = Case::make(member.nest(), DataKind::plain, batch, 1, *elements);
    if (!made) return tl::unexpected(made.error());
    all += reference_text(member.nest(), *made);
  }
  return all;
}

}  // namespace pooljit::runtime
