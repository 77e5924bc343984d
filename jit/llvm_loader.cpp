// Loads libpooljit-llvm.so when the LLVM back end is first asked for, and hands the question on.
#ifdef POOLJIT_WITH_LLVM
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "jit/emitters.h"
#include "jit/fork_gate.h"
#include "jit/llvm/llvm_backend.h"
#include "jit/llvm/module.h"

namespace pooljit::jit {
namespace {

using Loaded = ir::Result<const LlvmModule*>;

Loaded missing(std::string why) {
  return ir::unsupported(
      "backend.missing", "the LLVM back end is not there: " + std::move(why),
      "install libpooljit-llvm (libpooljit-llvm.so beside libpooljit.so), or choose backend=xbyak");
}

// The folder of the library or program that this code is linked into, with a slash; empty where nobody knows.
std::string own_folder() {
  static const char here = 0;
  Dl_info info;
  if (::dladdr(&here, &info) == 0 || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Beside libpooljit.so; for a program in bin/, in the library folder of the same prefix; else where the
// system's linker looks (its cache, LD_LIBRARY_PATH, the program's RUNPATH). `why` is the last refusal.
void* open_module(std::string& why) {
  std::vector<std::string> paths = {llvm_module_file};
  if (const std::string folder = own_folder(); !folder.empty())
    paths = {folder + llvm_module_file, folder + POOLJIT_LIBRARY_FOLDER "/" + llvm_module_file,
             llvm_module_file};
  for (const std::string& path : paths) {
    if (void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return module;
    const char* const error = ::dlerror();
    // A file that is there and does not load says more than the ones that are not.
    if (error && (why.empty() || ::access(path.c_str(), F_OK) == 0)) why = error;
  }
  return nullptr;
}

Loaded load() {
  std::string why;
  void* const library = open_module(why);
  if (!library) return missing(why);
  const auto* const module = static_cast<const LlvmModule*>(::dlsym(library, llvm_module_symbol));
  if (!module) return missing(::dlerror());
  if (!module->matches())
    return missing(fmt::format("{} is of another build of pooljit (version {}; this is {})", llvm_module_file,
                               module->version, POOLJIT_VERSION));
  return module;
}

// Once for the process, and never unloaded: kernels hold code that the module frees. A failure is remembered
// too.
const Loaded& llvm_module() {
  return made_once([] { return load(); });
}

}  // namespace

ir::Result<CodeBlob> emit_llvm(const ir::Program& program, FramePointer frame) {
  if (!llvm_module()) return tl::unexpected(llvm_module().error());
  return (*llvm_module())->emit(program, frame);
}

ir::Result<void> find_llvm() {
  if (!llvm_module()) return tl::unexpected(llvm_module().error());
  return {};
}

ir::Result<std::string> llvm_ir(const ir::Program& program) {
  if (!llvm_module()) return tl::unexpected(llvm_module().error());
  return (*llvm_module())->module_text(program);
}

}  // namespace pooljit::jit
#endif
