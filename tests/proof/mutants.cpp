#include "tests/proof/mutants.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

#include "frontend/pool_spec.h"
#include "ir/choose/enumerate.h"
#include "ir/general/size_words.h"
#include "ir/reference.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "ir/schedules/space.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "jit/backend.h"
#include "jit/code_memory.h"
#include "proof/bytes/symbolic_run.h"
#include "proof/program/prove.h"
#include "runtime/check_data.h"
#include "runtime/cpu_features.h"
#include "runtime/memory_view.h"
#include "runtime/native_code.h"
#include "runtime/proof/verify.h"
#include "tests/proof/faults.h"

namespace pooljit::tests {
namespace {

using ir::Program;

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
};

// --- making mutants

struct Subject {
  frontend::PoolSpec spec;
  runtime::Choices choices;
  ir::PoolNest nest;
  Program program;
  jit::CodeBlob blob;
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

std::optional<Subject> make_subject(uint64_t number) {
  Subject subject;
  const auto& layer = layers[number % std::size(layers)];
  subject.spec = *frontend::parse_spec(layer.spec);
  subject.nest = make_nest(subject.spec);
  const ir::Isa isa = runnable_isas()[number / std::size(layers) % runnable_isas().size()];
  subject.choices = {runtime::Engine::xbyak, isa, std::nullopt};
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

std::shared_ptr<runtime::NativeCode> to_code(const Subject& subject, const jit::CodeBlob& blob) {
  runtime::CodeInfo info;
  info.nest = subject.nest;
  info.tasks = subject.program.tasks;
  info.backend = "xbyak";
  info.schedule = print(chosen_schedule(subject.nest, subject.choices));
  return std::make_shared<runtime::NativeCode>(std::move(info), subject.program, blob);
}

struct Mutant {
  jit::CodeBlob blob;
  std::string change;
  std::optional<Program> program = {};
};

std::optional<Mutant> mutate_program(const Subject& subject, const ChangeInst& change, Random& random) {
  std::vector<size_t> places;
  for (size_t i = 0; i < subject.program.insts.size(); ++i) {
    Program program = subject.program;
    Random copy = random;
    if (change(program, program.insts[i], copy) && program != subject.program && ir::verify(program))
      places.push_back(i);
  }
  if (places.empty()) return std::nullopt;
  Program program = subject.program;
  const size_t at = places[random() % places.size()];
  const std::string before = print(program, program.insts[at]);
  Random copy = random;
  if (!change(program, program.insts[at], copy) || !ir::verify(program)) return std::nullopt;
  auto blob = jit::emit(jit::BackendId::xbyak, program);
  if (!blob) return std::nullopt;
  return Mutant{std::move(*blob), before + "  ->  " + print(program, program.insts[at]), program};
}

std::optional<Mutant> mutate_bytes(const Subject& subject, const ByteFault& fault, Random& random) {
  const size_t pool = subject.blob.bytes - subject.blob.code.size();
  std::vector<uint8_t> bytes(subject.blob.code.data() - pool,
                             subject.blob.code.data() + subject.blob.code.size());
  std::vector<std::pair<size_t, Decoded>> places;
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  for (size_t at = pool; at < bytes.size();) {
    Decoded decoded;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, &bytes[at], bytes.size() - at, &decoded.info,
                                             decoded.operands.data())))
      break;
    std::vector<uint8_t> copy(bytes.begin() + int64_t(at), bytes.begin() + int64_t(at) + decoded.info.length);
    Random again = random;
    if (fault.change(decoded, copy.data(), again)) places.emplace_back(at, decoded);
    at += decoded.info.length;
  }
  if (places.empty()) return std::nullopt;
  const auto& [at, decoded] = places[random() % places.size()];
  const auto text = [&, from = at] {
    ZydisDisassembledInstruction instruction;
    const bool is_one = ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, from - pool,
                                                           &bytes[from], bytes.size() - from, &instruction));
    return std::string(is_one ? instruction.text : "no instruction");
  };
  const std::string before = text();
  fault.change(decoded, &bytes[at], random);
  auto memory = jit::make_executable(bytes);
  if (!memory) return std::nullopt;
  Mutant mutant{subject.blob, fmt::format("0x{:x}: {}  ->  {}", at - pool, before, text())};
  mutant.blob.code = {memory->bytes + pool, bytes.size() - pool};
  mutant.blob.entry =
      reinterpret_cast<jit::KernelFunction>(reinterpret_cast<uintptr_t>(mutant.blob.code.data()));
  mutant.blob.image = {memory->bytes, bytes.size()};
  mutant.blob.owner = std::move(memory->owner);
  return mutant;
}

// --- random testing: as many runs as the proof's, on the data of `pooljit check`'s first kind

bool random_tests_pass(const Subject& subject, const jit::CodeBlob& blob, int64_t runs) {
  const auto right = to_code(subject, subject.blob), tested = to_code(subject, blob);
  const auto in = runtime::input_view(subject.nest, 1), out = runtime::output_view(subject.nest, 1),
             idx = runtime::indices_view(subject.nest, 1);
  // Room around, as a heap has: what is touched beyond is not seen.
  constexpr size_t room = 4096;
  const auto buffer = [&](const runtime::MemoryView& view) {
    return std::vector<std::byte>(size_t(view.span_bytes()) + 2 * room);
  };
  std::vector<std::byte> x = buffer(in), y[] = {buffer(out), buffer(out)}, i[] = {buffer(idx), buffer(idx)};
  const std::vector<ir::View> steps = ir::operand_views(subject.nest);
  const std::vector<runtime::MemoryView> step_memory = runtime::operand_memory(subject.nest, 1);
  std::vector<std::vector<std::byte>> operands;
  std::ranges::transform(step_memory, std::back_inserter(operands), buffer);
  std::vector<int64_t> extents;
  for (const ir::TaskDim& task : subject.program.tasks) extents.push_back(task_count(task, subject.nest, 1));
  const runtime::Grid grid(extents, 1);
  for (int64_t run = 0; run < runs; ++run) {
    fill_input(in, subject.nest.input.dtype, runtime::DataKind::plain, uint64_t(run),
               std::span(x).subspan(room, size_t(in.span_bytes())));
    if (subject.nest.is_backward() &&
        idx.rank > 0) {  // the indices that the forward pass makes of other data
      const ir::PoolNest forward = forward_of(subject.nest);
      std::vector<std::byte> data(size_t(out.span_bytes())), values(size_t(in.span_bytes()));
      fill_input(out, forward.input.dtype, runtime::DataKind::plain, ~uint64_t(run), data);
      ir::evaluate(forward, 1, data.data(), values.data(), i[0].data() + room);
      i[1] = i[0];
    }
    runtime::Call call{.input = x.data() + room, .batch = 1};
    for (size_t step = 0; step < steps.size(); ++step) {
      fill_input(step_memory[step], steps[step].dtype, runtime::DataKind::plain, uint64_t(run) + 700 + step,
                 std::span(operands[step]).subspan(room, size_t(step_memory[step].span_bytes())));
      call.operands[step] = operands[step].data() + room;
    }
    for (const size_t k : {0, 1}) {
      call.output = y[k].data() + room;
      call.indices = idx.rank > 0 ? i[k].data() + room : nullptr;
      (k == 0 ? right : tested)->run(call, grid.ranges(0));
    }
    if (y[0] != y[1] || i[0] != i[1]) return false;
  }
  return true;
}

// Whether the bytes leave the same terms in the same places as the right ones, in every cell of both batches.
bool stores_the_same(const Subject& subject, const jit::CodeBlob& blob) {
  ir::TermGraph graph;
  const auto stored_by = [&](const jit::CodeBlob& by) {
    const ir::Program& program = subject.program;
    const jit::x86::Kernel kernel{&by, program.params, program.tasks, &program.tables, program.scratch_bytes};
    return jit::x86::run_symbolically(kernel, subject.nest, 2, graph, {.steps = 5'000'000});
  };
  const auto right = stored_by(subject.blob), mutated = stored_by(blob);
  return right && mutated && right->output == mutated->output && right->indices == mutated->indices;
}

// Runs in a child; 0 or 1 is what it returns, anything else a crash or the end of its time: caught.
Verdict in_child(const std::function<bool()>& passes) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    // What a destroyed heap says is no news.
    if (const int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    ::_exit(passes() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Verdict::passes : Verdict::caught;
}

// What the proof of the right kernel costs.
int64_t proof_runs(const Subject& subject) {
  static std::map<std::string, int64_t> known;
  const auto [at, is_new] =
      known.try_emplace(fmt::format("{} {}", print(subject.spec), ir::info(subject.choices.isa).text), 0);
  if (is_new) {
    const auto proof = runtime::prove_code(*to_code(subject, subject.blob), subject.spec, subject.choices);
    at->second = proof ? proof->probes.runs : 0;
  }
  return at->second;
}

}  // namespace

std::vector<MutantKind> mutant_kinds() {
  std::vector<MutantKind> kinds;
  for (const ProgramFault& fault : program_faults()) kinds.push_back({fault.name, false});
  for (const ByteFault& fault : byte_faults()) kinds.push_back({fault.name, true});
  return kinds;
}

uint64_t subject_count() { return std::size(layers) * runnable_isas().size(); }

std::string fault_of_right_kernel(uint64_t number) {
  const auto subject = make_subject(number);
  if (!subject) return fmt::format("{} has no kernel", layers[number % std::size(layers)].spec);
  const auto proof = runtime::prove_code(*to_code(*subject, subject->blob), subject->spec, subject->choices);
  if (!proof) return fmt::format("{}: {}", print(subject->spec), ir::to_string(proof.error()));
  return proof->ok() ? "" : print(*proof);
}

MutantResult try_mutant(const MutantKind& kind, uint64_t seed) {
  MutantResult result;
  result.kind = kind.name;
  const auto subject = make_subject(seed);
  if (!subject) return result;
  Random random(seed);
  std::optional<Mutant> mutant;
  for (const ProgramFault& fault : program_faults())
    if (fault.name == kind.name) mutant = mutate_program(*subject, fault.change, random);
  for (const ByteFault& fault : byte_faults())
    if (fault.name == kind.name) mutant = mutate_bytes(*subject, fault, random);
  if (!mutant) return result;
  result.spec = fmt::format("{} {} {}", print(subject->spec), ir::info(subject->choices.isa).text,
                            print(chosen_schedule(subject->nest, subject->choices)));
  result.change = mutant->change;
  const auto code = to_code(*subject, mutant->blob);
  const auto proof = runtime::prove_code(*code, subject->spec, subject->choices, {.seconds = 20});
  result.proof = proof && proof->ok() ? Verdict::passes : Verdict::caught;
  if (result.proof == Verdict::passes) {
    const bool is_equal_program =
        mutant->program && (ir::prove(*mutant->program, subject->nest).has_value() ||
                            ir::store_the_same(subject->program, *mutant->program, subject->nest) == true);
    result.is_equivalent = is_equal_program || stores_the_same(*subject, mutant->blob);
  }
  result.why = proof ? proof->failure : ir::to_string(proof.error());
  const int64_t runs = proof_runs(*subject);
  result.random = in_child([&] { return random_tests_pass(*subject, mutant->blob, runs); });
  if (result.proof == Verdict::passes) {
    // Too large for the above, but each output was read.
    result.is_equivalent =
        result.is_equivalent || (proof->bytes_outputs > 0 && result.random == Verdict::passes);
    for (const std::string& left : proof->left)
      if (left.starts_with("the bytes are executed by probes only")) result.why = left;
  }
  return result;
}

}  // namespace pooljit::tests
