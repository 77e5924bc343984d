#include "jit/decoder.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>

#include <string>

#include "jit/fork_gate.h"

namespace pooljit::jit {
namespace {

// The functions that we call, as <Zydis/Zydis.h> declares them.
struct Zydis {
  std::string why;  // it is not there; else empty
#define FUNCTION(name) decltype(&::name) name = nullptr
  FUNCTION(ZydisDecoderInit);
  FUNCTION(ZydisDecoderDecodeFull);
  FUNCTION(ZydisDisassembleIntel);
  FUNCTION(ZydisMnemonicGetString);
  FUNCTION(ZydisISASetGetString);
  FUNCTION(ZydisRegisterGetClass);
  FUNCTION(ZydisRegisterGetId);
  FUNCTION(ZydisRegisterGetLargestEnclosing);
#undef FUNCTION

  // Found as the loader finds every library; the name is that of the one whose headers we were built with.
  Zydis() {
    void* const library = ::dlopen(POOLJIT_ZYDIS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) why = ::dlerror();
    const auto find = [&](auto& function, const char* name) {
      if (library)
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      if (!function && why.empty()) why = std::string(POOLJIT_ZYDIS_LIBRARY " has no ") + name;
    };
#define FIND(name) find(name, #name)
    FIND(ZydisDecoderInit);
    FIND(ZydisDecoderDecodeFull);
    FIND(ZydisDisassembleIntel);
    FIND(ZydisMnemonicGetString);
    FIND(ZydisISASetGetString);
    FIND(ZydisRegisterGetClass);
    FIND(ZydisRegisterGetId);
    FIND(ZydisRegisterGetLargestEnclosing);
#undef FIND
  }
};

// Never unloaded.
const Zydis& zydis() {
  return made_once([] { return Zydis(); });
}

}  // namespace

ir::Result<void> require_decoder() {
  if (zydis().why.empty()) return {};
  return ir::unsupported("decoder.missing", "the decoder of machine code is not there: " + zydis().why,
                         "install Zydis (Debian: libzydis4.0): proofs, exports and listings need it");
}

// --- Zydis' names

namespace {

// The function of the library; `otherwise` where that is not there.
template <typename Function, typename Result, typename... Args>
Result call(Function Zydis::*function, Result otherwise, Args... args) {
  return zydis().why.empty() ? (zydis().*function)(args...) : otherwise;
}

}  // namespace
}  // namespace pooljit::jit

using pooljit::jit::call;
using pooljit::jit::Zydis;

ZyanStatus ZydisDecoderInit(ZydisDecoder* decoder, ZydisMachineMode mode, ZydisStackWidth width) {
  return call(&Zydis::ZydisDecoderInit, ZyanStatus(ZYAN_STATUS_FAILED), decoder, mode, width);
}
ZyanStatus ZydisDecoderDecodeFull(const ZydisDecoder* decoder, const void* buffer, ZyanUSize length,
                                  ZydisDecodedInstruction* instruction, ZydisDecodedOperand* operands) {
  return call(&Zydis::ZydisDecoderDecodeFull, ZyanStatus(ZYAN_STATUS_FAILED), decoder, buffer, length,
              instruction, operands);
}
ZyanStatus ZydisDisassembleIntel(ZydisMachineMode mode, ZyanU64 address, const void* buffer, ZyanUSize length,
                                 ZydisDisassembledInstruction* instruction) {
  return call(&Zydis::ZydisDisassembleIntel, ZyanStatus(ZYAN_STATUS_FAILED), mode, address, buffer, length,
              instruction);
}
const char* ZydisMnemonicGetString(ZydisMnemonic mnemonic) {
  return call(&Zydis::ZydisMnemonicGetString, "", mnemonic);
}
const char* ZydisISASetGetString(ZydisISASet isa_set) {
  return call(&Zydis::ZydisISASetGetString, "", isa_set);
}
ZydisRegisterClass ZydisRegisterGetClass(ZydisRegister reg) {
  return call(&Zydis::ZydisRegisterGetClass, ZYDIS_REGCLASS_INVALID, reg);
}
ZyanI8 ZydisRegisterGetId(ZydisRegister reg) { return call(&Zydis::ZydisRegisterGetId, ZyanI8(-1), reg); }
ZydisRegister ZydisRegisterGetLargestEnclosing(ZydisMachineMode mode, ZydisRegister reg) {
  return call(&Zydis::ZydisRegisterGetLargestEnclosing, ZYDIS_REGISTER_NONE, mode, reg);
}
