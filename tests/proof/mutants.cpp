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
#include "ir/general/size_words.h"
#include "ir/reference.h"
#include "ir/schedule_text.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "jit/backend.h"
#include "jit/code_memory.h"
#include "lab/check_data.h"
#include "proof/bytes/symbolic_run.h"
#include "proof/program/prove.h"
#include "runtime/memory_view.h"
#include "runtime/proof/verify.h"
#include "tests/proof/faults.h"
#include "tests/proof/subjects.h"

namespace pooljit::tests {
namespace {

using ir::Program;

// --- making mutants

struct Mutant {
  jit::CodeBlob blob;
  std::string change;
  std::optional<Program> program = {};
  std::optional<SubjectSize> place = {};  // whose words are wrong: it is run there alone
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

constexpr std::string_view wrong_word = "words: wrong word of a size";

// Of code for all sizes.
std::optional<Mutant> mutate_words(const Subject& subject, Random& random) {
  std::vector<SubjectSize> places = places_of(subject);
  SubjectSize& place = places[random() % places.size()];
  if (place.words.empty()) return std::nullopt;
  std::vector<int64_t>& words = place.words[0];
  const size_t at = random() % words.size();
  const int64_t steps[] = {-8, -1, 1, 8};
  const int64_t step = steps[random() % std::size(steps)];
  words[at] += step;
  return Mutant{subject.blob,
                fmt::format("{}: word {} of {} {:+}", print(place.spec), at, words.size(), step),
                {},
                place};
}

// --- random testing: as many runs as the proof's, on the data of `pooljit check`'s first kind

bool random_tests_pass(const runtime::Code& right, const runtime::Code& tested, int64_t runs) {
  const ir::PoolNest& nest = right.info.nest;
  const auto in = runtime::input_view(nest, 1), out = runtime::output_view(nest, 1),
             idx = runtime::indices_view(nest, 1);
  // Room around, as a heap has: what is touched beyond is not seen.
  constexpr size_t room = 4096;
  const auto buffer = [&](const runtime::MemoryView& view) {
    return std::vector<std::byte>(size_t(view.span_bytes()) + 2 * room);
  };
  std::vector<std::byte> x = buffer(in), y[] = {buffer(out), buffer(out)}, i[] = {buffer(idx), buffer(idx)};
  const std::vector<ir::View> steps = ir::operand_views(nest);
  const std::vector<runtime::MemoryView> step_memory = runtime::operand_memory(nest, 1);
  std::vector<std::vector<std::byte>> operands;
  std::ranges::transform(step_memory, std::back_inserter(operands), buffer);
  std::vector<int64_t> extents;
  for (const ir::TaskDim& task : right.info.tasks) extents.push_back(task_count(task, nest, 1));
  const runtime::Grid grid(extents, 1);
  for (int64_t run = 0; run < runs; ++run) {
    fill_input(in, nest.input.dtype, runtime::DataKind::plain, uint64_t(run),
               std::span(x).subspan(room, size_t(in.span_bytes())));
    if (nest.is_backward() && idx.rank > 0) {  // the indices that the forward pass makes of other data
      const ir::PoolNest forward = forward_of(nest);
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
      (k == 0 ? right : tested).run(call, grid.ranges(0));
    }
    if (y[0] != y[1] || i[0] != i[1]) return false;
  }
  return true;
}

// The runs are shared by all places.
bool random_tests_pass(const Subject& subject, const Mutant& mutant, const std::vector<SubjectSize>& places,
                       int64_t runs) {
  const int64_t each = std::max<int64_t>(runs / std::ssize(places), 1);
  for (const SubjectSize& place : places) {
    if (mutant.place && mutant.place->spec != place.spec) continue;
    const auto right = code_at(subject, subject.blob, place);
    const auto tested = code_at(subject, mutant.blob, mutant.place.value_or(place));
    if (!random_tests_pass(*right, *tested, each)) return false;
  }
  return true;
}

// Whether the bytes leave the same terms in the same places as the right ones, in every cell of both batches.
bool stores_the_same(const Subject& subject, const Mutant& mutant, const SubjectSize& place) {
  ir::TermGraph graph;
  const auto stored_by = [&](const jit::CodeBlob& by, const SubjectSize& at) {
    const ir::Program& program = subject.program;
    jit::x86::KernelCode kernel{&by, program.params, program.tasks, &program.tables, program.scratch_bytes, 1,
                                0,   {&at.nest, 1}};
    kernel.sizes = at.words;
    return jit::x86::run_symbolically(kernel, at.nest, 2, graph, {.steps = 5'000'000});
  };
  const auto right = stored_by(subject.blob, place),
             mutated = stored_by(mutant.blob, mutant.place.value_or(place));
  return right && mutated && right->output == mutated->output && right->indices == mutated->indices;
}

bool is_right_program(const Subject& subject, const Program& mutated, const SubjectSize& place) {
  if (ir::prove(mutated, place.nest, 1, place.words)) return true;
  return place.words.empty() && ir::store_the_same(subject.program, mutated, place.nest) == true;
}

// At every place.
bool is_equivalent(const Subject& subject, const Mutant& mutant) {
  return std::ranges::all_of(places_of(subject), [&](const SubjectSize& place) {
    if (mutant.place && mutant.place->spec != place.spec) return true;
    return (mutant.program && is_right_program(subject, *mutant.program, place)) ||
           stores_the_same(subject, mutant, place);
  });
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
    const auto proof = prove(subject, subject.blob);
    at->second = proof ? proof->probes.runs : 0;
  }
  return at->second;
}

}  // namespace

std::vector<MutantKind> mutant_kinds() {
  std::vector<MutantKind> kinds;
  for (const ProgramFault& fault : program_faults()) kinds.push_back({fault.name, false});
  for (const ByteFault& fault : byte_faults()) kinds.push_back({fault.name, true});
  kinds.push_back({wrong_word, false});
  return kinds;
}

std::string fault_of_right_kernel(uint64_t number) {
  const auto subject = make_subject(number);
  if (!subject) return fmt::format("{} has no kernel", layer_of_subject(number));
  const auto proof = prove(*subject, subject->blob);
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
  if (kind.name == wrong_word) mutant = mutate_words(*subject, random);
  if (!mutant) return result;
  result.spec = fmt::format("{} {} {}", print(subject->spec), ir::info(subject->choices.isa).text,
                            print(chosen_schedule(subject->nest, subject->choices)));
  result.change = mutant->change;
  constexpr runtime::ProofLimits limits = {.seconds = 20};
  const auto proof = mutant->place ? prove_at(*subject, mutant->blob, *mutant->place, limits)
                                   : prove(*subject, mutant->blob, limits);
  result.proof = proof && proof->ok() ? Verdict::passes : Verdict::caught;
  if (result.proof == Verdict::passes) result.is_equivalent = is_equivalent(*subject, *mutant);
  result.why = proof ? proof->failure : ir::to_string(proof.error());
  const int64_t runs = proof_runs(*subject);
  result.random = in_child([&] { return random_tests_pass(*subject, *mutant, places_of(*subject), runs); });
  if (result.proof == Verdict::passes) {
    // Too large for the above, but each output was read.
    result.is_equivalent =
        result.is_equivalent || (proof->bytes_outputs > 0 && result.random == Verdict::passes);
    for (const std::string& left : proof->left)
      if (left.starts_with("the bytes are executed by probes only")) result.why = left;
  }
  const std::vector<SubjectSize> others = other_places_of(*subject);
  if (result.proof == Verdict::passes && !mutant->place && !others.empty()) {
    constexpr int64_t runs_there = 60;
    const auto passes = [&] { return random_tests_pass(*subject, *mutant, others, runs_there); };
    if (in_child(passes) == Verdict::caught)
      result.is_equivalent = false, result.why = "it shows at sizes that are not proved";
  }
  return result;
}

}  // namespace pooljit::tests
