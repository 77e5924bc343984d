#include "tools/bench/families.h"

#include <algorithm>

#include "frontend/check.h"

namespace pooljit::tools {
namespace {

using frontend::PoolSpec;

constexpr int64_t kernels[] = {3, 5, 7, 9, 13, 19, 31};
constexpr int64_t most_batch = 64, batch_of_threads = 16;
constexpr int64_t most_bytes = 256 << 20;  // of an input

int64_t input_bytes(const PoolSpec& spec) {
  int64_t bytes = ir::bytes(spec.dtype);
  for (const int64_t extent : input_shape(spec)) bytes *= extent;
  return bytes;
}

PoolSpec with_kernel(PoolSpec spec, int64_t kernel) {
  for (PoolSpec& pool : pools_of(spec)) {
    pool.ceil_mode = frontend::CeilMode::floor;
    for (frontend::SpecDim& dim : pool.dims) {
      dim.kernel = kernel;
      dim.stride = dim.dilation = 1;
      dim.pad_begin = dim.pad_end = kernel / 2;
    }
  }
  return spec;
}

PoolSpec with_batch(PoolSpec spec, int64_t batch) {
  for (PoolSpec& pool : pools_of(spec)) pool.batch = batch;
  share_input(spec);
  return spec;
}

std::vector<FamilySpec> kernel_members(const PoolSpec& base, int threads) {
  int64_t most = kernels[0];
  for (const frontend::SpecDim& dim : base.dims) most = std::max(most, dim.input);
  std::vector<FamilySpec> members;
  for (const int64_t kernel : kernels)
    if (kernel <= most) members.push_back({kernel, with_kernel(base, kernel), threads});
  return members;
}

std::vector<FamilySpec> batch_members(const PoolSpec& base, int threads) {
  std::vector<FamilySpec> members;
  for (int64_t batch = 1; batch <= most_batch; batch *= 2) {
    const PoolSpec spec = with_batch(base, batch);
    if (batch > 1 && input_bytes(spec) > most_bytes) break;
    members.push_back({batch, spec, threads});
  }
  return members;
}

std::vector<FamilySpec> thread_members(const PoolSpec& base, int most_threads) {
  std::vector<FamilySpec> members;
  for (int threads = 1; threads < most_threads; threads *= 2)
    members.push_back({threads, with_batch(base, batch_of_threads), threads});
  members.push_back({most_threads, with_batch(base, batch_of_threads), most_threads});
  return members;
}

}  // namespace

ir::Result<std::vector<FamilyPlan>> plan_families(const PoolSpec& base, int threads, int most_threads) {
  if (std::ranges::any_of(pools_of(base), frontend::is_adaptive) ||
      base.direction != ir::Direction::forward || !base.batch || !base.strides.empty() ||
      !base.output_strides.empty())
    return ir::invalid("bench.family", "families are made of a packed forward layer with windows and a batch",
                       "max_pool2d(float32[1,64,56,56], kernel_size=3)");
  std::vector<FamilyPlan> plans = {{"kernel", "kernel size, each dimension", kernel_members(base, threads)},
                                   {"batch", "batch", batch_members(base, threads)},
                                   {"threads", "threads", thread_members(base, most_threads)}};
  for (FamilyPlan& plan : plans)
    for (FamilySpec& member : plan.members) {
      auto checked = frontend::check_spec(std::move(member.spec));
      if (!checked) return tl::unexpected(checked.error());
      member.spec = std::move(*checked);
    }
  return plans;
}

}  // namespace pooljit::tools
