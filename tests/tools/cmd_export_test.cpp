// `pooljit export`, run as its users run it: what it writes is linked without libpooljit and called, with
// guard pages at every buffer.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <vector>

#include "export/kernel.h"
#include "lab/check_case.h"
#include "runtime/compile.h"
#include "runtime/cpu_features.h"
#include "runtime/tuning/workload.h"
#include "tests/tools/expect_pools.h"
#include "tests/tools/shell.h"
#include "tools/problem_file.h"

namespace pooljit::test {
namespace {

const std::string networks = POOLJIT_SOURCE_DIR "/bench/problems/networks.txt";

// --- calling what was exported

// C functions of any of these arguments: what is too much is not looked at.
using Function = int (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

class Exported {
 public:
  explicit Exported(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW)) {
    if (!library_) throw std::runtime_error(dlerror());
  }
  ~Exported() { dlclose(library_); }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;

  int call(const std::string& name, const frontend::PoolSpec& spec, const runtime::Call& call,
           std::initializer_list<uint64_t> more = {}) const {
    const auto word = [](const void* pointer) { return reinterpret_cast<uint64_t>(pointer); };
    std::vector<uint64_t> arguments = {word(call.input), word(call.output)};
    if (has_indices(spec)) arguments.push_back(word(call.indices));
    const size_t operands = operand_views(make_nest(spec)).size();
    for (size_t i = 0; i < operands; ++i) arguments.push_back(word(call.operands[i]));
    if (spec.batch) arguments.push_back(uint64_t(call.batch));
    arguments.insert(arguments.end(), more);
    return call_with(name, arguments);
  }

  int call_with(const std::string& name, std::vector<uint64_t> a) const {
    auto* const function = reinterpret_cast<Function>(dlsym(library_, name.c_str()));
    if (!function) throw std::runtime_error("no function " + name);
    a.resize(16);
    return function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                    a[14], a[15]);
  }

 private:
  void* library_;
};

// FILE of specs -> $T/pools.so, of nothing but what was exported.
void export_and_link(const TempFolder& folder, const std::string& file, const std::string& options) {
  const Outcome done =
      shell("$P export --file '" + file + "' -o $T/libpools.a --header $T/pools.h " + options +
                " && cc -shared -o $T/pools.so -Wl,--whole-archive $T/libpools.a -Wl,--no-whole-archive "
                "-nostdlib -Wl,-z,text,-z,noexecstack,--fatal-warnings && test -z \"$(nm -u $T/libpools.a | "
                "grep -w U)\"",
            folder);
  ASSERT_EQ(done.exit, 0) << done.out << done.err;
}

std::string function_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == '-' || c == '.'; }, '_');
  return name;
}

void expect_right(const Exported& exported, const tools::Problem& problem, runtime::DataKind kind) {
  const auto spec = *frontend::parse_spec(problem.spec);
  const ir::PoolNest nest = make_nest(spec);
  const int64_t batch = std::min<int64_t>(spec.batch.value_or(1), 2);
  auto made = runtime::Case::make(nest, kind, batch, 7);
  ASSERT_TRUE(made) << to_string(made.error());
  const std::string name = function_name(problem.name);
  const auto expect = [&](const char* how, size_t place, int code) {
    EXPECT_EQ(code, 0) << name << how;
    if (const auto objection = made->objection(nest, place))
      ADD_FAILURE() << name << how << ": " << *objection;
  };
  made->clear_outputs(0);
  expect("", 0, exported.call(name, spec, made->call(0)));
  // In the other place, in three parts and a control word of the caller's.
  made->clear_outputs(1);
  const unsigned before = _mm_getcsr();
  constexpr unsigned flush_and_truncate = 0xffc0;
  _mm_setcsr(flush_and_truncate);
  int code = 0;
  for (const uint64_t part : {2, 0, 1}) code |= exported.call(name + "_part", spec, made->call(1), {part, 3});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & flush_and_truncate, flush_and_truncate) << name;
  expect("_part", 1, code);
  // The body of AVX2, with scratch memory of the caller's.
  alignas(64) static std::array<std::byte, ir::most_scratch_bytes> scratch;
  made->clear_outputs(0);
  expect("_part_with_avx2", 0,
         exported.call(name + "_part_with_avx2", spec, made->call(0),
                       {0, 1, reinterpret_cast<uint64_t>(scratch.data())}));
}

TEST(Export, KernelsOfNetworksAreRight) {
  if (!runtime::best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  const TempFolder folder;
  export_and_link(folder, networks, "--isa avx512,avx2");
  const Exported exported(folder / "pools.so");
  const auto problems = tools::read_problems(networks);
  ASSERT_TRUE(problems);
  for (size_t i = 0; i < problems->size(); ++i)
    expect_right(exported, (*problems)[i],
                 i % 2 == 0 ? runtime::DataKind::special : runtime::DataKind::plain);
}

constexpr const char* kinds_of_specs =
    "indices\tmax_pool2d(float32[2,8,17,19]:nhwc, kernel_size=3, return_indices=True)\n"
    "backward\tavg_pool2d_backward(float32[2,8,16,16], kernel_size=2)\n"
    "operands\tavg_pool2d(float32[2,8,16,16], kernel_size=2, epilogue=[scale_channel, add(float32), "
    "mul_channel, add_channel])\n"
    "unbatched\tmax_pool1d(int16[3,40], kernel_size=5)\n"
    "scratch\tmax_pool2d(float32[2,16,40,40]:nhwc, kernel_size=13, stride=1, padding=6)\n"
    "bytes\tavg_pool3d(uint8[1,4,9,9,9], kernel_size=3, stride=2)\n";

// One function for all of them: input, outputs, arrays of indices.
TEST(Export, SeveralPoolsAreRight) {
  if (!runtime::best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  const char* const specs =
      "spp\tpools(float32[2,16,19,19], max_pool2d(5, 1, 2), max_pool2d(9, 1, 4), concat=True, "
      "include_input=True)\n"
      "apart\tpools(uint8[1,12,9,9]:nhwc, max_pool2d(3, 1, 1), max_pool2d(2, return_indices=True), "
      "sum_pool2d(3), "
      "max_pool2d(4, return_indices=True))\n";
  const TempFolder folder;
  write_file(folder / "specs", specs);
  export_and_link(folder, folder / "specs", "--isa avx2,avx512");
  const std::string header = read_file(folder / "pools.h");
  EXPECT_NE(header.find("int spp(const void* input, void* output, int64_t batch);"), std::string::npos)
      << header;
  EXPECT_NE(
      header.find("int apart(const void* input, void* output0, void* output1, void* output2, void* output3, "
                  "void* indices0, void* indices1, int64_t batch);"),
      std::string::npos)
      << header;
  const Exported exported(folder / "pools.so");
  const auto problems = tools::read_problems(folder / "specs");
  ASSERT_TRUE(problems);
  for (const tools::Problem& problem : *problems)
    expect_pools(problem.spec, [&](const void* input, std::span<void* const> outputs,
                                   std::span<void* const> indices, int part, int parts) {
      std::vector<uint64_t> all = {reinterpret_cast<uint64_t>(input)};
      for (const auto& pointers : {outputs, indices})
        for (void* const pointer : pointers) all.push_back(reinterpret_cast<uint64_t>(pointer));
      all.push_back(uint64_t(*frontend::parse_spec(problem.spec)->batch));
      if (parts > 0) all.insert(all.end(), {uint64_t(part), uint64_t(parts)});
      return exported.call_with(problem.name + (parts > 0 ? "_part" : ""), all);
    });
}

class ExportBackend : public testing::TestWithParam<const char*> {};
TEST_P(ExportBackend, KindsOfSpecsAreRight) {
  if (!runtime::best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  if (!runtime::is_built(*runtime::find_engine(GetParam()))) GTEST_SKIP() << "this build lacks it";
  const TempFolder folder;
  write_file(folder / "specs", kinds_of_specs);
  export_and_link(folder, folder / "specs", std::string("--isa avx2 --backend ") + GetParam());
  const Exported exported(folder / "pools.so");
  const auto problems = tools::read_problems(folder / "specs");
  for (const tools::Problem& problem : *problems) expect_right(exported, problem, runtime::DataKind::plain);
}
INSTANTIATE_TEST_SUITE_P(All, ExportBackend, testing::Values("xbyak", "llvm"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Export, StreamsOnlyToAlignedOutputs) {
  if (!runtime::best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  const TempFolder folder;
  const Outcome done = shell(
      "cd $T && $P export 'max_pool2d(float32[1,16,8,8]:nhwc, kernel_size=2)' --name pool --isa avx2 -o "
      "pool.o "
      "--schedule 'channels_last(lanes=8, scan=windows, tap_code=straight, tail=mask, "
      "stores=streamed)' "
      "&& objdump -d pool.o | grep -q vmovntps && cc -shared pool.o -o pools.so",
      folder);
  ASSERT_EQ(done.exit, 0) << done.out << done.err;
  const Exported exported(folder / "pools.so");
  const auto spec = *frontend::parse_spec("max_pool2d(float32[1,16,8,8]:nhwc, kernel_size=2)");
  constexpr size_t inputs = 16 * 8 * 8, outputs = 16 * 4 * 4;
  std::array<float, inputs> input{};
  for (size_t i = 0; i < inputs; ++i) input[i] = static_cast<float>(i * 37 % 101);
  alignas(64) std::array<float, outputs + 1> aligned{}, shifted{};
  runtime::Call call{input.data(), aligned.data(), nullptr, 1};
  EXPECT_EQ(exported.call("pool", spec, call), 0);
  call.output = &shifted[1];
  EXPECT_EQ(exported.call("pool", spec, call), 0);
  EXPECT_GT(aligned[0], 0);
  EXPECT_TRUE(std::equal(aligned.begin(), aligned.end() - 1, shifted.begin() + 1));
}

TEST(Export, ABatchWhoseIndicesDoNotFitIsInvalid) {
  if (!runtime::best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  const std::string text =
      "max_pool1d(float32[N,32768,32768], kernel_size=2, return_indices=True, index_dtype=int32, "
      "index_scope=tensor)";
  const TempFolder folder;
  const Outcome done = shell(
      "cd $T && $P export '" + text + "' --name pool -o pool.o && cc -shared pool.o -o pools.so", folder);
  ASSERT_EQ(done.exit, 0) << done.out << done.err;
  const Exported exported(folder / "pools.so");
  float nothing[3] = {};
  runtime::Call call{&nothing[0], &nothing[1], &nothing[2], 2};
  EXPECT_EQ(exported.call("pool", *frontend::parse_spec(text), call), 1);
  call.batch = 0;
  EXPECT_EQ(exported.call("pool", *frontend::parse_spec(text), call), 0);
}

// --- what is written

constexpr const char* stem =
    "'max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)' --name stem ";

TEST(Export, SourcesGiveTheSameBytes) {
  const TempFolder folder;
  const Outcome done = shell(
      std::string("set -e; cd $T; $P export ") + stem +
          "-o stem.o --header stem.h --source src >/dev/null\n"
          "cc -c src/stem.S -o assembled.o; cc -Wall -Wextra -Wpedantic -Werror -c src/stem.c -o info.o\n"
          "for section in .text .rodata; do for object in stem assembled; do\n"
          "  objcopy -O binary -j $section $object.o $object$section; done; done\n"
          "cmp stem.text assembled.text\n"
          "cmp -n $(stat -c %s assembled.rodata) stem.rodata assembled.rodata\n"
          "cc -Wall -Wextra -Wpedantic -Werror -x c -fsyntax-only stem.h; c++ -fsyntax-only -x c++ stem.h\n"
          "readelf -n stem.o | grep -q 'IBT, SHSTK'; readelf -n assembled.o | grep -q 'IBT, SHSTK'\n"
          "readelf -WS stem.o | grep -q 'note.GNU-stack'; cmp stem.h src/stem.h\n"
          "POOLJIT_NAMES=gdb $P export " +
          stem + "-o again.o >/dev/null; cmp stem.o again.o",
      folder);
  EXPECT_EQ(done.exit, 0) << done.out << done.err;
}

TEST(Export, VerifyProvesAndSaysSo) {
  if (!runtime::best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  const TempFolder folder;
  const Outcome done = shell(
      "cd $T && $P export 'max_pool1d(float32[1,2,8], kernel_size=2)' --name tiny --isa avx2 --verify -o "
      "tiny.o "
      "--header tiny.h && grep -q proved tiny.h && strings tiny.o | grep -q proved",
      folder);
  EXPECT_EQ(done.exit, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("\nproved 1 body in "), std::string::npos) << done.out;
}

// What `pooljit onnx MODEL` prints is a file of specs: names of nodes, several joined by " + ", and notes.
TEST(Export, NamesOfNodesBecomeIdentifiers) {
  const TempFolder folder;
  write_file(folder / "pools.txt",
             "/a/MaxPool\tmax_pool1d(float32[1,2,8], kernel_size=2)\tdequantize + /a/MaxPool + quantize\n"
             "pool1 + pool2:0\tpools(float32[1,2,8], max_pool1d(2), max_pool1d(4))\n");
  const Outcome done = shell(
      "cd $T && $P export --file pools.txt --isa avx2 -o pools.a --header pools.h && "
      "grep -q 'int _a_MaxPool(' pools.h && grep -q 'int pool1_pool2_0(' pools.h",
      folder);
  EXPECT_EQ(done.exit, 0) << done.out << done.err;
}

struct Refusal {
  const char* name;
  const char* line;
  int exit;
  const char* said;
};
constexpr Refusal refusals[] = {
    {"bad_spec",
     "printf 'a\\tmax_pool2d(float32[1,1,4,4], kernel_size=2)\\n\\nb\\tmax_pool2d(float32[1,1,4,4])\\n' "
     ">$T/f; $P export --file $T/f -o $T/out.a --header $T/out.h",
     3, "/f:3: "},
    {"same_name",
     "printf 'a/b\\tmax_pool1d(float32[1,1,4], kernel_size=2)\\na-b\\tmax_pool1d(float32[1,1,4], "
     "kernel_size=2)\\n' >$T/f; $P export --file $T/f -o $T/out.a",
     3, "export.same_name"},
    {"name_of_a_part",
     "printf 'a\\tmax_pool1d(float32[1,1,4], kernel_size=2)\\na_part\\tmax_pool1d(float32[1,1,4], "
     "kernel_size=2)\\n' >$T/f; $P export --file $T/f -o $T/out.a",
     3, "line 1 defines a_part too"},
    {"name_of_a_run",
     "printf 'a\\tmax_pool1d(float32[1,1,4], kernel_size=2)\\na_run\\tmax_pool1d(float32[1,1,L], "
     "kernel_size=2)\\n' >$T/f; $P export --file $T/f -o $T/out.a",
     3, "line 1 defines a_run too"},
    {"name_of_the_table",
     "$P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name x_find -o $T/x.o --header $T/x.h", 3,
     "export.same_name"},
    {"name_of_ours", "$P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name pooljit_run -o $T/out.o",
     3, "export.name"},
    {"no_name", "echo 'max_pool1d(float32[1,1,4], kernel_size=2)' >$T/f; $P export --file $T/f -o $T/out.a",
     3, "export.name"},
    {"no_identifier", "$P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name 7up -o $T/out.o", 3,
     "export.name"},
    {"a_keyword", "$P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name int -o $T/out.o", 3,
     "export.name"},
    {"schedule",
     "$P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name a --schedule 'channels_last(lanes=16)' "
     "--isa avx2 -o $T/out.o",
     3, "schedule."},
    {"unpool", "$P export 'max_unpool2d(float32[1,1,4,4], kernel_size=2)' --name a -o $T/out.o", 4,
     "export.unpool"},
    {"isa", "$P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name a --isa sse -o $T/out.o", 3,
     "runtime.options"},
    {"backend",
     "$P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name a --backend reference -o $T/out.o", 4,
     "backend.missing"},
    {"no_output", "$P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name a", 2, "--output"},
    {"no_folder",
     "$P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name a -o $T/no/out.o --header $T/out.h", 5,
     "file.create"},
    {"verify_elsewhere",
     "POOLJIT_MAX_ISA=avx2 $P export 'max_pool1d(float32[1,1,4], kernel_size=2)' --name a --verify --isa "
     "avx512 -o $T/out.o",
     4, "export.verify"},
};

class ExportRefuses : public testing::TestWithParam<Refusal> {};
TEST_P(ExportRefuses, AndWritesNothing) {
  const Refusal& refusal = GetParam();
  const TempFolder folder;
  const Outcome done = shell(refusal.line, folder);
  EXPECT_EQ(done.exit, refusal.exit) << done.err;
  EXPECT_NE(done.err.find(refusal.said), std::string::npos) << done.err;
  for (const std::string& name : folder.names()) EXPECT_EQ(name, "f");
}
INSTANTIATE_TEST_SUITE_P(All, ExportRefuses, testing::ValuesIn(refusals),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Export, AnIsaThatThisMachineLacksIsOnlyEmitted) {
  const TempFolder folder;
  const Outcome done =
      shell(std::string("POOLJIT_MAX_ISA=none $P export ") + stem + "--isa avx512 -o $T/stem.o", folder);
  EXPECT_EQ(done.exit, 0) << done.err;
}

}  // namespace
}  // namespace pooljit::test
