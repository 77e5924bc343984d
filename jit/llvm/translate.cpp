#include "jit/llvm/translate.h"

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <optional>

#include "ir/verify.h"
#include "jit/llvm/lanes.h"

namespace pooljit::jit {

using ir::Inst;
using ir::Op;
using ir::Program;
using ir::Value;

namespace {

// One alias scope per pointer parameter, by slot: what an access through it is, and what it is not.
class AliasScopes {
 public:
  AliasScopes(const Program& program, llvm::LLVMContext& context) : context_(context) {
    llvm::MDBuilder metadata(context);
    llvm::MDNode* const domain = metadata.createAnonymousAliasScopeDomain("kernel");
    for (size_t slot = 0; slot < program.params.size(); ++slot)
      scopes_.push_back(metadata.createAnonymousAliasScope(domain));
  }

  void mark(llvm::Instruction& access, int slot) const {
    if (slot < 0) return;
    std::vector<llvm::Metadata*> others;
    for (size_t other = 0; other < scopes_.size(); ++other)
      if (other != static_cast<size_t>(slot)) others.push_back(scopes_[other]);
    access.setMetadata(llvm::LLVMContext::MD_alias_scope,
                       llvm::MDNode::get(context_, {scopes_[static_cast<size_t>(slot)]}));
    access.setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(context_, others));
  }

 private:
  llvm::LLVMContext& context_;
  std::vector<llvm::Metadata*> scopes_;
};

// A term of an address, iv * bytes, as a value that grows by `bytes` per iteration.
struct Induction {
  int64_t bytes = 0;
  llvm::PHINode* phi = nullptr;
};

struct OpenLoop {
  Value iv_name = ir::no_value;
  llvm::Value* trip = nullptr;
  llvm::BasicBlock* guard = nullptr;
  llvm::BasicBlock* preheader = nullptr;
  llvm::BasicBlock* body = nullptr;
  llvm::BasicBlock* exit = nullptr;
  llvm::PHINode* iv = nullptr;
  std::vector<Induction> inductions;
  std::vector<llvm::PHINode*> carried;
  std::vector<llvm::Value*> init;
};

class Translator {
 public:
  Translator(const Program& program, llvm::Module& module, Annotate annotate, FramePointer frame)
      : program_(program),
        module_(module),
        context_(module.getContext()),
        build_(context_),
        scopes_(program, context_),
        annotate_(annotate),
        frame_(frame),
        values_(program.types.size(), nullptr),
        slots_(program.types.size(), -1) {}

  void run() {
    begin_function();
    for (size_t i = 0; i < program_.insts.size(); ++i) {
      if (scope_) build_.SetCurrentDebugLocation(llvm::DILocation::get(context_, i + 1, 0, scope_));
      translate(program_.insts[i]);
    }
    if (debug_) debug_->finalize();
  }

 private:
  void begin_function() {
    llvm::Type* const ptr = llvm::PointerType::get(context_, 0);
    auto* const type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), {ptr}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kernel_symbol, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->setUWTableKind(llvm::UWTableKind::Async);  // it throws nothing, but is unwound through
    const std::string vector_bits = std::to_string(ir::info(program_.isa).vector_bytes * 8);
    function_->addFnAttr("prefer-vector-width", vector_bits);
    function_->addFnAttr("min-legal-vector-width", vector_bits);
    if (frame_ == FramePointer::kept) function_->addFnAttr("frame-pointer", "all");
    if (annotate_ == Annotate::lines) begin_debug();
    build_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  }

  void begin_debug() {
    // endbr64, where the CPU wants to see one behind an indirect call.
    module_.addModuleFlag(llvm::Module::Override, "cf-protection-branch", 1);
    module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    debug_.emplace(module_);
    llvm::DIFile* const file = debug_->createFile("program", "");
    debug_->createCompileUnit(llvm::dwarf::DW_LANG_C, file, "pooljit", true, "", 0, "",
                              llvm::DICompileUnit::LineTablesOnly);
    auto* const type = debug_->createSubroutineType(debug_->getOrCreateTypeArray({}));
    scope_ = debug_->createFunction(file, kernel_symbol, "", file, 0, type, 0, llvm::DINode::FlagZero,
                                    llvm::DISubprogram::SPFlagDefinition);
    function_->setSubprogram(scope_);
  }

  void translate(const Inst& inst) {
    switch (inst.op) {
      case Op::loop:
        return begin_loop(inst);
      case Op::end:
        return end_loop(inst);
      case Op::ret:
        // Makes stores past the caches visible to other threads before the caller tells them.
        if (output_alignment(program_) > 1) build_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
        build_.CreateRetVoid();
        return;
      case Op::store:
        return store(inst);
      case Op::prefetch:
        return prefetch(inst);
      default:
        define(inst.results[0], value(inst));
    }
  }

  llvm::Value* value(const Inst& inst) {
    switch (inst.op) {
      case Op::param:
        return param(inst);
      case Op::iconst:
        return build_.getInt64(static_cast<uint64_t>(inst.imm));
      case Op::iadd:
        return build_.CreateAdd(arg(inst, 0), arg(inst, 1));
      case Op::imul:
        return build_.CreateMul(arg(inst, 0), arg(inst, 1));
      case Op::imin:
        return build_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, arg(inst, 0), arg(inst, 1));
      case Op::imax:
        return build_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, arg(inst, 0), arg(inst, 1));
      case Op::iload:
        return iload(inst);
      case Op::ptradd:
        return ptradd(inst);
      case Op::load:
        return load(inst);
      default:
        return lanes(inst);
    }
  }

  // --- values

  llvm::Value* arg(const Inst& inst, size_t i) const { return values_[static_cast<size_t>(inst.args[i])]; }
  int& slot(Value value) { return slots_[static_cast<size_t>(value)]; }
  const ir::Type& type(const Inst& inst) const { return program_.type(inst.results[0]); }
  llvm::Type* llvm_type(Value value) const { return value_type(context_, program_.type(value)); }

  void define(Value name, llvm::Value* value) {
    values_[static_cast<size_t>(name)] = value;
    if (annotate_ == Annotate::names && !value->hasName() && !llvm::isa<llvm::Constant>(value))
      value->setName("v" + std::to_string(name));
  }

  llvm::Value* lanes(const Inst& inst) {
    std::vector<ir::Type> from;
    std::vector<llvm::Value*> args;
    for (size_t i = 0; i < inst.args.size(); ++i) {
      from.push_back(program_.type(inst.args[i]));
      args.push_back(arg(inst, i));
    }
    return lane_op(build_, inst, type(inst), from, args);
  }

  void invariant(llvm::Instruction* load) const {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  }

  llvm::Value* param(const Inst& inst) {
    llvm::Value* const word =
        build_.CreateConstGEP1_64(build_.getInt64Ty(), function_->getArg(0), static_cast<uint64_t>(inst.imm));
    llvm::LoadInst* const load = build_.CreateLoad(llvm_type(inst.results[0]), word);
    invariant(load);
    slot(inst.results[0]) = static_cast<int>(inst.imm);
    return load;
  }

  // --- memory

  llvm::Value* offset(llvm::Value* base, llvm::Value* bytes) {
    return build_.CreateGEP(build_.getInt8Ty(), base, bytes);
  }

  llvm::Value* address(const Inst& inst) {
    llvm::Value* result = values_[static_cast<size_t>(inst.addr.base)];
    for (const ir::Term& term : inst.addr.terms) result = offset(result, induction(term));
    if (inst.addr.offset == 0) return result;
    return offset(result, build_.getInt64(static_cast<uint64_t>(inst.addr.offset)));
  }

  // Strength reduction where it costs nothing: LLVM's own pass takes longer than all others together.
  llvm::Value* induction(const ir::Term& term) {
    const auto loop = std::find_if(open_.begin(), open_.end(),
                                   [&](const OpenLoop& open) { return open.iv_name == term.iv; });
    for (const Induction& known : loop->inductions)
      if (known.bytes == term.bytes) return known.phi;
    auto* const phi = llvm::PHINode::Create(build_.getInt64Ty(), 2, "", loop->iv);
    phi->addIncoming(build_.getInt64(0), loop->preheader);
    loop->inductions.push_back({term.bytes, phi});
    return phi;
  }

  llvm::Value* ptradd(const Inst& inst) {
    slot(inst.results[0]) = slot(inst.addr.base);
    llvm::Value* const result = address(inst);
    return inst.args.empty() ? result : offset(result, arg(inst, 0));
  }

  // The code generator compares the accesses of a block with each other: 6656 loads took 50 s, 3675 with 60
  // stores 295 MiB. So after some an instruction of no bytes stands between them that may write memory.
  void count_access() {
    constexpr int most_in_a_row = 128;
    if (++accesses_in_a_row_ < most_in_a_row) return;
    accesses_in_a_row_ = 0;
    auto* const type = llvm::FunctionType::get(build_.getVoidTy(), false);
    build_.CreateCall(llvm::InlineAsm::get(type, "", "~{memory}", /*hasSideEffects=*/true));
  }

  llvm::Value* iload(const Inst& inst) {
    count_access();
    llvm::LoadInst* const load = build_.CreateAlignedLoad(build_.getInt64Ty(), address(inst), llvm::Align(1));
    invariant(load);
    return load;
  }

  // Where a constant mask has its first and last lane on, LLVM loads all lanes; those between may be a gap of
  // the view, which nobody reads. So it is not told the constant. (What is no masked load of the target's is
  // taken apart lane by lane; there it has to know.)
  llvm::Value* load_mask(const Inst& inst) {
    llvm::Value* const mask = arg(inst, 0);
    const bool is_native =
        ir::info(program_.isa).masks_narrow || bytes(program_.type(inst.results[0]).dtype) >= 4;
    return is_native && has_gap(mask) ? opaque(build_, mask) : mask;
  }

  llvm::Value* load(const Inst& inst) {
    count_access();
    llvm::Type* const type = llvm_type(inst.results[0]);
    llvm::Value* const from = address(inst);
    llvm::Instruction* load;
    if (inst.args.empty())
      load = build_.CreateAlignedLoad(type, from, llvm::Align(1));
    else
      load = build_.CreateMaskedLoad(type, from, llvm::Align(1), load_mask(inst), arg(inst, 1));
    scopes_.mark(*load, slot(inst.addr.base));
    return load;
  }

  void store(const Inst& inst) {
    count_access();
    llvm::Value* const to = address(inst);
    if (inst.args.size() == 2) {
      llvm::Instruction* const store =
          build_.CreateMaskedStore(arg(inst, 0), to, llvm::Align(1), arg(inst, 1));
      return scopes_.mark(*store, slot(inst.addr.base));
    }
    // The one access that is aligned: LLVM would cut a non-temporal store that is not into words.
    const auto bytes = static_cast<uint64_t>(program_.type(inst.args[0]).vector_bytes());
    llvm::Instruction* const store =
        build_.CreateAlignedStore(arg(inst, 0), to, llvm::Align(inst.non_temporal ? bytes : 1));
    scopes_.mark(*store, slot(inst.addr.base));
    if (!inst.non_temporal) return;
    auto* const one = llvm::ConstantAsMetadata::get(build_.getInt32(1));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, {one}));
  }

  void prefetch(const Inst& inst) {
    llvm::Value* const to = address(inst);
    // rw = read, locality = keep, cache = data
    build_.CreateIntrinsic(llvm::Intrinsic::prefetch, {to->getType()},
                           {to, build_.getInt32(0), build_.getInt32(3), build_.getInt32(1)});
  }

  // --- loops: guard -> (preheader -> body ... latch -> body | exit) | exit

  void begin_loop(const Inst& inst) {
    accesses_in_a_row_ = 0;
    OpenLoop loop;
    loop.trip = arg(inst, 0);
    loop.guard = build_.GetInsertBlock();
    loop.iv_name = inst.results[0];
    loop.preheader = llvm::BasicBlock::Create(context_, "preheader", function_);
    loop.body = llvm::BasicBlock::Create(context_, "body", function_);
    loop.exit = llvm::BasicBlock::Create(context_, "exit", function_);
    build_.CreateCondBr(build_.CreateICmpSGT(loop.trip, build_.getInt64(0)), loop.preheader, loop.exit);
    build_.SetInsertPoint(loop.preheader);
    build_.CreateBr(loop.body);
    build_.SetInsertPoint(loop.body);
    loop.iv = build_.CreatePHI(build_.getInt64Ty(), 2);
    loop.iv->addIncoming(build_.getInt64(0), loop.preheader);
    define(inst.results[0], loop.iv);
    for (size_t i = 1; i < inst.args.size(); ++i) {
      llvm::PHINode* const phi = build_.CreatePHI(llvm_type(inst.results[i]), 2);
      phi->addIncoming(arg(inst, i), loop.preheader);
      loop.carried.push_back(phi);
      loop.init.push_back(arg(inst, i));
      slot(inst.results[i]) = slot(inst.args[i]);
      define(inst.results[i], phi);
    }
    open_.push_back(std::move(loop));
  }

  void end_loop(const Inst& inst) {
    accesses_in_a_row_ = 0;
    const OpenLoop loop = std::move(open_.back());
    open_.pop_back();
    llvm::BasicBlock* const latch = build_.GetInsertBlock();
    llvm::Value* const next = build_.CreateAdd(loop.iv, build_.getInt64(1), "", true, true);
    for (const Induction& known : loop.inductions) {
      llvm::Value* const bytes = build_.getInt64(static_cast<uint64_t>(known.bytes));
      known.phi->addIncoming(build_.CreateAdd(known.phi, bytes), latch);
    }
    build_.CreateCondBr(build_.CreateICmpNE(next, loop.trip), loop.body, loop.exit);
    loop.iv->addIncoming(next, latch);
    loop.exit->moveAfter(latch);
    build_.SetInsertPoint(loop.exit);
    for (size_t i = 0; i < inst.args.size(); ++i) {
      loop.carried[i]->addIncoming(arg(inst, i), latch);
      llvm::PHINode* const final_value = build_.CreatePHI(loop.carried[i]->getType(), 2);
      final_value->addIncoming(loop.init[i], loop.guard);
      final_value->addIncoming(arg(inst, i), latch);
      slot(inst.results[i]) = slot(inst.args[i]);
      define(inst.results[i], final_value);
    }
  }

  const Program& program_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> build_;
  AliasScopes scopes_;
  Annotate annotate_;
  const FramePointer frame_;
  std::optional<llvm::DIBuilder> debug_;
  llvm::DISubprogram* scope_ = nullptr;
  llvm::Function* function_ = nullptr;
  std::vector<llvm::Value*> values_;  // by Value
  std::vector<int> slots_;            // by Value: of a pointer, the parameter that it comes from; else -1
  std::vector<OpenLoop> open_;
  int accesses_in_a_row_ = 0;
};

}  // namespace

ir::Result<void> translate(const Program& program, const llvm::TargetMachine& target, llvm::Module& module,
                           Annotate annotate, FramePointer frame) {
  if (const auto valid = ir::verify(program); !valid)
    return ir::unsupported("jit.llvm.program", valid.error().id + ": " + valid.error().message,
                           valid.error().hint);
  module.setDataLayout(target.createDataLayout());
  module.setTargetTriple(target.getTargetTriple().str());
  Translator(program, module, annotate, frame).run();
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(module, &stream))
    return ir::unsupported("jit.llvm.program", "this Program makes no valid LLVM module: " + stream.str());
  return {};
}

}  // namespace pooljit::jit
