// `pooljit export` of specs with free dims, run as its users run it: a program that is linked with the object
// and with libpooljit.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/check_case.h"
#include "runtime/cpu_features.h"
#include "tests/tools/expect_pools.h"
#include "tests/tools/shell.h"
#include "tools/problem_file.h"

namespace pooljit::test {
namespace {

constexpr const char* free_specs =
    "rows\tmax_pool2d(float32[N,3,H,W], kernel_size=3, stride=2, padding=1)\n"
    "pixels\tavg_pool2d(float32[2,24,H,W]:nhwc, kernel_size=3, padding=1, count_include_pad=False)\n"
    "indices\tmax_pool2d(uint8[2,8,H,W], kernel_size=3, return_indices=True)\n"
    "backward\tmax_pool2d_backward(float32[2,3,H,W], kernel_size=3, stride=2)\n"
    "operands\tavg_pool2d(float32[2,8,H,W], kernel_size=2, epilogue=[scale_channel, add(float32), relu])\n"
    "unbatched\tmax_pool1d(int16[3,L], kernel_size=5)\n"
    "scratch\tmax_pool2d(float32[2,16,H,W]:nhwc, kernel_size=13, stride=1, padding=6)\n"
    "bytes\tavg_pool3d(uint8[1,4,D,H,9], kernel_size=3, stride=2)\n"
    "far\tadaptive_max_pool2d(float32[1,1,H,W], output_size=[3,2])\n"
    "everywhere\tglobal_avg_pool2d(float32[N,5,H,W])\n"
    "bins\tadaptive_max_pool2d(float32[N,5,H,W]:nhwc, output_size=[3,2])\n"
    "spp\tpools(float32[2,16,H,W], max_pool2d(5, 1, 2), max_pool2d(9, 1, 4), concat=True, "
    "include_input=True)\n"
    "apart\tpools(uint8[1,12,H,W]:nhwc, max_pool2d(3, 1, 1), max_pool2d(2, return_indices=True))\n";

// A program's own functions: those of the table, and what they can be asked.
constexpr const char* free_program = R"(#include "pools.h"
int call(const char* name, const void* input, void* const* outputs, void* const* indices,
         const void* const* operands, int64_t batch, int part, int parts, void* scratch, const int64_t* dims) {
  const pooljit_export_kernel* const kernel = pools_find(name);
  const pooljit_export_args args = {input, outputs, indices, operands, batch, part, parts, scratch, dims};
  return kernel ? kernel->run(&args) : 9;
}
int direct(const void* input, void* output, int64_t batch, const int64_t* dims) {
  return rows(input, output, batch, dims);
}
const char* reason(void) { return pooljit_last_error(); }
int64_t known_sizes(void) {
  return rows_info.input.shape[1] == 3 && rows_info.input.shape[2] == 0 && rows_info.input.strides[3] == 1 &&
         rows_info.input.strides[2] == 0 && rows_info.output.bytes == 0 && bins_info.output.shape[2] == 3 &&
         bytes_info.input.shape[4] == 9;
}
int links(void) {
  pooljit_kernel* kernel = 0;
  pooljit_info info = {sizeof info};
  const int code = pooljit_link(&pixels_code, &kernel) || pooljit_kernel_info(kernel, &info);
  const int is_it = !code && info.free_dims == 3 && info.code_bytes > 0;
  pooljit_release(kernel);
  return is_it;
}
)";

class FreeKernels {
 public:
  FreeKernels(const TempFolder& folder, const std::string& options) {
    write_file(folder / "specs", free_specs);
    write_file(folder / "program.c", free_program);
    const std::string library = POOLJIT_LIBRARY;
    const std::string at = library.substr(0, library.rfind('/'));
    const Outcome done = shell(
        "set -e; cd $T; $P export --file specs -o libpools.a --header pools.h " + options +
            "; cc -Wall -Wextra -Werror -Wno-missing-field-initializers -shared -fPIC -I'" POOLJIT_SOURCE_DIR
            "/include' program.c libpools.a -L'" +
            at + "' -lpooljit -Wl,-rpath,'" + at +
            "' -Wl,-z,text,-z,noexecstack,--fatal-warnings -o pools.so; c++ -fsyntax-only "
            "-I'" POOLJIT_SOURCE_DIR "/include' -x c++ pools.h",
        folder);
    if (done.exit != 0) throw std::runtime_error(done.out + done.err);
    library_ = dlopen((folder / "pools.so").c_str(), RTLD_NOW);
    if (!library_) throw std::runtime_error(dlerror());
  }
  ~FreeKernels() { dlclose(library_); }
  FreeKernels(const FreeKernels&) = delete;
  FreeKernels& operator=(const FreeKernels&) = delete;

  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
  int call(const std::string& name, const runtime::Call& call, std::span<void* const> outputs,
           std::span<void* const> indices, std::array<int, 2> share, const std::vector<int64_t>& dims) const {
    using Call = int(const char*, const void*, void* const*, void* const*, const void* const*, int64_t, int,
                     int, void*, const int64_t*);
    return find<Call>("call")(name.c_str(), call.input, outputs.data(), indices.data(), call.operands.data(),
                              call.batch, share[0], share[1], call.scratch, dims.data());
  }
  std::string reason() const { return find<const char*()>("reason")(); }

 private:
  void* library_;
};

// The extents of sizes, for as many dims as the spec has.
std::vector<std::vector<int64_t>> sizes_of(const frontend::PoolSpec& spec) {
  if (spec.dims.size() == 1) return {{5}, {40}, {129}};
  if (spec.dims.size() == 3) return {{3, 3, 9}, {9, 12, 9}};
  return {{13, 14}, {23, 40}, {14, 67}};
}

void expect_right(const FreeKernels& exported, const std::string& name, const frontend::PoolSpec& spec) {
  const ir::PoolNest nest = make_nest(spec);
  std::vector<int64_t> dims;
  for (const frontend::SpecDim& dim : spec.dims) dims.push_back(dim.input);
  auto made = runtime::Case::make(nest, runtime::DataKind::special, spec.batch.value_or(1), 7);
  ASSERT_TRUE(made) << to_string(made.error());
  alignas(64) static std::array<std::byte, ir::most_scratch_bytes> scratch;
  const auto expect = [&](size_t place, const std::vector<std::array<int, 2>>& shares, bool has_scratch) {
    made->clear_outputs(place);
    runtime::Call call = made->call(place);
    call.batch = spec.batch ? call.batch : 0;
    call.scratch = has_scratch ? scratch.data() : nullptr;
    for (const auto& share : shares)
      EXPECT_EQ(exported.call(name, call, {&call.output, 1}, {&call.indices, 1}, share, dims), 0)
          << name << ": " << exported.reason();
    if (const auto objection = made->objection(nest, place)) ADD_FAILURE() << name << ": " << *objection;
  };
  expect(0, {{0, 0}}, false);
  expect(1, {{2, 3}, {0, 3}, {1, 3}}, false);
  expect(0, {{0, 1}}, true);
}

TEST(Export, KernelsOfAllSizesAreRight) {
  if (!runtime::best_isa()) GTEST_SKIP() << "this machine runs no machine code of ours";
  for (const char* options : {"--isa avx2,avx512", "--isa avx2"}) {
    const TempFolder folder;
    const FreeKernels exported(folder, options);
    const auto problems = tools::read_problems(folder / "specs");
    ASSERT_TRUE(problems);
    for (const tools::Problem& problem : *problems) {
      const auto spec = *frontend::parse_spec(problem.spec, frontend::FreeDims::allowed);
      for (const std::vector<int64_t>& dims : sizes_of(spec)) {
        const auto sized = with_sizes(spec, dims);
        ASSERT_TRUE(sized) << to_string(sized.error());
        if (!is_pools(spec)) {
          expect_right(exported, problem.name, *sized);
          continue;
        }
        expect_pools(print(*sized), [&](const void* input, std::span<void* const> outputs,
                                        std::span<void* const> indices, int part, int parts) {
          runtime::Call call;
          call.input = input, call.batch = *sized->batch;
          return exported.call(problem.name, call, outputs, indices, {part, parts}, dims);
        });
      }
    }
    EXPECT_TRUE(exported.find<int64_t()>("known_sizes")());
    EXPECT_TRUE(exported.find<int()>("links")());
    // Refused with a reason, and nothing written.
    float values[64] = {};
    const int64_t dims[] = {4, 0}, most[] = {int64_t{1} << 40, int64_t{1} << 40};
    const auto direct = exported.find<int(const void*, void*, int64_t, const int64_t*)>("direct");
    EXPECT_EQ(direct(values, values + 48, 1, dims), 1);
    EXPECT_NE(exported.reason().find("spec.size"), std::string::npos) << exported.reason();
    EXPECT_EQ(direct(values, values + 48, 1, most), 1);
    std::vector<float> row(2 * 3000);
    runtime::Call call;
    call.input = row.data(), call.batch = 1;
    void* const outputs[] = {values};
    EXPECT_EQ(exported.call("far", call, outputs, {}, {0, 0}, {2, 3000}), 2);
    EXPECT_NE(exported.reason().find("general.window"), std::string::npos) << exported.reason();
    EXPECT_EQ(exported.call("far", call, outputs, {}, {0, -1}, {2, 30}), 1);
    EXPECT_NE(exported.reason().find("run.part"), std::string::npos) << exported.reason();
    EXPECT_EQ(direct(values, values + 48, 1, nullptr), 1);
    EXPECT_NE(exported.reason().find("run.dims"), std::string::npos) << exported.reason();
  }
}

}  // namespace
}  // namespace pooljit::test
