#include "tests/proof/mutants.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>

#include "frontend/pool_spec.h"
#include "ir/prove.h"
#include "ir/reference.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "jit/backend.h"
#include "jit/code_memory.h"
#include "runtime/check_data.h"
#include "runtime/memory_view.h"
#include "runtime/native_code.h"
#include "runtime/proof/verify.h"

namespace pooljit::tests {
namespace {

using ir::Inst;
using ir::Op;
using ir::Program;
using Random = std::mt19937_64;

// Every reduction, rule and layout that mutants should live in.
const char* const specs[] = {
    "max_pool2d(float32[1,3,9,37], kernel_size=3, stride=2, padding=1)",
    "max_pool2d(float32[1,19,6,7]:nhwc, kernel_size=3, stride=1, padding=1, return_indices=True)",
    "max_pool1d(float32[1,2,60], kernel_size=3, nan=ignore, zeros=first)",
    "max_pool2d(uint8[1,2,6,70], kernel_size=2)",
    "avg_pool2d(float32[1,3,7,40], kernel_size=3, stride=2, padding=1)",
    "avg_pool2d(uint8[1,35,5,6]:nhwc, kernel_size=2, stride=1)",
    "max_pool1d(float32[1,2,45], kernel_size=2, return_indices=True, output_strides=[92,46,2])",
    "max_pool2d_backward(float32[1,3,9,13], kernel_size=2, stride=1)",
    "avg_pool2d_backward(float32[1,3,9,20], kernel_size=3, stride=2, padding=1, count_include_pad=False)",
    "max_pool1d_backward(float32[1,18,12]:nwc, kernel_size=3, index_scope=window, index_dtype=uint8)",
    "lp_pool2d(float32[1,3,7,40], kernel_size=3, stride=2, norm_type=2)",
    "lp_pool2d(float32[1,17,5,6]:nhwc, kernel_size=2, norm_type=1)",
    "lp_pool1d(float32[1,2,40], kernel_size=3, norm_type=inf)",
};

// --- faults in Programs: true if the instruction was changed

using ChangeInst = std::function<bool(Program&, Inst&, Random&)>;

bool is_lanes(const Program& program, const Inst& inst) {
  return !inst.results.empty() && program.type(inst.results[0]).kind == ir::Type::Kind::vec;
}
int64_t element_bytes(const Program& program, const Inst& inst) {
  return bytes(program.type(inst.op == Op::store ? inst.args[0] : inst.results[0]).dtype);
}

bool move_access(Inst& inst, Op op, int64_t by) {
  if (inst.op != op) return false;
  inst.addr.offset += by;
  return true;
}

bool drop_operand(Inst& inst, size_t kept) {
  if ((inst.op != Op::max && inst.op != Op::add) || inst.args[0] == inst.args[1]) return false;
  inst.args[1 - kept] = inst.args[kept];
  return true;
}

bool is_trip_count(const Program& program, ir::Value value) {
  return std::any_of(program.insts.begin(), program.insts.end(),
                     [&](const Inst& inst) { return inst.op == Op::loop && inst.args[0] == value; });
}

// Bits of constants that some instruction multiplies with or divides by.
bool is_factor(const Program& program, ir::Value value) {
  return std::any_of(program.insts.begin(), program.insts.end(), [&](const Inst& inst) {
    return (inst.op == Op::mul || inst.op == Op::div) &&
           std::ranges::find(inst.args, value) != inst.args.end();
  });
}

// Another value of the same type that is defined before the instruction.
bool other_operand(const Program& program, Inst& inst, Random& random) {
  if (!is_lanes(program, inst) || inst.args.empty()) return false;
  ir::Value& arg = inst.args[random() % inst.args.size()];
  std::vector<ir::Value> others;
  for (const Inst& before : program.insts) {
    if (&before == &inst) break;
    for (ir::Value value : before.results)
      if (value != arg && program.type(value) == program.type(arg)) others.push_back(value);
  }
  if (others.empty()) return false;
  arg = others[random() % others.size()];
  return true;
}

struct ProgramFault {
  std::string_view name;
  ChangeInst change;
};

const ProgramFault program_faults[] = {
    {"wrong offset",
     [](Program& p, Inst& i, Random& r) {
       return i.op == Op::load && move_access(i, Op::load, element_bytes(p, i) * (r() % 2 == 0 ? 1 : -1));
     }},
    {"dropped tap", [](Program&, Inst& i, Random&) { return drop_operand(i, 0); }},
    {"extra tap", [](Program&, Inst& i, Random&) { return drop_operand(i, 1); }},
    {"wrong mask bit",
     [](Program&, Inst& i, Random& r) {
       if (i.op != Op::vmask) return false;
       i.data[r() % i.data.size()] ^= 1;
       return true;
     }},
    {"off-by-one trip count",
     [](Program& p, Inst& i, Random& r) {
       if (i.op != Op::iconst || i.imm < 2 || !is_trip_count(p, i.results[0])) return false;
       i.imm += r() % 2 == 0 ? 1 : -1;
       return true;
     }},
    {"swapped operands of max",
     [](Program&, Inst& i, Random&) {
       if (i.op != Op::max || i.args[0] == i.args[1]) return false;
       std::swap(i.args[0], i.args[1]);
       return true;
     }},
    {"> for >=",
     [](Program&, Inst& i, Random&) {
       if (i.op != Op::cmp || i.pred != ir::Predicate::gt) return false;
       i.pred = ir::Predicate::ge;
       return true;
     }},
    {"wrong divisor",
     [](Program& p, Inst& i, Random&) {
       if (i.op != Op::vconst || !is_factor(p, i.results[0])) return false;
       for (int64_t& bits : i.data) bits += 1 << 18;
       return true;
     }},
    {"wrong lane in a shuffle",
     [](Program& p, Inst& i, Random& r) {
       if (i.op != Op::shuffle || i.data.size() < 2) return false;
       int64_t& lane = i.data[r() % i.data.size()];
       const int64_t lanes = p.type(i.args[0]).lanes * std::ssize(i.args);
       lane = (lane + 1) % lanes;
       return true;
     }},
    {"wrong value", [](Program& p, Inst& i, Random& r) { return other_operand(p, i, r); }},
    {"store one element late",
     [](Program& p, Inst& i, Random&) {
       return i.op == Op::store && move_access(i, Op::store, element_bytes(p, i));
     }},
    {"read one byte past", [](Program&, Inst& i, Random&) { return move_access(i, Op::load, 1); }},
    {"swapped choice",
     [](Program&, Inst& i, Random&) {
       if (i.op != Op::select) return false;
       std::swap(i.args[1], i.args[2]);
       return true;
     }},
};

// --- faults in bytes: true if the bytes of the instruction were changed

struct Decoded {
  ZydisDecodedInstruction info{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
};

struct ByteFault {
  std::string_view name;
  std::function<bool(const Decoded&, uint8_t* bytes, Random&)> change;
};

bool is_lane_instruction(const Decoded& d) {
  return d.info.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
         d.info.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
}

const ByteFault byte_faults[] = {
    {"bytes: wrong displacement",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       if (d.info.raw.disp.size == 0) return false;
       bytes[d.info.raw.disp.offset] =
           static_cast<uint8_t>(bytes[d.info.raw.disp.offset] + (r() % 2 == 0 ? 1 : -1));
       return true;
     }},
    {"bytes: wrong immediate of a vector instruction",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       if (!is_lane_instruction(d) || d.info.raw.imm[0].size == 0) return false;
       bytes[d.info.raw.imm[0].offset] ^= static_cast<uint8_t>(1U << r() % 8);
       return true;
     }},
    {"bytes: wrong immediate of a scalar instruction",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       if (is_lane_instruction(d) || d.info.raw.imm[0].size == 0 || d.info.raw.imm[0].is_relative)
         return false;
       bytes[d.info.raw.imm[0].offset] ^= static_cast<uint8_t>(1U << r() % 4);
       return true;
     }},
    {"bytes: wrong register",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       if (d.info.raw.modrm.offset == 0) return false;
       bytes[d.info.raw.modrm.offset] ^= static_cast<uint8_t>(8U << r() % 3);
       return true;
     }},
    {"bytes: inverted branch",
     [](const Decoded& d, uint8_t* bytes, Random&) {
       if (d.info.meta.category != ZYDIS_CATEGORY_COND_BR) return false;
       bytes[d.info.length == 2 ? 0 : 1] ^= 1;
       return true;
     }},
    {"bytes: flipped bit",
     [](const Decoded& d, uint8_t* bytes, Random& r) {
       bytes[r() % d.info.length] ^= static_cast<uint8_t>(1U << r() % 8);
       return true;
     }},
};

// --- making mutants

struct Subject {
  frontend::PoolSpec spec;
  runtime::Choices choices;
  ir::PoolNest nest;
  Program program;
  jit::CodeBlob blob;
};

std::optional<Subject> make_subject(uint64_t seed) {
  Subject subject;
  subject.spec = *frontend::parse_spec(specs[seed % std::size(specs)]);
  subject.nest = make_nest(subject.spec);
  const size_t isa = seed / std::size(specs) % std::size(ir::isa_table);
  subject.choices = {runtime::Engine::xbyak, ir::isa_table[isa].isa, std::nullopt};
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
  std::vector<int64_t> extents;
  for (const ir::TaskDim& task : subject.program.tasks)
    extents.push_back(task.extent == ir::TaskDim::batch_extent ? 1 : task.extent);
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
    for (const size_t k : {0, 1})
      (k == 0 ? right : tested)
          ->run({x.data() + room, y[k].data() + room, idx.rank > 0 ? i[k].data() + room : nullptr, 1},
                grid.ranges(0));
    if (y[0] != y[1] || i[0] != i[1]) return false;
  }
  return true;
}

// Runs in a child; 0 or 1 is what it returns, anything else a crash or the end of its time: caught.
Verdict in_child(const std::function<bool()>& passes) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
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
  for (const ProgramFault& fault : program_faults) kinds.push_back({fault.name, false});
  for (const ByteFault& fault : byte_faults) kinds.push_back({fault.name, true});
  return kinds;
}

MutantResult try_mutant(const MutantKind& kind, uint64_t seed) {
  MutantResult result;
  result.kind = kind.name;
  const auto subject = make_subject(seed);
  if (!subject) return result;
  Random random(seed);
  std::optional<Mutant> mutant;
  for (const ProgramFault& fault : program_faults)
    if (fault.name == kind.name) mutant = mutate_program(*subject, fault.change, random);
  for (const ByteFault& fault : byte_faults)
    if (fault.name == kind.name) mutant = mutate_bytes(*subject, fault, random);
  if (!mutant) return result;
  result.spec = fmt::format("{} {}", print(subject->spec), ir::info(subject->choices.isa).text);
  result.change = mutant->change;
  const auto code = to_code(*subject, mutant->blob);
  const auto proof = runtime::prove_code(*code, subject->spec, subject->choices, {.seconds = 20});
  result.proof = proof && proof->ok() ? Verdict::passes : Verdict::caught;
  if (result.proof == Verdict::passes && mutant->program)
    result.is_equivalent = ir::prove(*mutant->program, subject->nest).has_value() ||
                           ir::store_the_same(subject->program, *mutant->program, subject->nest) == true;
  result.why = proof ? proof->failure : ir::to_string(proof.error());
  const int64_t runs = proof_runs(*subject);
  result.random = in_child([&] { return random_tests_pass(*subject, mutant->blob, runs); });
  return result;
}

}  // namespace pooljit::tests
