#include "jit/llvm/link.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Shared/WrapperFunctionUtils.h>

#include <optional>

#include "jit/llvm/translate.h"

namespace pooljit::jit {

namespace {

using llvm::jitlink::InProcessMemoryManager;
using llvm::jitlink::JITLinkMemoryManager;
using FinalizedAlloc = JITLinkMemoryManager::FinalizedAlloc;

// One manager for the process; each piece of code shares it, so it outlives them all.
ir::Result<std::shared_ptr<InProcessMemoryManager>> memory_manager() {
  static const auto created = []() -> ir::Result<std::shared_ptr<InProcessMemoryManager>> {
    auto manager = InProcessMemoryManager::Create();
    if (!manager) return ir::system_error("jit.memory", llvm::toString(manager.takeError()));
    return std::shared_ptr<InProcessMemoryManager>(std::move(*manager));
  }();
  return created;
}

class LinkedMemory {
 public:
  LinkedMemory(std::shared_ptr<InProcessMemoryManager> manager, FinalizedAlloc memory)
      : manager_(std::move(manager)), memory_(std::move(memory)) {}
  LinkedMemory(const LinkedMemory&) = delete;
  LinkedMemory& operator=(const LinkedMemory&) = delete;
  ~LinkedMemory() { llvm::consumeError(manager_->deallocate(std::move(memory_))); }

 private:
  std::shared_ptr<InProcessMemoryManager> manager_;
  FinalizedAlloc memory_;
};

struct LinkOutcome {
  const uint8_t* entry = nullptr;
  std::optional<FinalizedAlloc> memory;
  bool calls_out = false;
  std::string failure;
};

// JITLink's view of us. Everything happens before link() returns: the memory manager is in this process.
class LinkContext : public llvm::jitlink::JITLinkContext {
 public:
  LinkContext(InProcessMemoryManager& manager, LinkOutcome& outcome)
      : JITLinkContext(nullptr), manager_(manager), outcome_(outcome) {}

  JITLinkMemoryManager& getMemoryManager() override { return manager_; }
  void notifyFailed(llvm::Error error) override { outcome_.failure = llvm::toString(std::move(error)); }

  void lookup(const LookupMap& symbols,
              std::unique_ptr<llvm::jitlink::JITLinkAsyncLookupContinuation> then) override {
    if (symbols.empty()) return then->run(llvm::jitlink::AsyncLookupResult());
    outcome_.calls_out = true;
    const std::string name = symbols.begin()->first.str();
    then->run(llvm::createStringError(llvm::inconvertibleErrorCode(), "the kernel would call " + name));
  }

  llvm::Error notifyResolved(llvm::jitlink::LinkGraph& graph) override {
    for (const llvm::jitlink::Symbol* symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->getName() == kernel_symbol)
        outcome_.entry = reinterpret_cast<const uint8_t*>(symbol->getAddress().getValue());
    return llvm::Error::success();
  }

  void notifyFinalized(FinalizedAlloc memory) override { outcome_.memory = std::move(memory); }

 private:
  InProcessMemoryManager& manager_;
  LinkOutcome& outcome_;
};

#if LLVM_VERSION_MAJOR < 17
// deallocate() of LLVM 15 and 16 gives memory back only where an action is to be run first.
llvm::orc::shared::CWrapperFunctionResult do_nothing(const char* arguments, size_t size) {
  using Nothing = llvm::orc::shared::WrapperFunction<llvm::orc::shared::SPSError()>;
  return Nothing::handle(arguments, size, [] { return llvm::Error::success(); }).release();
}
void make_releasable(llvm::jitlink::LinkGraph& graph) {
  using llvm::orc::shared::WrapperFunctionCall;
  const auto address = llvm::orc::ExecutorAddr::fromPtr(&do_nothing);
  graph.allocActions().push_back({WrapperFunctionCall(), WrapperFunctionCall(address, {})});
}
#else
void make_releasable(llvm::jitlink::LinkGraph&) {}
#endif

}  // namespace

ir::Result<LinkedCode> link_object(const llvm::MemoryBuffer& object) {
  auto manager = memory_manager();
  if (!manager) return tl::unexpected(manager.error());
  auto graph = llvm::jitlink::createLinkGraphFromObject(object.getMemBufferRef());
  if (!graph) return ir::unsupported("jit.llvm.codegen", llvm::toString(graph.takeError()));
  make_releasable(**graph);
  LinkOutcome outcome;
  llvm::jitlink::link(std::move(*graph), std::make_unique<LinkContext>(**manager, outcome));
  if (outcome.calls_out) return ir::unsupported("jit.llvm.codegen", outcome.failure);
  if (!outcome.memory) return ir::system_error("jit.memory", outcome.failure);
  return LinkedCode{outcome.entry,
                    std::make_shared<LinkedMemory>(std::move(*manager), std::move(*outcome.memory))};
}

}  // namespace pooljit::jit
