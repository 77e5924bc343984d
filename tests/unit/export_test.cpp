// Exported kernels: the same code as the JIT's, from the same choices, in objects that are the same each
// time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "export/header.h"
#include "export/object.h"
#include "export/source.h"
#include "jit/object/archive.h"
#include "jit/object/bytes.h"
#include "jit/object/references.h"

namespace pooljit::runtime {
namespace {

constexpr const char* specs[] = {
    "max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)",
    "max_pool2d(float32[1,8,15,15]:nhwc, kernel_size=3, return_indices=True)",
    "avg_pool2d(uint8[2,16,32,32]:nhwc, kernel_size=2)",
    "max_pool2d(uint8[1,1,2160,3840], kernel_size=3, stride=1, padding=1)",  // streams to outputs that are
                                                                             // aligned
    "max_pool2d(float32[8,40,40]:nhwc, kernel_size=13, stride=1)",
    "max_pool2d_backward(float32[1,8,16,16], kernel_size=2)",
    "quantized_avg_pool2d(quint8[1,8,16,16], kernel_size=2, scale=1.5, zero_point=3)",
    "avg_pool2d(float32[1,8,16,16], kernel_size=2, epilogue=[scale_channel, add(float32), relu])",
};

std::vector<Engine> native_engines() {
  std::vector<Engine> engines_here;
  for (const EngineInfo& engine : engines())
    if (engine.is_native && is_built(engine.engine)) engines_here.push_back(engine.engine);
  return engines_here;
}

ExportedKernel must_export(const char* spec, Engine engine) {
  auto kernel = make_exported("pool", spec, {{ir::Isa::avx2, ir::Isa::avx512}, engine, {}, {}, false});
  EXPECT_TRUE(kernel) << spec << ": " << (kernel ? "" : to_string(kernel.error()));
  return std::move(*kernel);
}

const jit::ElfObject::Symbol& symbol_of(const jit::ElfObject& object, const std::string& name) {
  const auto found = std::ranges::find(object.symbols(), name, &jit::ElfObject::Symbol::name);
  EXPECT_NE(found, object.symbols().end()) << name;
  return *found;
}

// The body of the object is the JIT's code byte by byte, and each constant that it is linked with too.
void expect_same(const jit::ElfObject& object, const std::string& name, const jit::CodeBlob& blob) {
  const auto& text = object.section(jit::SectionId::text);
  const auto& rodata = object.section(jit::SectionId::rodata);
  const jit::ElfObject::Symbol& body = symbol_of(object, name);
  ASSERT_EQ(body.bytes, blob.code.size());
  EXPECT_TRUE(
      std::equal(blob.code.begin(), blob.code.end(), text.bytes.begin() + std::ptrdiff_t(body.offset)))
      << name;
  for (const jit::ConstantReference& reference : constant_references(blob)) {
    const auto relocation = std::ranges::find(text.relocations, body.offset + reference.field,
                                              &jit::ElfObject::Relocation::offset);
    ASSERT_NE(relocation, text.relocations.end());
    const auto linked = static_cast<size_t>(relocation->addend) + (reference.next - reference.field);
    const size_t constants = blob.image.size() - blob.code.size();
    const size_t bytes = std::min<size_t>(64, constants - reference.target);
    ASSERT_LE(linked + bytes, rodata.bytes.size());
    EXPECT_EQ(std::memcmp(&rodata.bytes[linked], &blob.image[reference.target], bytes), 0) << name;
  }
}

TEST(Export, BodiesAreTheJitsBytes) {
  size_t compared = 0, streamed = 0;
  for (const Engine engine : native_engines())
    for (const char* spec : specs) {
      const ExportedKernel kernel = must_export(spec, engine);
      const jit::ElfObject object = make_object({&kernel, 1});
      for (const ExportedCode& exported : kernel.codes) {
        const std::string isa(ir::info(exported.isa).text);
        // Made anew, as pooljit_compile makes it.
        const auto jit_made = info(engine).make(make_nest(kernel.spec), {engine, exported.isa, {}});
        ASSERT_TRUE(jit_made);
        EXPECT_EQ((*jit_made)->info.schedule, exported.code->info.schedule);
        for (const Code* version : (*jit_made)->versions()) {
          const bool is_aligned = version->info.output_alignment > 1;
          expect_same(object, "pool." + isa + (is_aligned ? ".body.aligned" : ".body"),
                      *version->machine()->blob);
          ++compared;
          streamed += is_aligned ? 1 : 0;
        }
      }
    }
  EXPECT_GE(compared, 2 * std::size(specs));
  EXPECT_GT(streamed, 0u);
}

TEST(Export, TheSameInputGivesTheSameBytes) {
  const auto made = [] {
    std::vector<ExportedKernel> kernels;
    std::vector<jit::ArchiveMember> members;
    for (const Engine engine : native_engines()) {
      kernels.push_back(must_export(specs[0], engine));
      kernels.back().name += std::to_string(kernels.size());
      members.push_back({"a.o", make_object({&kernels.back(), 1}).write(), global_symbols(kernels.back())});
    }
    const std::vector<uint8_t> object = make_object(kernels).write(), library = archive(members);
    return std::make_tuple(object, library, export_header(kernels, "GUARD", "pools"),
                           assembly_source(make_object(kernels, false)), info_source(kernels, "a.h"));
  };
  EXPECT_EQ(made(), made());
}

TEST(Export, EveryFunctionHasItsFrame) {
  const ExportedKernel kernel = must_export(specs[0], Engine::xbyak);
  const jit::ElfObject object = make_object({&kernel, 1});
  const auto& frames = object.section(jit::SectionId::eh_frame);
  size_t functions = 0;
  for (const jit::ElfObject::Symbol& symbol : object.symbols()) {
    if (symbol.section != jit::SectionId::text) continue;
    ++functions;
    const auto framed = std::ranges::find_if(frames.relocations, [&](const auto& relocation) {
      return relocation.addend == static_cast<int64_t>(symbol.offset) &&
             jit::number_at<uint32_t>(frames.bytes, relocation.offset + 4) == symbol.bytes;
    });
    EXPECT_NE(framed, frames.relocations.end()) << symbol.name;
  }
  EXPECT_EQ(functions, frames.relocations.size());
}

struct Arguments {
  const char* spec;
  const char* declared;
};
TEST(Export, FunctionsTakeWhatTheSpecNeeds) {
  constexpr Arguments rows[] = {
      {"max_pool2d(float32[8,16,16], kernel_size=2)", "int pool(const void* input, void* output);"},
      {"max_pool2d(float32[1,8,16,16], kernel_size=2)",
       "int pool(const void* input, void* output, int64_t batch);"},
      {"max_pool2d(float32[1,8,16,16], kernel_size=2, return_indices=True)",
       "int pool(const void* input, void* output, void* indices, int64_t batch);"},
      {"max_pool2d_backward(float32[1,8,16,16], kernel_size=2)",
       "int pool(const void* input, void* output, const void* indices, int64_t batch);"},
      {"avg_pool2d_backward(float32[1,8,16,16], kernel_size=2)",
       "int pool(const void* input, void* output, int64_t batch);"},
      {"avg_pool2d(float32[1,8,16,16], kernel_size=2, epilogue=[scale_channel, relu])",
       "int pool(const void* input, void* output, const void* operand0, const void* operand1, "
       "int64_t batch);"},
  };
  for (const Arguments& row : rows) {
    const ExportedKernel kernel = must_export(row.spec, Engine::xbyak);
    EXPECT_NE(export_header({&kernel, 1}, "GUARD", "pools").find(row.declared), std::string::npos)
        << row.spec << "\n"
        << export_header({&kernel, 1}, "GUARD", "pools");
  }
}

}  // namespace
}  // namespace pooljit::runtime
