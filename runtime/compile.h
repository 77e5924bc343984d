// From text to a Kernel, through the cache. The whole path on one page; each stage is also callable alone.
#pragma once

#include <string>
#include <string_view>

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "runtime/cache.h"
#include "runtime/engines.h"
#include "runtime/free_kernel.h"
#include "runtime/kernel.h"
#include "runtime/kernel_options.h"

namespace pooljit::runtime {

// Where no machine code can run, the reference does, if the options allow (Kernel::fallback()). Errors: those
// of parse_spec, resolve and the engines.
ir::Result<KernelPtr> compile(std::string_view spec_text, const Options& options);
// The same of a spec that may have free dims: its code for all sizes is compiled, where there is one.
ir::Result<AnyKernel> compile_any(std::string_view spec_text, const Options& options);

// A spec and its options, read and checked, with what the cache knows them by. Immutable.
class CheckedSpec {
 public:
  CheckedSpec(frontend::PoolSpec spec, Options options, bool needs_database);
  CheckedSpec(const CheckedSpec&) = delete;
  CheckedSpec& operator=(const CheckedSpec&) = delete;

  const frontend::PoolSpec& spec() const { return spec_; }
  const std::string& text() const { return text_; }  // canonical
  const std::string& signature() const { return signature_; }
  const Options& options() const { return options_; }
  // Whether it is an error if options().tune_db is not there: the caller named it, not the environment.
  bool needs_database() const { return needs_database_; }
  const Cache::TextView& key() const { return key_; }

 private:
  const frontend::PoolSpec spec_;
  const std::string text_, signature_;
  const Options options_;
  const bool needs_database_;
  const Cache::TextView key_;
};

// Of a text whose sizes may be free. Errors: those of parse_spec and resolve.
ir::Result<std::shared_ptr<const CheckedSpec>> check_spec(std::string_view spec_text, const Options& options);
// Of a checked spec. Errors: those of resolve.
ir::Result<std::shared_ptr<const CheckedSpec>> check_spec(frontend::PoolSpec spec, const Options& options);

// Errors: those of the tuning database and the engines.
ir::Result<KernelPtr> compile(const CheckedSpec& spec);
ir::Result<AnyKernel> compile_any(const CheckedSpec& spec);

// Of a checked spec whose sizes are known. needs_database: as CheckedSpec has it.
ir::Result<KeyedKernel> compile_keyed(frontend::PoolSpec spec, const Options& options, bool needs_database);

// Whether the tuning database has the schedule for the spec. Errors: those of the database.
ir::Result<bool> is_tuned(const frontend::PoolSpec& spec, const Options& options, bool needs_database);

// Sets the process's default of Options::measure; empty: what POOLJIT_MEASURE says. Errors:
// "runtime.options".
ir::Result<void> set_measure(std::string_view measure);

// The same past the cache: always makes the code. For measuring and for tests.
ir::Result<KernelPtr> compile_uncached(std::string_view spec_text, const Options& options);

// Proves a kernel's code and says what was proved. Errors: "prove.*", "system.*".
ir::Result<std::string> prove_kernel(const Kernel& kernel);
// The same of the code for all sizes. Errors: also "run.dims" where each size has its own.
ir::Result<std::string> prove_kernel(const FreeKernel& kernel);

// The cache's key for the code: signature, ISA, schedule, back end. A schedule that was not asked for is
// "best".
std::string cache_key(const frontend::PoolSpec& spec, const Choices& choices);

}  // namespace pooljit::runtime
