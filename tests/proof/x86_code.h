// Code, data and what executes the one over the other, as numbers: for the tests of proof/bytes.
#pragma once

#include <sys/mman.h>
#include <xbyak/xbyak.h>

#include <array>
#include <random>

#include "ir/float_format.h"
#include "tests/proof/numbers.h"

namespace pooljit::jit::x86 {

// Four vectors, of which the last one is the result, and a mask.
inline constexpr int vectors = 4;
inline constexpr size_t bytes = vectors * 64 + 8;

// Lanes that are tried of each instruction; sanitizers are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int cases = 1'000;
#else
inline constexpr int cases = 10'000;
#endif

// Where the one Code that lives at a time lies: a page that is mapped and made executable for each takes
// longer than all else.
inline void* code_page() {
  static void* const page = mmap(nullptr, Xbyak::DEFAULT_MAX_CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page;
}

struct Code : Xbyak::CodeGenerator {
  Code() : CodeGenerator(Xbyak::DEFAULT_MAX_CODE_SIZE, code_page()) {}
  std::span<const uint8_t> all() const { return {getCode(), getSize()}; }
  CodeBlob blob() const {
    CodeBlob blob;
    blob.entry = getCode<KernelFunction>();
    blob.isa = ir::Isa::avx512;
    blob.code = all();
    return blob;
  }
};

struct Data {
  alignas(64) std::array<uint8_t, bytes> memory;
};

// A lane's bits: any, or one of those where something changes.
inline uint64_t draw(ir::DType dtype, std::mt19937_64& random) {
  const int bits = ir::info(dtype).bits;
  const uint64_t any = random();
  if (random() % 2 == 0) return any;
  if (!is_float(dtype)) {
    const uint64_t edges[] = {0,
                              1,
                              ~uint64_t{0},
                              uint64_t{1} << (bits - 1),
                              (uint64_t{1} << (bits - 1)) - 1,
                              127,
                              128,
                              255,
                              256,
                              32767,
                              32768,
                              65535};
    return edges[any % std::size(edges)];
  }
  const uint64_t infinity = ir::infinity_bits(dtype), sign = any % 2 == 0 ? 0 : ir::sign_bit(dtype);
  const uint64_t edges[] = {
      0, 1, infinity, infinity + 1, infinity - 1, infinity / 2, infinity + infinity / 4096, infinity / 2 + 1};
  return edges[any / 2 % std::size(edges)] | sign;
}

inline Data drawn(ir::DType dtype, std::mt19937_64& random) {
  Data data;
  const auto width = static_cast<size_t>(ir::bytes(dtype));
  for (size_t at = 0; at < bytes; at += width) {
    const uint64_t lane = draw(dtype, random);
    std::memcpy(data.memory.data() + at, &lane, width);
  }
  return data;
}

// Code over a domain of numbers, decoded once. Throws Refused, also where it runs.
template <class Domain>
class Execution {
 public:
  using Byte = typename Domain::Byte;
  explicit Execution(const Code& code) : blob_(code.blob()), decoded_(blob_), steps_(decoded_) {}

  // as(byte): the domain's byte of a number.
  template <class As>
  void run(Data& data, const As& as) const {
    Memory<Byte> memory;
    auto& buffer = memory.add("data", bytes, Touch::both);
    for (size_t at = 0; at < bytes; ++at) buffer.put(at, as(data.memory[at]));
    Domain domain;
    Executor<Domain> executor(steps_, 0, memory, domain);
    executor.words[7] = executor.word_of(buffer.base);
    executor.run(1000);
    std::ranges::transform(buffer.bytes, data.memory.begin(), Domain::value);
  }

 private:
  CodeBlob blob_;
  DecodedCode decoded_;
  Steps steps_;
};

inline void execute(const Execution<NumberDomain>& code, Data& data) {
  code.run(data, [](uint8_t byte) { return byte; });
}

}  // namespace pooljit::jit::x86
