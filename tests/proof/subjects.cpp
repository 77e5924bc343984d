#include "tests/proof/subjects.h"

#include <iterator>

#include "ir/choose/enumerate.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/space.h"
#include "runtime/cpu_features.h"
#include "runtime/native_code.h"
#include "runtime/proof/general.h"
#include "runtime/sized_code.h"

namespace pooljit::tests {
namespace {

// Every reduction, rule and layout that mutants should live in, and the families of schedules that are no
// nest's first choice when it is small: of those, the one that serves it best.
const struct {
  const char* spec;
  std::optional<ir::Family> family = {};
} layers[] = {
    {"max_pool2d(float32[1,3,9,37], kernel_size=3, stride=2, padding=1)", ir::Family::channels_first},
    {"max_pool2d(float32[1,19,6,7]:nhwc, kernel_size=3, stride=1, padding=1, return_indices=True)"},
    {"max_pool1d(float32[1,2,60], kernel_size=3, nan=ignore, zeros=first)"},
    {"max_pool2d(uint8[1,2,6,70], kernel_size=2)"},
    {"avg_pool2d(float32[1,3,7,40], kernel_size=3, stride=2, padding=1)", ir::Family::channels_first},
    {"avg_pool2d(uint8[1,35,5,6]:nhwc, kernel_size=2, stride=1)"},
    {"max_pool1d(float32[1,2,45], kernel_size=2, return_indices=True, output_strides=[92,46,2])"},
    {"max_pool2d_backward(float32[1,3,9,13], kernel_size=2, stride=1)"},
    {"avg_pool2d_backward(float32[1,3,9,20], kernel_size=3, stride=2, padding=1, count_include_pad=False)"},
    {"max_pool1d_backward(float32[1,18,12]:nwc, kernel_size=3, index_scope=window, index_dtype=uint8)"},
    {"lp_pool2d(float32[1,3,7,40], kernel_size=3, stride=2, norm_type=2)", ir::Family::channels_first},
    {"lp_pool2d(float32[1,17,5,6]:nhwc, kernel_size=2, norm_type=1)"},
    {"lp_pool1d(float32[1,2,40], kernel_size=3, norm_type=inf)"},
    {"max_pool2d(float32[1,19,7,9]:nhwc, kernel_size=5, stride=1, padding=2)", ir::Family::separable},
    {"avg_pool2d(float32[1,18,8,7]:nhwc, kernel_size=3, stride=1, padding=1)", ir::Family::separable},
    {"max_pool2d(int8[1,70,12,13]:nhwc, kernel_size=9, stride=1, padding=4)", ir::Family::separable},
    {"max_pool2d(float32[1,21,9,8]:nhwc, kernel_size=4)", ir::Family::whole_pixels},
    {"avg_pool2d(float32[1,35,8,10]:nhwc, kernel_size=4, padding=1)", ir::Family::whole_pixels},
    {"max_pool2d(float32[1,3,9,11]:nhwc, kernel_size=5, stride=1, padding=2)", ir::Family::interleaved},
    {"avg_pool2d(float32[1,2,6,13]:nhwc, kernel_size=3, stride=1, padding=1)", ir::Family::interleaved},
    {"max_pool2d(float32[1,2,9,21], kernel_size=7, stride=1, padding=3)", ir::Family::row_passes},
    {"avg_pool2d(float32[1,2,8,19], kernel_size=[3,6], stride=1, padding=1)", ir::Family::row_passes},
    {"max_pool2d(float32[1,3,7,7], kernel_size=3, stride=1, padding=1)", ir::Family::whole_planes},
    {"max_pool2d(bfloat16[1,2,9,14], kernel_size=3, stride=2, padding=1)", ir::Family::whole_planes},
    {"avg_pool2d(float32[1,2,6,9], kernel_size=[2,3], stride=1, padding=1, epilogue=[add, mul_channel])",
     ir::Family::whole_planes},
    {"max_pool2d(float32[1,7,5,5], kernel_size=5)", ir::Family::window_rows},
    {"avg_pool2d(bfloat16[2,11,6,7], kernel_size=[6,7])", ir::Family::window_rows},
    {"avg_pool2d(uint8[1,3,6,30], kernel_size=[3,10])", ir::Family::window_rows},
    {"max_pool2d(uint8[1,2,9,14], kernel_size=3, stride=2)", ir::Family::whole_planes},
    {"max_pool2d(float32[1,3,7,20], kernel_size=3, stride=2, padding=1, epilogue=[mul_channel, add, relu])",
     ir::Family::channels_first},
    {"avg_pool2d(float32[1,19,5,6]:nhwc, kernel_size=2, epilogue=[scale_channel, add_channel, clamp(0,6)])"},
    {"max_pool2d(uint8[1,35,5,6]:nhwc, kernel_size=3, stride=1, epilogue=[requantize(0.5,3)])"},
    {"avg_pool2d(uint8[1,5,6,20], kernel_size=2, epilogue=[relu, requantize(0.25,10)])"},
    // Code for all sizes.
    {"max_pool2d(float32[1,19,5,W]:nhwc, kernel_size=3, stride=2, padding=1)"},
    {"avg_pool2d(uint8[1,35,3,W]:nhwc, kernel_size=3, stride=1, padding=1)"},
    {"max_pool2d(float32[1,3,2,W]:nhwc, kernel_size=2, stride=1, padding=1)"},
    {"avg_pool1d(float32[1,3,L]:nwc, kernel_size=2, stride=1, padding=1, count_include_pad=False)"},
    {"max_pool1d(float32[1,3,L]:nwc, kernel_size=2, stride=2)"},
    {"avg_pool1d(float32[1,9,L]:nwc, kernel_size=3, stride=2, padding=1, count_include_pad=False)"},
    {"adaptive_max_pool1d(float32[1,9,L]:nwc, output_size=3)"},
    {"max_pool2d(float32[1,19,2,W]:nhwc, kernel_size=6, stride=1, padding=3)"},
    {"max_pool1d(float32[1,40,L]:ncw8c, kernel_size=3, stride=2, padding=1)"},
    {"max_pool1d_backward(float32[1,9,L]:nwc, kernel_size=3, stride=2, padding=1)"},
    {"avg_pool2d_backward(float32[1,9,3,W]:nhwc, kernel_size=2, stride=1, padding=1, "
     "count_include_pad=False)"},
    {"max_pool1d_backward(float32[1,2,L], kernel_size=3, stride=2, padding=1)"},
    {"max_pool2d_backward(bfloat16[1,2,3,W], kernel_size=2, stride=1)"},
    {"avg_pool2d_backward(float32[1,2,3,W], kernel_size=2, stride=1, padding=1, count_include_pad=False)"},
    {"max_pool2d(float32[1,2,H,W], kernel_size=2)"},
    {"avg_pool2d(float32[1,2,4,W], kernel_size=[3,2], stride=2, padding=[1,0])"},
    {"max_pool2d(float32[1,2,3,W], kernel_size=3, stride=1, padding=1)"},
    {"max_pool1d(float32[1,2,L], kernel_size=2, return_indices=True)"},
    {"avg_pool1d(float32[1,2,L], kernel_size=2, padding=1, count_include_pad=False)"},
    {"global_avg_pool2d(float32[1,3,2,W])"},
    {"global_max_pool1d(uint8[1,5,L])"},
    {"adaptive_avg_pool2d(float32[1,2,3,W], output_size=[2,3])"},
    {"adaptive_max_pool1d(float32[1,2,L], output_size=2, return_indices=True)"},
};

const std::vector<ir::Isa>& runnable_isas() {
  static const std::vector<ir::Isa> isas = [] {
    std::vector<ir::Isa> found;
    for (const ir::IsaInfo& isa : ir::isa_table)
      if (runtime::can_run(isa.isa)) found.push_back(isa.isa);
    return found;
  }();
  return isas;
}

// The best of a family, or the first that can be lowered.
std::optional<ir::Schedule> best_of(ir::Family family, const ir::PoolNest& nest, ir::Isa isa) {
  for (const auto& schedules : {enumerate_schedules(nest, isa), ir::schedule_space(nest, isa)})
    for (const ir::Schedule& schedule : schedules)
      if (schedule.family() == family && lower(nest, schedule, isa)) return schedule;
  return std::nullopt;
}

std::shared_ptr<runtime::NativeCode> to_code(const Subject& subject, const jit::CodeBlob& blob) {
  runtime::CodeInfo info;
  info.nest = subject.nest;
  info.tasks = subject.program.tasks;
  info.backend = "xbyak";
  info.schedule = print(chosen_schedule(subject.nest, subject.choices));
  return std::make_shared<runtime::NativeCode>(std::move(info), subject.program, blob);
}

}  // namespace

uint64_t subject_count() { return std::size(layers) * runnable_isas().size(); }
std::string_view layer_of_subject(uint64_t number) { return layers[number % std::size(layers)].spec; }
bool is_of_all_sizes(uint64_t number) {
  return has_free_dims(*frontend::parse_spec(layer_of_subject(number), frontend::FreeDims::allowed));
}

std::optional<Subject> make_subject(uint64_t number) {
  Subject subject;
  const auto& layer = layers[number % std::size(layers)];
  subject.spec = *frontend::parse_spec(layer.spec, frontend::FreeDims::allowed);
  const ir::Isa isa = runnable_isas()[number / std::size(layers) % runnable_isas().size()];
  subject.choices = {runtime::Engine::xbyak, isa, std::nullopt};
  subject.nest = has_free_dims(subject.spec) ? *runtime::general_nest_of(subject.spec, subject.choices)
                                             : make_nest(subject.spec);
  if (layer.family) {
    subject.choices.schedule = best_of(*layer.family, subject.nest, isa);
    if (!subject.choices.schedule) return std::nullopt;
  }
  auto program = runtime::make_program(subject.nest, subject.choices, ir::Stage::legal);
  if (!program) return std::nullopt;
  subject.program = std::move(*program);
  auto blob = jit::emit(jit::BackendId::xbyak, subject.program);
  if (!blob) return std::nullopt;
  subject.blob = std::move(*blob);
  return subject;
}

std::vector<SubjectSize> places_at(const Subject& subject, const std::vector<std::vector<int64_t>>& sizes) {
  std::vector<SubjectSize> places;
  for (const std::vector<int64_t>& size : sizes) {
    frontend::PoolSpec spec = *with_sizes(subject.spec, size);
    ir::PoolNest nest = make_nest(spec);
    auto words = runtime::words_of_pools(subject.nest, nest);
    if (words) places.push_back({std::move(spec), std::move(nest), std::move(*words)});
  }
  return places;
}

std::vector<SubjectSize> places_of(const Subject& subject) {
  if (!has_free_dims(subject.spec)) return {{subject.spec, subject.nest, {}}};
  const ir::Schedule schedule = chosen_schedule(subject.nest, subject.choices);
  return places_at(subject, runtime::sizes_to_prove(subject.spec, schedule));
}

std::vector<SubjectSize> other_places_of(const Subject& subject) {
  std::vector<std::vector<int64_t>> sizes;
  for (const int64_t extent : {11, 29, 46, 83, 150, 201}) {
    std::vector<int64_t>& size = sizes.emplace_back();
    for (const frontend::SpecDim& dim : subject.spec.dims) size.push_back(dim.is_free ? extent : dim.input);
  }
  return has_free_dims(subject.spec) ? places_at(subject, sizes) : std::vector<SubjectSize>{};
}

runtime::CodePtr code_at(const Subject& subject, const jit::CodeBlob& blob, const SubjectSize& place) {
  const auto code = to_code(subject, blob);
  if (place.words.empty()) return code;
  return std::make_shared<const runtime::SizedCode>(code, place.nest, place.words);
}

ir::Result<runtime::Proof> prove(const Subject& subject, const jit::CodeBlob& blob,
                                 const runtime::ProofLimits& limits) {
  const auto code = to_code(subject, blob);
  return has_free_dims(subject.spec) ? runtime::prove_general(code, subject.spec, subject.choices, limits)
                                     : runtime::prove_code(*code, subject.spec, subject.choices, limits);
}

ir::Result<runtime::Proof> prove_at(const Subject& subject, const jit::CodeBlob& blob,
                                    const SubjectSize& place, const runtime::ProofLimits& limits) {
  runtime::Choices choices = subject.choices;
  choices.schedule = chosen_schedule(subject.nest, subject.choices);
  return runtime::prove_code(*code_at(subject, blob, place), place.spec, choices, limits);
}

}  // namespace pooljit::tests
