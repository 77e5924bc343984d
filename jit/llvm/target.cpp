#include "jit/llvm/target.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "ir/check.h"
#include "jit/llvm/fatal_errors.h"

namespace pooljit::jit {

namespace {

constexpr const char* triple = "x86_64-unknown-linux-gnu";

void initialise_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(ir::Isa isa) {
  initialise_targets();
  std::string message;
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(triple, message);
  POOLJIT_CHECK(target, message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  const std::string cpu(ir::info(isa).llvm_cpu);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu, "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small));
}

// Says no to passes that kernels must not have; asked by each pass of the code generator.
class PassGate : public llvm::OptPassGate {
 public:
#if LLVM_VERSION_MAJOR < 16
  bool shouldRunPass(const llvm::Pass* pass, llvm::StringRef) override {
    return is_wanted(pass->getPassName());
  }
#else
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override { return is_wanted(pass); }
#endif
  bool isEnabled() const override { return true; }

 private:
  static constexpr llvm::StringRef unwanted[] = {
      // Its time grows with the square of a Program's loops; translate() has reduced the addresses already.
      "Loop Strength Reduction",
      // It makes branches of conditional moves that choose between data; a kernel's branches follow counters
      // only.
      "X86 cmov Conversion",
  };
  static bool is_wanted(llvm::StringRef pass) {
    return std::ranges::find(unwanted, pass) == std::end(unwanted);
  }
};

thread_local std::array<std::unique_ptr<llvm::TargetMachine>, std::size(ir::isa_table)> machines;

struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
};

}  // namespace

void leave_target_machines() {
  for (auto& machine : machines) static_cast<void>(machine.release());
}

llvm::TargetMachine& target_machine(ir::Isa isa) {
  std::unique_ptr<llvm::TargetMachine>& machine = machines[static_cast<size_t>(isa)];
  if (!machine) machine = make_target_machine(isa);
  return *machine;
}

void optimise(llvm::Module& module, llvm::TargetMachine& target) {
  llvm::PassBuilder passes(&target);
  LeftIfThrown<Analyses> left;
  auto& [loops, functions, call_graph, modules] = *left;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(call_graph);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, call_graph, modules);

  // No InstCombine: it fuses the selects of a NaN-propagating maximum into mask algebra, which costs more
  // than the vmaxps that the code generator makes of them. Loop strength reduction is the code generator's.
  llvm::FunctionPassManager pipeline;
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) pipeline.run(function, functions);
}

ir::Result<std::unique_ptr<llvm::MemoryBuffer>> emit_object(llvm::Module& module,
                                                            llvm::TargetMachine& target) {
  PassGate gate;
  module.getContext().setOptPassGate(gate);
  auto object = llvm::orc::SimpleCompiler(target)(module);
  if (!object) return ir::unsupported("jit.llvm.codegen", llvm::toString(object.takeError()));
  return std::move(*object);
}

}  // namespace pooljit::jit
