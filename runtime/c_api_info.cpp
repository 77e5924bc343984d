// The C interface: what is known of specs, kernels and the cache, and what tuners use.
#include "frontend/keywords.h"
#include "ir/epilogue.h"
#include "runtime/c_api.h"
#include "runtime/candidates.h"
#include "runtime/explain.h"
#include "runtime/memory_view.h"
#include "runtime/tuning/workload.h"

using namespace pooljit::c_api;

static_assert(POOLJIT_MAX_OPERANDS == pooljit::ir::most_operands);
static_assert(POOLJIT_LAYER_MAX_STEPS == pooljit::ir::most_steps);
static_assert(POOLJIT_MAX_RANK == POOLJIT_LAYER_MAX_RANK);

namespace {

// What specs and kernels have alike; texts belong to the caller.
pooljit_info info_of(const pooljit::frontend::PoolSpec& spec, const pooljit::ir::PoolNest& nest) {
  using pooljit::frontend::layout_name;
  const int64_t batch = spec.batch.value_or(1);
  pooljit_info info = {};
  info.input = pooljit::runtime::tensor_of(nest.input, input_shape(spec), batch);
  // Of several outputs the first; pooljit_output_info has the others.
  info.output = pooljit::runtime::tensor_of(nest.written(0), output_shape(spec), batch);
  if (spec.strides.empty()) info.input.layout = layout_name(spec.layout).data();
  if (spec.output_strides.empty()) info.output.layout = layout_name(output_layout(spec)).data();
  info.indices.dtype = info.indices.layout = "";
  if (nest.indices) {
    info.indices = has_indices_like_output(spec) ? info.output : info.input;
    info.indices.dtype = pooljit::ir::info(nest.indices->dtype).spec_name.data();
  }
  info.input_bytes = pooljit::runtime::input_view(nest, batch).span_bytes();
  info.output_bytes = pooljit::runtime::all_outputs(nest, batch)[0].span_bytes();
  info.indices_bytes = pooljit::runtime::indices_view(nest, batch).span_bytes();
  info.unbatched = !spec.batch;
  info.free_batch = spec.free_batch;
  const auto views = operand_views(nest);
  const auto memory = pooljit::runtime::operand_memory(nest, batch);
  info.operand_count = static_cast<int32_t>(views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    info.operand_dtype[i] = pooljit::ir::info(views[i].dtype).spec_name.data();
    info.operand_bytes[i] = memory[i].span_bytes();
  }
  return info;
}

pooljit::ir::Error out_of_range(const char* what, int64_t number, size_t count) {
  return {pooljit::ir::ErrorKind::invalid, "runtime.range",
          std::string(what) + " " + std::to_string(number) + " of " + std::to_string(count),
          "they are counted from 0"};
}

}  // namespace

int pooljit_spec_info(const pooljit_spec* object, pooljit_info* info) {
  return guarded([&] {
    if (!object) return fail_null("object");
    if (!info) return fail_null("info");
    const pooljit::runtime::CheckedSpec& spec = *object->spec;
    pooljit_info known = info_of(spec.spec(), make_nest(spec.spec()));
    known.spec = spec.text().c_str();
    known.signature = spec.signature().c_str();
    return write_struct("pooljit_info", known, info, &pooljit_info::size);
  });
}

int pooljit_kernel_info(const pooljit_kernel* kernel, pooljit_info* info) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    if (!info) return fail_null("info");
    const pooljit::runtime::Kernel& one = *kernel->kernel;
    const pooljit::runtime::CodeInfo& code = one.code().info;
    pooljit_info known = info_of(one.spec(), code.nest);
    known.spec = one.text().c_str();
    known.signature = code.signature.c_str();
    known.backend = code.backend.data();
    known.isa = code.isa.data();
    known.schedule = code.schedule.c_str();
    known.schedule_origin = one.schedule_origin().c_str();
    known.fallback = one.fallback().c_str();
    known.label = one.label().c_str();
    known.proof = code.proof.c_str();
    known.code_bytes = static_cast<int64_t>(code.code_bytes);
    known.scratch_bytes = one.scratch_bytes();
    known.compile_nanoseconds = code.compile_time.count();
    return write_struct("pooljit_info", known, info, &pooljit_info::size);
  });
}

int pooljit_spec_layer(const pooljit_spec* object, pooljit_layer* layer) {
  return guarded([&] {
    if (!object) return fail_null("object");
    if (!layer) return fail_null("layer");
    if (const auto one = one_pool(object->spec->spec(), "pooljit_layer"); !one) return fail(one.error());
    std::call_once(object->layer_made, [&] {
      object->layer = std::make_unique<const pooljit::runtime::Layer>(object->spec->spec());
    });
    return write_struct("pooljit_layer", *object->layer->get(), layer, &pooljit_layer::size);
  });
}

int pooljit_output_shape(const pooljit_kernel* kernel, int64_t* dims, int* rank) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    if (!dims) return fail_null("dims");
    if (!rank) return fail_null("rank");
    const std::vector<int64_t>& shape = kernel->kernel->output_shape();
    static_assert(pooljit::runtime::max_task_dims <= POOLJIT_MAX_RANK);
    std::copy(shape.begin(), shape.end(), dims);
    *rank = static_cast<int>(shape.size());
    return int{POOLJIT_OK};
  });
}

int pooljit_output_count(const pooljit_kernel* kernel) {
  return kernel ? static_cast<int>(kernel->kernel->output_views().size()) : 0;
}

int pooljit_indices_count(const pooljit_kernel* kernel) {
  return kernel ? static_cast<int>(kernel->kernel->index_views().size()) : 0;
}

int pooljit_output_info(const pooljit_kernel* kernel, int number, pooljit_tensor* tensor, int64_t* bytes) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    const pooljit::runtime::Kernel& one = *kernel->kernel;
    const size_t count = one.output_views().size();
    if (number < 0 || static_cast<size_t>(number) >= count)
      return fail(out_of_range("output", number, count));
    const auto at = static_cast<size_t>(number);
    if (bytes) *bytes = one.output_views()[at].span_bytes();
    if (!tensor) return int{POOLJIT_OK};
    *tensor = pooljit::runtime::tensor_of(one.code().info.nest.written(at), one.output_shape(at),
                                          one.spec().batch.value_or(1));
    const pooljit::frontend::PoolSpec& own = spec_of_output(one.spec(), at);
    if (own.output_strides.empty())
      tensor->layout = pooljit::frontend::layout_name(output_layout(own)).data();
    return int{POOLJIT_OK};
  });
}

int pooljit_indices_info(const pooljit_kernel* kernel, int number, pooljit_tensor* tensor, int64_t* bytes) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    const pooljit::runtime::Kernel& one = *kernel->kernel;
    const size_t count = one.index_views().size();
    if (number < 0 || static_cast<size_t>(number) >= count)
      return fail(out_of_range("array of indices", number, count));
    const pooljit::runtime::MemoryView& view = one.index_views()[static_cast<size_t>(number)];
    if (bytes) *bytes = view.span_bytes();
    if (!tensor) return int{POOLJIT_OK};
    std::vector<int64_t> shape;
    for (const auto& dim : view.dims().subspan(one.spec().batch ? 0 : 1)) shape.push_back(dim.extent);
    const pooljit::ir::PoolNest& nest = one.code().info.nest.with_indices(static_cast<size_t>(number));
    *tensor = pooljit::runtime::tensor_of(*nest.indices, shape, one.spec().batch.value_or(1));
    return int{POOLJIT_OK};
  });
}

int pooljit_useful_parts(const pooljit_kernel* kernel, int64_t batch, int* parts) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    if (!parts) return fail_null("parts");
    const auto useful = kernel->kernel->useful_parts(batch);
    if (!useful) return fail(useful.error());
    *parts = *useful;
    return int{POOLJIT_OK};
  });
}

const char* pooljit_proof(const pooljit_kernel* kernel) {
  return kernel ? kernel->kernel->code().info.proof.c_str() : "";
}

// --- the cache

int pooljit_cache_info(pooljit_cache* info) {
  return guarded([&] {
    if (!info) return fail_null("info");
    const auto stats = pooljit::runtime::cache().stats();
    pooljit_cache known = {};
    known.kernels = stats.entries;
    known.bytes = stats.bytes;
    known.kernel_limit = stats.limits.entries;
    known.byte_limit = stats.limits.bytes;
    known.hits = stats.hits;
    known.misses = stats.misses;
    known.evictions = stats.evicted;
    known.compile_nanoseconds = static_cast<uint64_t>(stats.compile_time.count());
    return write_struct("pooljit_cache", known, info, &pooljit_cache::size);
  });
}

void pooljit_cache_limit(uint64_t kernels, uint64_t bytes) {
  pooljit::runtime::cache().limit({kernels, bytes});
}

void pooljit_cache_clear() { pooljit::runtime::cache().clear(); }

// --- for tuners

int pooljit_schedules(const pooljit_spec* object, pooljit_schedule_list** list) {
  return guarded([&] {
    if (!list) return fail_null("list");
    *list = nullptr;
    if (!object) return fail_null("object");
    return give(pooljit::runtime::list_schedules(object->spec->spec(), object->spec->options()), list);
  });
}

size_t pooljit_schedule_count(const pooljit_schedule_list* list) { return list ? list->schedules.size() : 0; }

int pooljit_schedule_get(const pooljit_schedule_list* list, size_t number, pooljit_schedule* schedule) {
  return guarded([&] {
    if (!list) return fail_null("list");
    if (!schedule) return fail_null("schedule");
    if (number >= list->schedules.size())
      return fail(out_of_range("schedule", static_cast<int64_t>(number), list->schedules.size()));
    const pooljit::ScheduleInfo& one = list->schedules[number];
    pooljit_schedule known = {};
    known.text = one.schedule.c_str();
    known.predicted_seconds = one.predicted_seconds;
    known.is_default = one.is_default;
    return write_struct("pooljit_schedule", known, schedule, &pooljit_schedule::size);
  });
}

void pooljit_schedule_list_release(pooljit_schedule_list* list) { delete list; }

int pooljit_explain(const pooljit_spec* object, char* text, size_t bytes) {
  return guarded([&] {
    if (!object) return fail_null("object");
    const auto why = pooljit::runtime::explain(object->spec->spec(), object->spec->options());
    if (!why) return fail(why.error());
    write_text(why->text(), text, bytes);
    return int{POOLJIT_OK};
  });
}

int pooljit_time(const pooljit_kernel* const* kernels, size_t count, double seconds,
                 pooljit_timing* timings) {
  return guarded([&] {
    if (!kernels) return fail_null("kernels");
    if (!timings) return fail_null("timings");
    std::vector<pooljit::runtime::KernelPtr> impls;
    for (size_t i = 0; i < count; ++i) {
      if (!kernels[i]) return fail_null("kernels");
      impls.push_back(kernels[i]->kernel);
    }
    const auto measured = pooljit::runtime::time_kernels(impls, {.budget_seconds = seconds});
    if (!measured) return fail(measured.error());
    for (const pooljit::runtime::Timing& timing : *measured)
      *timings++ = {timing.median, timing.spread(), timing.samples};
    return int{POOLJIT_OK};
  });
}

int pooljit_prove(const pooljit_kernel* kernel, char* text, size_t bytes) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    const auto proof = pooljit::runtime::prove_kernel(*kernel->kernel);
    if (!proof) return fail(proof.error());
    write_text(*proof, text, bytes);
    return int{POOLJIT_OK};
  });
}
