// Prints what each shape of some problem files becomes under every operator of plain pooling, dtype and
// layout below, `NAME<TAB>SPEC` a line and each spec once, for `pooljit check --file`: the shapes of real
// networks in all the ways that an engine is asked for them.
//   print_problems FILE...
#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <string>

#include "frontend/check.h"
#include "tools/problem_file.h"

namespace {

using pooljit::frontend::Layout;
using pooljit::frontend::PoolSpec;
using pooljit::ir::DType;
using pooljit::ir::Reduction;

struct Operator {
  const char* name;
  Reduction reduction;
  bool count_include_pad;
};
constexpr Operator operators[] = {{"max", Reduction::max, true},
                                  {"avg_include", Reduction::avg, true},
                                  {"avg_exclude", Reduction::avg, false}};
constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::f16, DType::i8, DType::u8};
constexpr Layout layouts[] = {Layout::nchw, Layout::nhwc};

// Only the shape of `problem` is left.
PoolSpec variant(const PoolSpec& problem, const Operator& op, DType dtype, Layout layout) {
  PoolSpec spec;
  spec.reduction = op.reduction;
  // Windows of an adaptive pooling have no padding to count.
  spec.count_include_pad = op.count_include_pad || is_adaptive(problem);
  spec.dtype = dtype;
  spec.batch = problem.batch;
  spec.channels = problem.channels;
  spec.dims = problem.dims;
  spec.layout = layout;
  spec.ceil_mode = problem.ceil_mode;
  return spec;
}

// Whether all could be made: every shape stands under every operator.
bool print_variants(const std::string& file, std::set<std::string>& seen) {
  const auto problems = pooljit::tools::read_problems(file);
  if (!problems) {
    fmt::print(stderr, "{}\n", pooljit::ir::to_string(problems.error()));
    return false;
  }
  bool is_whole = true;
  for (const pooljit::tools::Problem& problem : *problems) {
    const auto spec = pooljit::frontend::parse_spec(problem.spec);
    if (!spec) {
      fmt::print(stderr, "{}: {}\n", problem.name, pooljit::ir::to_string(spec.error()));
      is_whole = false;
      continue;
    }
    for (const Operator& op : operators)
      for (const DType dtype : dtypes)
        for (const Layout layout : layouts) {
          const auto checked = pooljit::frontend::check_spec(variant(*spec, op, dtype, layout));
          if (!checked) {
            fmt::print(stderr, "{} {}: {}\n", problem.name, op.name, pooljit::ir::to_string(checked.error()));
            is_whole = false;
          } else if (std::string text = print(*checked); seen.insert(text).second) {
            fmt::print("{}\t{}\n", problem.name, text);
          }
        }
  }
  return is_whole;
}

}  // namespace

int main(int argc, char** argv) {
  std::set<std::string> seen;
  bool is_whole = true;
  for (int i = 1; i < argc; ++i) is_whole = print_variants(argv[i], seen) && is_whole;
  return is_whole ? 0 : 1;
}
