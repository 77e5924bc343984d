// Kernels of specs with free dims, and what their results are compared with: for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "lab/check_case.h"
#include "runtime/compile.h"
#include "runtime/proof/member.h"

namespace pooljit::runtime {

inline FreeKernelPtr compile_free(const std::string& text, const Options& options = {}) {
  const auto any = compile_any(text, options);
  if (!any) {
    ADD_FAILURE() << text << "\n" << to_string(any.error());
    return nullptr;
  }
  return std::get<FreeKernelPtr>(*any);
}

// Of "7x9".
inline std::vector<int64_t> size_of(const std::string& text) {
  std::vector<int64_t> size;
  std::istringstream extents(text);
  for (std::string extent; std::getline(extents, extent, 'x');) size.push_back(std::stoll(extent));
  return size;
}

// What is wrong with the results of a kernel of one size, or with those of another that is to give the same
// bits; empty if nothing is.
inline std::string objection(const KernelPtr& kernel, DataKind kind, uint64_t seed,
                             const KernelPtr& same = nullptr) {
  // Explicit strides say nothing of other batches than the spec's.
  const int64_t batch = std::max<int64_t>(kernel->spec().batch.value_or(1), 1);
  for (const Member& member : members_of(kernel->code())) {
    auto data = Case::make(member.nest(), kind, batch, seed);
    if (!data) return to_string(data.error());
    const auto run = [&](const KernelPtr& one) {
      const CodePtr own = member.code_of(CodePtr(one, &one->code()));
      data->clear_outputs(0);
      for (const TaskRanges& cell : split_tasks(member.nest(), own->info.tasks, batch, 2).cells)
        own->run(data->call(0), cell);
      return data->results(0);
    };
    const Results results = run(kernel);
    if (auto wrong = data->objection(member.nest(), 0)) return *wrong;
    if (same && run(same) != results) return "other bits by " + same->code().info.schedule;
  }
  return "";
}

}  // namespace pooljit::runtime
