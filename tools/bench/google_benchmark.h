// The results as Google Benchmark writes its own, so that its compare.py works on them.
#pragma once

#include "tools/bench/results.h"

namespace pooljit::tools {

// Benchmarks are named LAYER/ENGINE, members of a family FAMILY:VALUE/ENGINE. The samples of one are merged,
// in order, into at most ten repetitions (the time of one is the median of its samples), so that compare.py
// can test whether two runs differ; the aggregate "median" is that of all samples. Only wall time is
// measured: cpu_time repeats it.
std::string as_google_benchmark(const BenchResults& results);

}  // namespace pooljit::tools
