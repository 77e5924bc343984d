// The LLVM back end in one screen: translate, optimise, compile to an object, link it into memory, read back
// its line table.
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/raw_ostream.h>

#include "jit/code_image.h"
#include "jit/llvm/compile.h"
#include "jit/llvm/exit_gate.h"
#include "jit/llvm/fatal_errors.h"
#include "jit/llvm/link.h"
#include "jit/llvm/target.h"
#include "jit/llvm/translate.h"

namespace pooljit::jit {

namespace {

// LLVM's default handler prints an error and exits the process; a library may do neither.
class Diagnostics : public llvm::DiagnosticHandler {
 public:
  explicit Diagnostics(std::string& first_error) : first_error_(first_error) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error || !first_error_.empty()) return true;
    llvm::raw_string_ostream stream(first_error_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string& first_error_;
};

// The first address of each run of instructions that come from one line; line 0 has no instruction.
std::vector<CodeBlob::Line> lines(const llvm::object::ObjectFile& object) {
  std::vector<CodeBlob::Line> result;
  const auto dwarf = llvm::DWARFContext::create(object);
  for (const auto& unit : dwarf->compile_units()) {
    const llvm::DWARFDebugLine::LineTable* const table = dwarf->getLineTableForUnit(unit.get());
    if (!table) continue;
    for (const llvm::DWARFDebugLine::Row& row : table->Rows) {
      const auto offset = static_cast<uint32_t>(row.Address.Address);
      const int32_t inst = static_cast<int32_t>(row.Line) - 1;
      if (row.EndSequence || (!result.empty() && result.back().inst == inst)) continue;
      if (!result.empty() && result.back().offset == offset) result.pop_back();
      result.push_back({offset, inst});
    }
  }
  return result;
}

ir::Result<CodeBlob> load(const llvm::MemoryBuffer& buffer) {
  auto object = llvm::object::ObjectFile::createObjectFile(buffer.getMemBufferRef());
  if (!object) return ir::unsupported("jit.llvm.codegen", llvm::toString(object.takeError()));
  auto linked = link_object(**object);
  if (!linked) return tl::unexpected(linked.error());
  return publish({linked->bytes, linked->code_offset, lines(**object), std::move(linked->frame)});
}

// The objects of one compilation. All but the target machine are its own.
struct Compilation {
  llvm::LLVMContext context;
  std::string error;
  std::unique_ptr<llvm::Module> module;
};

// LLVM's memory grows with a Program, its time now and then with the square: this many take less than 10 s
// and 256 MiB.
constexpr size_t most_insts = 40000;

ir::Result<void> make_module(const ir::Program& program, Annotate annotate, FramePointer frame,
                             Compilation& made) {
  if (program.insts.size() > most_insts)
    return ir::unsupported("jit.llvm.size",
                           "LLVM would take long for " + std::to_string(program.insts.size()) +
                               " instructions; at most " + std::to_string(most_insts) + " are given to it",
                           "backend=xbyak");
  llvm::TargetMachine& target = target_machine(program.isa);
  made.context.setDiscardValueNames(annotate == Annotate::lines);
  made.context.setDiagnosticHandler(std::make_unique<Diagnostics>(made.error));
  made.module = std::make_unique<llvm::Module>(program.name, made.context);
  if (auto done = translate(program, target, *made.module, annotate, frame); !done)
    return tl::unexpected(done.error());
  optimise(*made.module, target);
  return {};
}

ir::Result<CodeBlob> make_code(const ir::Program& program, FramePointer frame, Compilation& made) {
  if (auto done = make_module(program, Annotate::lines, frame, made); !done)
    return tl::unexpected(done.error());
  auto object = emit_object(*made.module, target_machine(program.isa));
  if (!object) return tl::unexpected(object.error());
  if (!made.error.empty()) return ir::unsupported("jit.llvm.codegen", made.error);
  return load(**object);
}

ir::Result<std::string> make_text(const ir::Program& program, Compilation& made) {
  if (auto done = make_module(program, Annotate::names, FramePointer::free, made); !done)
    return tl::unexpected(done.error());
  std::string text;
  llvm::raw_string_ostream stream(text);
  made.module->print(stream, nullptr);
  return stream.str();
}

// work(made) with what a compilation makes.
template <typename T, typename Work>
ir::Result<T> with_llvm(const Work& work) {
  const LlvmInUse in_use;
  if (in_use.is_refused())
    return ir::unsupported("jit.llvm.exit", "the process ends, and LLVM with it", "compile before exit()");
  return with_fatal_errors_as_values<T, Compilation>(work);
}

}  // namespace

ir::Result<CodeBlob> compile_with_llvm(const ir::Program& program, FramePointer frame) {
  return with_llvm<CodeBlob>([&](Compilation& made) { return make_code(program, frame, made); });
}

ir::Result<std::string> llvm_module_text(const ir::Program& program) {
  return with_llvm<std::string>([&](Compilation& made) { return make_text(program, made); });
}

}  // namespace pooljit::jit
