#include "tools/examiner.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "ir/agreement.h"
#include "ir/pools.h"
#include "ir/schedule_text.h"
#include "runtime/options.h"
#include "runtime/proof/verify.h"

namespace pooljit::tools {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Examiner::Parts {
  frontend::PoolSpec spec;
  runtime::Choices choices;
  Verdict verdict;
  ir::PoolNest nest;
  runtime::Workload workload;
  std::vector<const void*> operands;
  std::vector<ir::Judge> judges;  // by member; made when the first kernel is compared
  std::vector<std::byte> right;   // results that the judges agreed with

  void make_judges() {
    size_t first = 0;
    for (const ir::PoolNest& pool : pools_of(nest)) {
      const size_t count = ir::operand_views(pool).size();
      judges.emplace_back(pool, spec.batch.value_or(1), workload.input(),
                          pool.is_backward() && pool.indices ? workload.indices() : nullptr,
                          std::span(operands).subspan(first, count));
      first += count;
    }
  }

  // Where the results of a pool begin: those of a concatenation lie in one tensor.
  std::optional<std::string> disagreement(size_t pool) {
    const ir::MemberPlace place = nest.member_place(pool);
    const int64_t offset = place.offset * ir::bytes(pools_of(nest)[pool].output.dtype);
    const void* const indices =
        place.indices < 0 ? nullptr : workload.indices(static_cast<size_t>(place.indices));
    auto wrong = judges[pool].disagreement(workload.output(place.output) + offset, indices);
    if (wrong && judges.size() > 1) wrong = fmt::format("pool {}: {}", pool, *wrong);
    return wrong;
  }

  // Most schedules make the same bytes; only others are asked about again, which takes long for large
  // windows.
  Json compared() {
    Json checked = {{"verdict", "checked"}, {"left", "other data than what was measured with"}};
    std::vector<std::byte> results = workload.results();
    if (results == right) return checked;
    if (judges.empty()) make_judges();
    for (size_t pool = 0; pool < judges.size(); ++pool)
      if (const auto wrong = disagreement(pool)) return {{"verdict", "wrong"}, {"why", *wrong}};
    right = std::move(results);
    return checked;
  }

  Json proved(const runtime::Kernel& kernel) const {
    runtime::Choices own = choices;
    own.schedule = *ir::parse_schedule(kernel.code().info.schedule);
    const auto proof = runtime::prove_code(kernel.code(), spec, own);
    if (!proof) return {{"verdict", "unproved"}, {"why", ir::to_string(proof.error())}};
    if (proof->ok()) return {{"verdict", "proved"}, {"left", proof->left}};
    return {{"verdict", "wrong"}, {"why", proof->failure}};
  }
};

ir::Result<Examiner> Examiner::make(const runtime::Kernel& any, const runtime::Options& options,
                                    Verdict verdict) {
  const auto choices = runtime::resolve(options);
  if (!choices) return tl::unexpected(choices.error());
  auto workload = runtime::Workload::make(any);
  if (!workload) return tl::unexpected(workload.error());
  const std::shared_ptr<Parts> parts(
      new Parts{any.spec(), *choices, verdict, make_nest(any.spec()), std::move(*workload), {}, {}, {}});
  parts->operands = parts->workload.operands();
  return Examiner(parts);
}

const runtime::Workload& Examiner::workload() const { return parts_->workload; }

ir::Result<Json> Examiner::examine(const runtime::Kernel& kernel) {
  const Clock::time_point start = Clock::now();
  Json proof = {{"verdict", "none"}};
  if (parts_->verdict == Verdict::compare) {
    parts_->workload.clear_results();
    if (auto ran = parts_->workload.run(kernel); !ran) return tl::unexpected(ran.error());
    proof = parts_->compared();
    proof["by"] = "oracle";
  }
  if (parts_->verdict == Verdict::verify) {
    proof = parts_->proved(kernel);
    proof["by"] = "proof";
  }
  proof["seconds"] = std::chrono::duration<double>(Clock::now() - start).count();
  return proof;
}

}  // namespace pooljit::tools
