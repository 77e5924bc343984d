// From text to a Kernel, through the cache. The whole path on one page; each stage is also callable alone.
#pragma once

#include <string>
#include <string_view>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "pooljit.hpp"
#include "runtime/engines.h"
#include "runtime/kernel.h"

namespace pooljit::runtime {

// Errors: those of parse_spec, resolve and the engines.
ir::Result<KernelPtr> compile(std::string_view spec_text, const Options& options);

// The same past the cache: always makes the code. For measuring and for tests.
ir::Result<KernelPtr> compile_uncached(std::string_view spec_text, const Options& options);

// Proves a kernel's code and says what was proved. Errors: "prove.*", "system.*".
ir::Result<std::string> prove_kernel(const Kernel& kernel);

// What the cache knows the code by: signature, ISA, schedule, back end. A schedule that was not asked for is
// "best".
std::string cache_key(const frontend::PoolSpec& spec, const Choices& choices);

}  // namespace pooljit::runtime
