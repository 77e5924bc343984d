#include "runtime/engines.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/check.h"
#include "ir/choose/enumerate.h"
#include "ir/interp/interpret.h"
#include "ir/members.h"
#include "ir/passes/pipeline.h"
#include "ir/reference.h"
#include "ir/schedule_text.h"
#include "ir/schedules/lower.h"
#include "jit/backend.h"
#include "jit/names.h"
#include "runtime/kernel_name.h"
#include "runtime/machine.h"
#include "runtime/memory_view.h"
#include "runtime/native_code.h"

namespace pooljit::runtime {
namespace {

using MadeCode = ir::Result<std::shared_ptr<Code>>;

const jit::BackendInfo* find_backend(std::string_view text) {
  const auto rows = jit::backends();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.text == text; });
  return found == rows.end() ? nullptr : &*found;
}

CodeInfo program_info(ir::PoolNest nest, const Choices& exact, const ir::Program& program) {
  CodeInfo code;
  code.nest = std::move(nest);
  code.isa = ir::info(exact.isa).text;
  code.schedule = ir::print(*exact.schedule);
  code.tasks = program.tasks;
  return code;
}

// Callers need not align the output, so code that asks for it comes with code that does not.
class StreamedCode final : public Code {
 public:
  StreamedCode(std::shared_ptr<Code> streamed, std::shared_ptr<Code> cached)
      : Code(streamed->info), streamed_(std::move(streamed)), cached_(std::move(cached)) {
    info.output_alignment = 1;
    info.code_bytes += cached_->info.code_bytes;
    info.held_bytes += sizeof *this + cached_->info.held_bytes;
  }

  void run(const Call& call, const TaskRanges& ranges) const override {
    const auto output = reinterpret_cast<uintptr_t>(call.output);
    const bool is_aligned = output % static_cast<uintptr_t>(streamed_->info.output_alignment) == 0;
    (is_aligned ? *streamed_ : *cached_).run(call, ranges);
  }

  std::vector<const Code*> versions() const override { return {streamed_.get(), cached_.get()}; }

 private:
  const std::shared_ptr<Code> streamed_, cached_;
};

// From a nest to machine code, stage by stage; `pooljit show SPEC --stage S` prints what each makes. The two
// stages before, from text to spec and from spec to nest, are runtime/compile.cpp's.
MadeCode make_version(ir::PoolNest nest, const Choices& exact) {
  const jit::BackendInfo& backend = *find_backend(info(exact.engine).text);
  // schedule: how (the caller may have chosen it) -> program: the vector IR, affine -> legal: what the
  // instruction set has (LLVM takes the program as lowered)
  auto program = ir::lower_to(backend.consumes, nest, chosen_schedule(nest, exact), exact.isa);
  if (!program) return tl::unexpected(program.error());
  // -> code: bytes
  const jit::Names& asked = exact.names;
  auto blob =
      jit::emit(backend.id, *program, asked.any() ? jit::FramePointer::kept : jit::FramePointer::free);
  if (!blob) return tl::unexpected(blob.error());
  // -> kernel: what the library calls; gdb and perf know it by a name if somebody wants that
  std::shared_ptr<void> names;
  if (asked.any()) names = jit::announce(asked, kernel_name(nest, exact.isa, exact.label), *blob, *program);
  return std::make_shared<NativeCode>(program_info(std::move(nest), exact, *program), *program,
                                      std::move(*blob), std::move(names));
}

MadeCode make_native(ir::PoolNest nest, const Choices& choices) {
  Choices exact = choices;
  auto code = make_with_registers(nest, choices, [&](const ir::Schedule& schedule) {
    exact.schedule = schedule;
    return make_version(nest, exact);
  });
  if (!code || exact.schedule->stores == ir::Stores::cached) return code;
  exact.schedule->stores = ir::Stores::cached;
  auto cached = make_version(std::move(nest), exact);
  if (!cached) return cached;
  return std::make_shared<StreamedCode>(std::move(*code), std::move(*cached));
}

// Those of one pool.
ir::Operands operands_of(std::span<const ir::PoolNest> pools, size_t pool, const Call& call) {
  return ir::Operands(call.operands).subspan(first_operand(pools, pool), operand_count(pools[pool]));
}

// Interprets the Program as lowered, on the caller's memory.
class InterpretedCode final : public Code {
 public:
  InterpretedCode(CodeInfo code_info, const ir::Program& program) : Code(std::move(code_info)) {
    const auto pools = pools_of(info.nest);
    info.held_bytes = sizeof *this;
    for (size_t i = 0; i < pools.size(); ++i) {
      const ir::Program& own = programs_.emplace_back(ir::only_member(program, pools, static_cast<int>(i)));
      info.held_bytes += own.insts.size() * sizeof(ir::Inst) + own.types.size() * sizeof(ir::Type);
    }
  }

  void run(const Call& call, const TaskRanges& ranges) const override {
    const ir::PoolNest& nest = call.sized ? *call.sized : info.nest;
    const auto pools = pools_of(nest);
    for (size_t i = 0; i < pools.size(); ++i) {
      Call own = call;
      const MemberOutput written = call.written(i);
      own.members = &written;
      std::ranges::copy(operands_of(pools, i, call), own.operands.begin());
      run(programs_[i], pools[i], own, ranges);
    }
  }

 private:
  static void run(const ir::Program& program, const ir::PoolNest& nest, const Call& call,
                  const TaskRanges& ranges) {
    uint64_t args[ir::most_params];
    fill_arguments(program.params, program.tables, call, ranges, args);
    std::vector<ir::Region> operands;
    for (const MemoryView& view : operand_memory(nest, call.batch))
      operands.push_back({view.span_bytes(), nullptr});
    std::vector<ir::Region> sizes;
    for (const std::vector<int64_t>& words : call.sizes) sizes.push_back({std::ssize(words) * 8, nullptr});
    const ir::MemoryMap memory{
        {input_view(nest, call.batch).span_bytes(), nullptr},
        {output_view(nest, call.batch).span_bytes(), nullptr},
        {indices_view(nest, call.batch).span_bytes(), nullptr},
        operands,
        sizes,
    };
    const auto done = ir::interpret(program, {args, program.params.size()}, memory);
    POOLJIT_CHECK(done, ir::to_string(done.error()));
  }

  std::vector<ir::Program> programs_;  // by pool
};

MadeCode make_interpreter(ir::PoolNest nest, const Choices& choices) {
  Choices exact = choices;
  exact.schedule = chosen_schedule(nest, choices);
  auto program = make_program(nest, exact, ir::Stage::affine);
  if (!program) return tl::unexpected(program.error());
  return std::make_shared<InterpretedCode>(program_info(std::move(nest), exact, *program), *program);
}

class ReferenceCode final : public Code {
 public:
  using Code::Code;
  void run(const Call& call, const TaskRanges&) const override {
    const auto pools = pools_of(info.nest);
    for (size_t i = 0; i < pools.size(); ++i)
      ir::evaluate(pools[i], call.batch, call.input, call.written(i).output, call.written(i).indices,
                   operands_of(pools, i, call));
  }
};

MadeCode make_reference(ir::PoolNest nest, const Choices&) {
  CodeInfo code;
  code.nest = std::move(nest);
  code.isa = "none";
  code.held_bytes = sizeof(ReferenceCode);
  return std::make_shared<ReferenceCode>(std::move(code));
}

constexpr bool makes_native(MakeCode make) { return make == make_native; }

constexpr EngineInfo engine_table[] = {
#define ENGINE(name, text, maker, note) {Engine::name, text, makes_native(make_##maker), make_##maker},
#include "runtime/engines.def"
#undef ENGINE
};

}  // namespace

std::span<const EngineInfo> engines() { return engine_table; }

const EngineInfo& info(Engine engine) { return engine_table[static_cast<size_t>(engine)]; }

std::optional<Engine> find_engine(std::string_view text) {
  for (const EngineInfo& row : engine_table)
    if (row.text == text) return row.engine;
  return std::nullopt;
}

ir::Result<void> require(Engine engine) {
  if (!info(engine).is_native) return {};
  const jit::BackendInfo* const backend = find_backend(info(engine).text);
  if (backend) return jit::find(backend->id);
  return ir::unsupported("backend.missing",
                         fmt::format("this build lacks the back end {}", info(engine).text),
                         "build with -DPOOLJIT_LLVM=ON, or choose backend=xbyak");
}

bool is_built(Engine engine) { return require(engine).has_value(); }

ir::Stage consumed_stage(Engine engine) { return find_backend(info(engine).text)->consumes; }

ir::Schedule chosen_schedule(const ir::PoolNest& nest, const Choices& choices) {
  return choices.schedule ? *choices.schedule
                          : ir::enumerate_schedules(nest, choices.isa, 1, machine().row).front();
}

std::vector<ir::Schedule> offered_schedules(const ir::PoolNest& nest, const Choices& choices) {
  return ir::enumerate_schedules(nest, choices.isa, SIZE_MAX, machine().row);
}

ir::Result<ir::Program> make_program(const ir::PoolNest& nest, const Choices& choices, ir::Stage stage) {
  return ir::lower_to(stage, nest, chosen_schedule(nest, choices), choices.isa);
}

}  // namespace pooljit::runtime
