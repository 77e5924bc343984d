// Several pools of one tensor that were exported, beside the reference, bit by bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/compile.h"
#include "runtime/tuning/workload.h"

namespace pooljit::test {

// call(input, outputs, indices, part, parts); parts of 0: the function that does all of the work.
using PoolsCall =
    std::function<int(const void*, std::span<void* const>, std::span<void* const>, int part, int parts)>;
inline void expect_pools(const std::string& spec, const PoolsCall& call) {
  const auto kernel = runtime::compile(spec, {.backend = "reference"});
  ASSERT_TRUE(kernel) << to_string(kernel.error());
  const auto workload = runtime::Workload::make(**kernel);
  ASSERT_TRUE(workload);
  ASSERT_TRUE(workload->run(**kernel));
  std::vector<std::span<std::byte>> written;
  std::vector<std::vector<std::byte>> wanted;
  std::vector<void*> pointers;
  const auto add = [&](const std::byte* begin, const runtime::MemoryView& view) {
    written.emplace_back(const_cast<std::byte*>(begin), static_cast<size_t>(view.span_bytes()));
    wanted.emplace_back(written.back().begin(), written.back().end());
    pointers.push_back(written.back().data());
  };
  const size_t outputs = (*kernel)->output_views().size();
  for (size_t i = 0; i < outputs; ++i) add(workload->output(i), (*kernel)->output_views()[i]);
  for (size_t i = 0; i < (*kernel)->index_views().size(); ++i)
    add(workload->indices(i), (*kernel)->index_views()[i]);
  const std::span<void* const> all = pointers;
  for (const int parts : {0, 1, 3}) {
    for (const auto& buffer : written) std::ranges::fill(buffer, std::byte{0x55});
    for (int part = 0; part < std::max(parts, 1); ++part)
      EXPECT_EQ(call(workload->input(), all.first(outputs), all.subspan(outputs), part, parts), 0);
    for (size_t i = 0; i < written.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(written[i], wanted[i])) << spec << " " << i << " in " << parts;
  }
  pointers[0] = nullptr;
  EXPECT_EQ(call(workload->input(), all.first(outputs), all.subspan(outputs), 0, 0), 1) << "a null pointer";
}

}  // namespace pooljit::test
