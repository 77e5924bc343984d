#include "adapter.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>

using Call = std::function<void()>;

namespace {

// Nothing, and why, for what no engine of this folder does, or what its library throws.
Call prepare_or_refuse(const pooljit_engine_layer& layer, const adapter::Buffers& buffers, std::string& why) {
  if (layer.size < sizeof layer)
    why = "knows another version of pooljit_engine.h";
  else if (layer.backward || layer.quantized)
    why = "is asked about forward layers of plain numbers only";
  else if (layer.other[0] != '\0')
    why = std::string("is not asked about layers with these keywords: ") + layer.other;
  else
    try {
      return adapter::prepare(layer, buffers);
    } catch (const std::exception& error) {
      why = error.what();
      why = why.substr(0, why.find('\n'));  // libtorch appends a stack
    }
  return {};
}

// libtorch throws where it has no kernel for a type, as late as that.
int done(const Call& call) {
  try {
    call();
    return POOLJIT_ENGINE_DONE;
  } catch (const std::exception&) {
    return POOLJIT_ENGINE_UNSUPPORTED;
  }
}

}  // namespace

adapter::GuardedMemory::GuardedMemory(const void* like, size_t bytes, size_t slack) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inside = (bytes + slack + page - 1) / page * page;
  mapped_ = inside + 2 * page;
  void* const pages = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  pages_ = static_cast<std::byte*>(pages);
  if (mprotect(pages_ + page, inside, PROT_READ | PROT_WRITE) != 0) {
    munmap(pages_, mapped_);
    throw std::bad_alloc();
  }
  std::memset(pages_ + page, 0xff, inside);
  const bool is_at_front = reinterpret_cast<uintptr_t>(like) % page == 0;
  // Vectors of floats stay aligned to their elements: the slack takes what is left.
  data_ = pages_ + page + (is_at_front ? 0 : inside - bytes - slack);
}

adapter::GuardedMemory::~GuardedMemory() { munmap(pages_, mapped_); }

int pooljit_engine_run(const pooljit_engine_layer* layer, const void* input, void* output, void* indices) {
  static const int started = pooljit_engine_start(1, "avx512");
  std::string why;
  const Call call = prepare_or_refuse(
      *layer, {.input = input, .output = output, .indices = indices, .are_guarded = true}, why);
  if (started != POOLJIT_ENGINE_DONE || !call) return POOLJIT_ENGINE_UNSUPPORTED;
  return done(call);
}

const char* pooljit_engine_version(void) {
  static const std::string version = adapter::version();
  return version.c_str();
}

int pooljit_engine_start(int threads, const char* isa) {
  try {
    adapter::start(threads, std::strcmp(isa, "avx2") == 0);
    return POOLJIT_ENGINE_DONE;
  } catch (const std::exception&) {
    return POOLJIT_ENGINE_ERROR;
  }
}

void* pooljit_engine_prepare(const pooljit_engine_layer* layer, const void* input, void* output,
                             void* indices, const char** why) {
  static std::string reason;
  const Call call = prepare_or_refuse(*layer, {input, output, indices}, reason);
  *why = reason.c_str();
  return call ? new Call(call) : nullptr;
}

int pooljit_engine_call(void* prepared) { return done(*static_cast<Call*>(prepared)); }

void pooljit_engine_release(void* prepared) { delete static_cast<Call*>(prepared); }
