#include "tools/plain_loop.h"

#include "tools/plain_forward.h"

namespace pooljit::tools {

int64_t plain_tasks(const PlainPool& pool) {
  return pool.batch * (pool.channels_last ? pool.dims[0].output * pool.dims[1].output : pool.channels);
}

void run_plain(const PlainPool& pool, const void* input, void* output, int64_t* indices, int64_t begin,
               int64_t end) {
  if (pool.is_view) return run_plain_view(pool, input, output, indices, begin, end);
  run_forward<false>(pool, input, output, indices, begin, end);
}

bool plain_loop_runs_here() {
#if defined(__AVX512F__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#elif defined(__AVX2__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

}  // namespace pooljit::tools
