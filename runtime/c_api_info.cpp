// The C interface: what is known of specs, kernels and the cache.
#include "frontend/check.h"
#include "frontend/keywords.h"
#include "ir/epilogue.h"
#include "jit/fork_gate.h"
#include "runtime/c_api.h"
#include "runtime/memory_view.h"

using namespace pooljit::c_api;

static_assert(POOLJIT_MAX_OPERANDS == pooljit::ir::most_operands);
static_assert(POOLJIT_LAYER_MAX_STEPS == pooljit::ir::most_steps);
static_assert(pooljit::runtime::max_task_dims <= POOLJIT_LAYER_MAX_RANK);

namespace {

// Takes out what is that of one size.
void forget_sizes(const std::vector<int64_t>& known, bool has_strides, pooljit_tensor& tensor,
                  int64_t& bytes) {
  pooljit::runtime::forget_sizes(known, has_strides, tensor);
  if (std::ranges::find(known.end() - (tensor.rank - 2), known.end(), 0) != known.end()) bytes = 0;
}

// Fields that specs and kernels share; texts belong to the caller.
pooljit_info info_of(const pooljit::frontend::PoolSpec& spec, const pooljit::ir::PoolNest& nest) {
  using pooljit::frontend::layout_name;
  const int64_t batch = spec.batch.value_or(1);
  pooljit_info info = {};
  info.input = pooljit::runtime::tensor_of(nest.input, input_shape(spec), batch);
  info.output = pooljit::runtime::tensor_of(nest.outputs()[0].output, output_shape(spec), batch);
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
  info.output_count = static_cast<int32_t>(pooljit::runtime::all_outputs(nest, batch).size());
  info.indices_count = static_cast<int32_t>(pooljit::runtime::all_indices(nest, batch).size());
  info.unbatched = !spec.batch;
  info.free_batch = spec.free_batch;
  const auto views = operand_views(nest);
  const auto memory = pooljit::runtime::operand_memory(nest, batch);
  info.operand_count = static_cast<int32_t>(views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    info.operand_dtype[i] = pooljit::ir::info(views[i].dtype).spec_name.data();
    info.operand_bytes[i] = memory[i].span_bytes();
  }
  info.free_dims = pooljit::runtime::free_dims_of(spec);
  if (info.free_dims == 0) return info;
  const auto input = known_input_shape(spec), output = known_output_shape(spec);
  forget_sizes(input, !spec.strides.empty(), info.input, info.input_bytes);
  forget_sizes(output, !outputs_of(spec)[0].output_strides.empty(), info.output, info.output_bytes);
  if (nest.indices) {
    const bool like_output = has_indices_like_output(spec);
    const bool has_strides = !(like_output ? spec.output_strides : spec.strides).empty();
    forget_sizes(like_output ? output : input, has_strides, info.indices, info.indices_bytes);
  }
  // Tensors are as large as what they lie like.
  for (size_t i = 0; i < views.size(); ++i)
    if (memory[i].rank > 1 && std::ranges::find(output, 0) != output.end()) info.operand_bytes[i] = 0;
  return info;
}

void tell_of_code(const pooljit::runtime::CodeInfo& code, pooljit_info& info) {
  info.backend = code.backend.data();
  info.isa = code.isa.data();
  info.schedule = code.schedule.c_str();
  info.proof = code.proof.c_str();
  info.code_bytes = static_cast<int64_t>(code.code_bytes);
  info.scratch_bytes = code.scratch_bytes;
  info.compile_nanoseconds = code.compile_time.count();
}

// Fields that are known without a size.
pooljit_info info_of(const pooljit::runtime::FreeKernel& kernel) {
  pooljit_info info = info_of(kernel.spec(), make_nest(kernel.spec()));
  info.spec = kernel.text().c_str();
  info.signature = kernel.signature().c_str();
  info.backend = info.isa = info.schedule = info.proof = info.fallback = "";
  if (const pooljit::runtime::CodePtr& code = kernel.general_code()) tell_of_code(code->info, info);
  info.scratch_bytes = 0;  // a size may have code of its own
  info.schedule_origin = kernel.schedule_origin().c_str();
  info.label = kernel.options().label.c_str();
  return info;
}

// One of several outputs, or arrays of indices, for the caller.
int give_tensor(const pooljit_tensor& from, int64_t from_bytes, pooljit_tensor* tensor, int64_t* bytes) {
  if (tensor) *tensor = from;
  if (bytes) *bytes = from_bytes;
  return POOLJIT_OK;
}

bool is_below(int number, size_t count) { return number >= 0 && static_cast<size_t>(number) < count; }

int give_output(const pooljit::frontend::PoolSpec& spec, const pooljit::ir::PoolNest& nest, int number,
                pooljit_tensor* tensor, int64_t* bytes) {
  const int64_t batch = spec.batch.value_or(1);
  const auto views = pooljit::runtime::all_outputs(nest, batch);
  if (const auto known = check_known(spec); !known) return fail(known.error());
  if (!is_below(number, views.size())) return fail(out_of_range("output", number, views.size()));
  const auto at = static_cast<size_t>(number);
  pooljit_tensor made = pooljit::runtime::tensor_of(nest.outputs()[at].output, output_shape(spec, at), batch);
  const pooljit::frontend::PoolSpec& own = outputs_of(spec)[at];
  if (own.output_strides.empty()) made.layout = pooljit::frontend::layout_name(output_layout(own)).data();
  return give_tensor(made, views[at].span_bytes(), tensor, bytes);
}

int give_indices(const pooljit::frontend::PoolSpec& spec, const pooljit::ir::PoolNest& nest, int number,
                 pooljit_tensor* tensor, int64_t* bytes) {
  const int64_t batch = spec.batch.value_or(1);
  const auto views = pooljit::runtime::all_indices(nest, batch);
  if (const auto known = check_known(spec); !known) return fail(known.error());
  if (!is_below(number, views.size())) return fail(out_of_range("array of indices", number, views.size()));
  const auto at = static_cast<size_t>(number);
  std::vector<int64_t> shape;
  for (const auto& dim : views[at].dims().subspan(spec.batch ? 0 : 1)) shape.push_back(dim.extent);
  return give_tensor(pooljit::runtime::tensor_of(*nest.with_indices(at).indices, shape, batch),
                     views[at].span_bytes(), tensor, bytes);
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
    return write_struct("pooljit_info", known, info);
  });
}

int pooljit_kernel_info(const pooljit_kernel* kernel, pooljit_info* info) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    if (!info) return fail_null("info");
    if (const auto* const free = std::get_if<pooljit::runtime::FreeKernelPtr>(&kernel->any))
      return write_struct("pooljit_info", info_of(**free), info);
    const pooljit::runtime::Kernel& one = *std::get<pooljit::runtime::KernelPtr>(kernel->any);
    const pooljit::runtime::CodeInfo& code = one.code().info;
    pooljit_info known = info_of(one.spec(), code.nest);
    known.spec = one.text().c_str();
    known.signature = code.signature.c_str();
    tell_of_code(code, known);
    known.schedule_origin = one.schedule_origin().c_str();
    known.fallback = one.fallback().c_str();
    known.label = one.label().c_str();
    known.scratch_bytes = one.scratch_bytes();
    return write_struct("pooljit_info", known, info);
  });
}

namespace {

const pooljit::runtime::PoolsStruct& layers_of(const pooljit_spec& object) {
  const pooljit::jit::HoldForks hold;  // what a child finds half made stays so
  std::call_once(object.layers_made, [&] {
    object.layers = std::make_unique<const pooljit::runtime::PoolsStruct>(object.spec->spec());
  });
  return *object.layers;
}

}  // namespace

int pooljit_spec_layer(const pooljit_spec* object, pooljit_layer* layer) {
  return guarded([&] {
    if (!object) return fail_null("object");
    if (!layer) return fail_null("layer");
    const pooljit_pools& pools = *layers_of(*object).get();
    if (pools.member_count > 1 || pools.concat)
      return fail({pooljit::ir::ErrorKind::unsupported, "pools.one",
                   "a pooljit_layer is one pool, the spec has " + std::to_string(pools.member_count),
                   "pooljit_spec_pools"});
    return write_struct("pooljit_layer", pools.members[0], layer);
  });
}

int pooljit_spec_pools(const pooljit_spec* object, pooljit_pools* pools) {
  return guarded([&] {
    if (!object) return fail_null("object");
    if (!pools) return fail_null("pools");
    return write_struct("pooljit_pools", *layers_of(*object).get(), pools);
  });
}

int pooljit_spec_output(const pooljit_spec* object, int number, pooljit_tensor* tensor, int64_t* bytes) {
  return guarded([&] {
    if (!object) return fail_null("object");
    return give_output(object->spec->spec(), make_nest(object->spec->spec()), number, tensor, bytes);
  });
}

int pooljit_spec_indices(const pooljit_spec* object, int number, pooljit_tensor* tensor, int64_t* bytes) {
  return guarded([&] {
    if (!object) return fail_null("object");
    return give_indices(object->spec->spec(), make_nest(object->spec->spec()), number, tensor, bytes);
  });
}

int pooljit_kernel_output(const pooljit_kernel* kernel, int number, pooljit_tensor* tensor, int64_t* bytes) {
  return guarded([&] {
    return with_kernel(kernel, [&](const pooljit::runtime::Kernel& one) {
      return give_output(one.spec(), one.code().info.nest, number, tensor, bytes);
    });
  });
}

int pooljit_kernel_indices(const pooljit_kernel* kernel, int number, pooljit_tensor* tensor, int64_t* bytes) {
  return guarded([&] {
    return with_kernel(kernel, [&](const pooljit::runtime::Kernel& one) {
      return give_indices(one.spec(), one.code().info.nest, number, tensor, bytes);
    });
  });
}

int pooljit_useful_parts(const pooljit_kernel* kernel, int64_t batch, int* parts) {
  return guarded([&] {
    if (!parts) return fail_null("parts");
    return with_kernel(kernel, [&](const pooljit::runtime::Kernel& one) {
      const auto useful = one.useful_parts(batch);
      if (!useful) return fail(useful.error());
      *parts = *useful;
      return int{POOLJIT_OK};
    });
  });
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
    return write_struct("pooljit_cache", known, info);
  });
}

void pooljit_cache_limit(uint64_t kernels, uint64_t bytes) {
  pooljit::runtime::cache().limit({kernels, bytes});
}

void pooljit_cache_clear() { pooljit::runtime::cache().clear(); }
