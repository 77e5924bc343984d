// The C++ interface of include/pooljit.hpp, on top of the runtime: values become exceptions.
#include "ir/dtype.h"
#include "pooljit.hpp"
#include "runtime/candidates.h"
#include "runtime/compile.h"
#include "runtime/explain.h"
#include "runtime/layer.h"
#include "runtime/options.h"
#include "runtime/proof/verify.h"
#include "runtime/tuning/workload.h"

namespace pooljit {
namespace {

[[noreturn]] void raise(const ir::Error& error) {
  const auto kind = error.kind == ir::ErrorKind::invalid       ? Error::Kind::invalid
                    : error.kind == ir::ErrorKind::unsupported ? Error::Kind::unsupported
                                                               : Error::Kind::system;
  throw Error(kind, error.id, error.message, error.hint);
}

template <typename T>
T value_or_raise(ir::Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

std::string what_text(std::string_view id, std::string_view message, std::string_view hint) {
  return ir::to_string({ir::ErrorKind::invalid, std::string(id), std::string(message), std::string(hint)});
}

size_t bytes_of(runtime::MemoryView (*view)(const ir::PoolNest&, int64_t), const frontend::PoolSpec& spec) {
  return size_t(view(make_nest(spec), spec.batch.value_or(1)).span_bytes());
}

}  // namespace

Error::Error(Kind kind, std::string_view id, std::string_view message, std::string_view hint)
    : std::runtime_error(what_text(id, message, hint)), kind_(kind), id_(id), hint_(hint) {}
Error::Error(const Error&) = default;
Error& Error::operator=(const Error&) = default;
Error::~Error() = default;

ThreadPool::~ThreadPool() = default;

void Kernel::run(const void* input, void* output, void* indices, const RunOptions& options) const {
  if (options.batch < 0 && impl_->spec().free_batch) raise(runtime::no_batch());
  if (auto done = impl_->run(input, output, indices, options.pool, options.batch, options.operands); !done)
    raise(done.error());
}

void Kernel::run_part(const void* input, void* output, void* indices, int part, int parts,
                      const RunOptions& options) const {
  if (options.batch < 0 && impl_->spec().free_batch) raise(runtime::no_batch());
  if (auto done = impl_->run_part(input, output, indices, {part, parts, options.scratch}, options.batch,
                                  options.operands);
      !done)
    raise(done.error());
}

void Kernel::run(const void* input, std::span<void* const> outputs, std::span<void* const> indices,
                 const RunOptions& options) const {
  if (options.batch < 0 && impl_->spec().free_batch) raise(runtime::no_batch());
  if (auto done = impl_->run(input, {outputs, indices}, options.pool, options.batch, options.operands); !done)
    raise(done.error());
}

void Kernel::run_part(const void* input, std::span<void* const> outputs, std::span<void* const> indices,
                      int part, int parts, const RunOptions& options) const {
  if (options.batch < 0 && impl_->spec().free_batch) raise(runtime::no_batch());
  if (auto done = impl_->run_part(input, {outputs, indices}, {part, parts, options.scratch}, options.batch,
                                  options.operands);
      !done)
    raise(done.error());
}

int Kernel::useful_parts(int64_t batch) const { return value_or_raise(impl_->useful_parts(batch)); }
size_t Kernel::output_count() const { return impl_->output_views().size(); }
size_t Kernel::indices_count() const { return impl_->index_views().size(); }
std::span<const int64_t> Kernel::input_shape() const { return impl_->input_shape(); }
std::span<const int64_t> Kernel::output_shape() const { return output_shape(0); }
std::span<const int64_t> Kernel::output_shape(size_t number) const { return impl_->output_shape(number); }
std::span<const int64_t> Kernel::input_strides() const { return impl_->input_strides(); }
std::span<const int64_t> Kernel::output_strides() const { return output_strides(0); }
std::span<const int64_t> Kernel::output_strides(size_t number) const { return impl_->output_strides(number); }
size_t Kernel::input_bytes() const { return size_t(impl_->input_view().span_bytes()); }
size_t Kernel::output_bytes() const { return output_bytes(0); }
size_t Kernel::output_bytes(size_t number) const {
  return size_t(impl_->output_views().at(number).span_bytes());
}
std::string_view Kernel::output_dtype(size_t number) const {
  return ir::info(impl_->output_dtype(number)).spec_name;
}
size_t Kernel::operand_count() const { return impl_->operand_views().size(); }
size_t Kernel::operand_bytes(size_t number) const {
  return size_t(impl_->operand_views().at(number).span_bytes());
}
std::string_view Kernel::operand_dtype(size_t number) const {
  return ir::info(operand_views(impl_->code().info.nest).at(number).dtype).spec_name;
}
size_t Kernel::indices_bytes() const { return indices_count() == 0 ? 0 : indices_bytes(0); }
size_t Kernel::indices_bytes(size_t number) const {
  return size_t(impl_->index_views().at(number).span_bytes());
}
std::string_view Kernel::dtype() const { return ir::info(impl_->spec().dtype).spec_name; }
bool Kernel::has_indices() const { return frontend::has_indices(impl_->spec()); }
std::string_view Kernel::spec() const { return impl_->text(); }
std::string_view Kernel::signature() const { return impl_->code().info.signature; }
std::string_view Kernel::backend() const { return impl_->code().info.backend; }
std::string_view Kernel::isa() const { return impl_->code().info.isa; }
std::string_view Kernel::schedule() const { return impl_->code().info.schedule; }
std::string_view Kernel::schedule_origin() const { return impl_->schedule_origin(); }
size_t Kernel::scratch_bytes() const { return size_t(impl_->scratch_bytes()); }
std::string_view Kernel::proof() const { return impl_->code().info.proof; }
std::string_view Kernel::fallback() const { return impl_->fallback(); }
std::string_view Kernel::label() const { return impl_->label(); }
size_t Kernel::code_bytes() const { return impl_->code().info.code_bytes; }
std::chrono::nanoseconds Kernel::compile_time() const { return impl_->code().info.compile_time; }

Spec::Spec(std::string_view text, const Options& options)
    : impl_(value_or_raise(runtime::check_spec(text, options))) {}
Spec::Spec(const pooljit_layer& layer, const Options& options)
    : impl_(value_or_raise(runtime::check_spec(value_or_raise(runtime::spec_of(layer)), options))) {}
std::string_view Spec::text() const { return impl_->text(); }
std::string_view Spec::signature() const { return impl_->signature(); }
const Options& Spec::options() const { return impl_->options(); }

std::vector<int64_t> Spec::input_shape() const { return frontend::input_shape(impl_->spec()); }
std::vector<int64_t> Spec::output_shape() const { return frontend::output_shape(impl_->spec()); }
std::vector<int64_t> Spec::input_strides() const { return frontend::input_strides(impl_->spec()); }
std::vector<int64_t> Spec::output_strides() const { return frontend::output_strides(impl_->spec()); }
size_t Spec::input_bytes() const { return bytes_of(runtime::input_view, impl_->spec()); }
size_t Spec::output_bytes() const {
  const frontend::PoolSpec& spec = impl_->spec();
  return size_t(runtime::all_outputs(make_nest(spec), spec.batch.value_or(1))[0].span_bytes());
}
size_t Spec::indices_bytes() const { return bytes_of(runtime::indices_view, impl_->spec()); }

Kernel compile(std::string_view spec, const Options& options) {
  return Kernel(value_or_raise(runtime::compile(spec, options)));
}
Kernel compile(const Spec& spec) { return Kernel(value_or_raise(runtime::compile(*spec.impl_))); }

std::vector<ScheduleInfo> schedules(std::string_view spec_text, const Options& options) {
  return value_or_raise(runtime::list_schedules(value_or_raise(frontend::parse_spec(spec_text)), options));
}

Explanation explain(std::string_view spec_text, const Options& options) {
  return value_or_raise(runtime::explain(value_or_raise(frontend::parse_spec(spec_text)), options));
}

std::vector<Timing> time(std::span<const Kernel> kernels, double seconds) {
  std::vector<runtime::KernelPtr> impls;
  for (const Kernel& kernel : kernels) impls.push_back(kernel.impl_);
  std::vector<Timing> timings;
  for (const runtime::Timing& timing :
       value_or_raise(runtime::time_kernels(impls, {.budget_seconds = seconds})))
    timings.push_back({timing.median, timing.spread(), timing.samples});
  return timings;
}

std::string prove(const Kernel& kernel) { return value_or_raise(runtime::prove_kernel(*kernel.impl_)); }

void set_measure(std::string_view measure) {
  if (auto done = runtime::set_measure(measure); !done) raise(done.error());
}
Options parse_options(std::string_view text) { return value_or_raise(runtime::parse_option_words(text)); }

CacheStats cache_stats() {
  const runtime::Cache::Stats stats = runtime::cache().stats();
  return {stats.entries, stats.bytes,  stats.limits.entries, stats.limits.bytes,
          stats.hits,    stats.misses, stats.evicted,        stats.compile_time};
}
void limit_cache(size_t kernels, size_t bytes) { runtime::cache().limit({kernels, bytes}); }
void clear_cache() { runtime::cache().clear(); }

std::string_view version() { return POOLJIT_VERSION; }

}  // namespace pooljit
