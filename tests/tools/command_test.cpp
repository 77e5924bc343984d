// The `pooljit` command as its users run it: how it fails (tests/golden/cli/errors.tsv), and what it
// computes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <sstream>

#include "ir/isa.h"
#include "runtime/engines.h"
#include "tools/npy.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using test::Outcome;
using test::read_file;
using test::shell;
using test::TempFolder;
using test::write_file;

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// 0, 1, 2, ... as a file.
template <typename T>
std::string counting(ir::DType dtype, const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t size : shape) count *= static_cast<size_t>(size);
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(i);
  return npy_header(dtype, shape) + bytes_of(values);
}

void write_fixtures(const TempFolder& folder) {
  const std::string x = counting<float>(ir::DType::f32, {1, 2, 4, 4});
  std::string fortran = x;
  fortran.replace(fortran.find("False"), 5, "True ");
  write_file(folder / "x.npy", x);
  write_file(folder / "large.npy", counting<float>(ir::DType::f32, {1, 2, 32, 32}));
  write_file(folder / "f64.npy", counting<double>(ir::DType::f64, {1, 2, 4, 4}));
  write_file(folder / "fortran.npy", fortran);
  write_file(folder / "truncated.npy", x.substr(0, x.size() - 1));
  write_file(folder / "trailing.npy", x + "x");
  write_file(folder / "huge_header.npy", std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12) + x);
  write_file(folder / "empty.npy", "");
  write_file(folder / "specs.txt", "small\tmax_pool1d(float32[1,1,4], kernel_size=2)\n");
}

std::vector<std::string> sorted_names(const TempFolder& folder) {
  std::vector<std::string> names = folder.names();
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Command, ErrorsEndAsTheTableSays) {
  const TempFolder folder;
  write_fixtures(folder);
  const auto before = sorted_names(folder);
  std::istringstream table(read_file(POOLJIT_GOLDEN_DIR "/cli/errors.tsv"));
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with("#")) continue;
#ifdef __SANITIZE_THREAD__
    if (line.find("ulimit -f") != std::string::npos) {
      std::cout << "not run, ThreadSanitizer keeps a file of its own that the limit forbids: " << line
                << "\n";
      continue;
    }
#endif
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    ASSERT_NE(second, std::string::npos) << line;
    const Outcome outcome = shell(line.substr(second + 1), folder);
    EXPECT_EQ(outcome.exit, std::stoi(line.substr(0, first))) << line << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(line.substr(first + 1, second - first - 1)), std::string::npos) << line << "\n"
                                                                                               << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("pooljit: ")) << line << "\n" << outcome.err;
    EXPECT_EQ(sorted_names(folder), before) << line;
    ++rows;
  }
  EXPECT_GT(rows, 40);
}

TEST(Command, TruncatedInputIsFoundAtEveryLength) {
  const TempFolder folder;
  const std::string x = counting<float>(ir::DType::f32, {1, 2, 4, 4});
  for (size_t length = 0; length < x.size(); length += 13) {
    write_file(folder / "x.npy", x.substr(0, length));
    const Outcome outcome = shell(
        "$P run 'max_pool2d(float32[1,2,4,4], kernel_size=2)' --input $T/x.npy --output $T/y.npy", folder);
    EXPECT_EQ(outcome.exit, 3) << length;
    EXPECT_NE(outcome.err.find("npy.truncated"), std::string::npos) << length << outcome.err;
    EXPECT_EQ(folder.names().size(), 1u) << length;
  }
}

std::vector<std::string> backends() {
  std::vector<std::string> names = {"auto"};
  for (const runtime::EngineInfo& engine : runtime::engines())
    if (runtime::is_built(engine.engine)) names.emplace_back(engine.text);
  return names;
}

template <typename T>
void expect_run(const std::string& spec, const std::string& input, ir::DType dtype,
                const std::vector<int64_t>& shape, const std::vector<T>& output,
                const std::vector<int64_t>& indices = {}) {
  for (const std::string& backend : backends()) {
    const TempFolder folder;
    write_file(folder / "x.npy", input);
    std::string line = "$P run '" + spec + "' --input $T/x.npy --output $T/y.npy --backend " + backend;
    if (!indices.empty()) line += " --indices $T/i.npy";
    const Outcome outcome = shell(line, folder);
    ASSERT_EQ(outcome.exit, 0) << line << "\n" << outcome.err;
    EXPECT_EQ(outcome.out + outcome.err, "") << line;
    EXPECT_EQ(read_file(folder / "y.npy"), npy_header(dtype, shape) + bytes_of(output)) << line;
    const std::string expected = npy_header(ir::DType::i64, shape) + bytes_of(indices);
    EXPECT_EQ(read_file(folder / "i.npy"), indices.empty() ? "" : expected) << line;
  }
}

TEST(Command, RunPoolsFilesWithEveryBackEnd) {
  expect_run<float>("max_pool2d(float32[1,2,4,4], kernel_size=2)",
                    counting<float>(ir::DType::f32, {1, 2, 4, 4}), ir::DType::f32, {1, 2, 2, 2},
                    {5, 7, 13, 15, 21, 23, 29, 31});
  expect_run<float>("avg_pool2d(float32[2,4,4], kernel_size=2)", counting<float>(ir::DType::f32, {2, 4, 4}),
                    ir::DType::f32, {2, 2, 2}, {2.5, 4.5, 10.5, 12.5, 18.5, 20.5, 26.5, 28.5});
  expect_run<uint8_t>("avg_pool1d(uint8[1,1,6], kernel_size=3, padding=1, stride=2, count_include_pad=False)",
                      counting<uint8_t>(ir::DType::u8, {1, 1, 6}), ir::DType::u8, {1, 1, 3}, {0, 2, 4});
}

TEST(Command, RunWritesIndices) {
  expect_run<float>("max_pool2d(float32[1,1,4,4], kernel_size=3, stride=2, padding=1, return_indices=True)",
                    counting<float>(ir::DType::f32, {1, 1, 4, 4}), ir::DType::f32, {1, 1, 2, 2},
                    {5, 7, 13, 15}, {5, 7, 13, 15});
}

// The file's axes are in the layout's order: channel 0 and 1 take turns.
TEST(Command, RunReadsChannelsLastAsItLies) {
  expect_run<float>("max_pool2d(float32[1,2,2,4]:nhwc, kernel_size=2, return_indices=True)",
                    counting<float>(ir::DType::f32, {1, 2, 4, 2}), ir::DType::f32, {1, 1, 2, 2},
                    {10, 11, 14, 15}, {5, 5, 7, 7});
}

TEST(Command, RunScattersIntoStrides) {
  expect_run<float>(
      "max_pool2d(float32[1,2,4,4], kernel_size=2, strides=[90,40,10,2], output_strides=[30,13,5,2])",
      counting<float>(ir::DType::f32, {1, 2, 4, 4}), ir::DType::f32, {1, 2, 2, 2},
      {5, 7, 13, 15, 21, 23, 29, 31});
}

TEST(Command, RunReadsWhatTheEpilogueTakes) {
  for (const std::string layout : {"", ":nhwc"}) {
    const bool is_last = !layout.empty();
    const TempFolder folder;
    write_file(folder / "x.npy", counting<float>(ir::DType::f32, {1, 2, 2, 2}));
    write_file(folder / "a.npy", npy_header(ir::DType::f32, {2}) + bytes_of(std::vector<float>{10, 20}));
    write_file(folder / "b.npy", npy_header(ir::DType::f32, {2}) + bytes_of(std::vector<float>{0.5, 0.25}));
    write_file(folder / "y.npy", counting<double>(ir::DType::f64, {1, 2, 2, 2}));
    const Outcome outcome =
        shell("$P run 'max_pool2d(float32[1,2,2,2]" + layout +
                  ", kernel_size=1, epilogue=[scale_channel, add(float64)], output_strides=[90,40,10,2])'"
                  " --input $T/x.npy --output $T/z.npy --operand $T/a.npy --operand $T/b.npy "
                  "--operand $T/y.npy",
              folder);
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    std::vector<float> expected;
    for (int i = 0; i < 8; ++i) {
      const int channel = is_last ? i % 2 : i / 4;
      expected.push_back(static_cast<float>(i * (channel == 0 ? 10 : 20) + i) +
                         (channel == 0 ? 0.5F : 0.25F));
    }
    EXPECT_EQ(read_file(folder / "z.npy"), npy_header(ir::DType::f32, {1, 2, 2, 2}) + bytes_of(expected));
  }
}

// Of several pools: those of the first one's steps, then the next one's.
TEST(Command, RunReadsWhatTheEpiloguesOfSeveralPoolsTake) {
  const TempFolder folder;
  write_file(folder / "x.npy", counting<float>(ir::DType::f32, {1, 2, 2, 2}));
  write_file(folder / "a.npy", npy_header(ir::DType::f32, {2}) + bytes_of(std::vector<float>{10, 20}));
  write_file(folder / "b.npy", counting<float>(ir::DType::f32, {1, 2, 1, 1}));
  const std::string command =
      "$P run 'pools(float32[1,2,2,2], max_pool2d(1, epilogue=[mul_channel]), max_pool2d(2, "
      "epilogue=[add]))' "
      "--input $T/x.npy --output $T/y.npy --output $T/z.npy --operand $T/a.npy";
  const Outcome outcome = shell(command + " --operand $T/b.npy", folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(read_file(folder / "y.npy"), npy_header(ir::DType::f32, {1, 2, 2, 2}) +
                                             bytes_of(std::vector<float>{0, 10, 20, 30, 80, 100, 120, 140}));
  EXPECT_EQ(read_file(folder / "z.npy"),
            npy_header(ir::DType::f32, {1, 2, 1, 1}) + bytes_of(std::vector<float>{3, 8}));
  const Outcome refused = shell(command, folder);
  EXPECT_NE(refused.exit, 0);
  EXPECT_NE(refused.err.find("run.operands"), std::string::npos) << refused.err;
}

TEST(Command, AnEmptyBatchGivesAnEmptyFile) {
  expect_run<float>("max_pool2d(float32[0,2,4,4], kernel_size=2)",
                    counting<float>(ir::DType::f32, {0, 2, 4, 4}), ir::DType::f32, {0, 2, 2, 2}, {});
}

TEST(Command, OutputMayReplaceTheInput) {
  const TempFolder folder;
  write_file(folder / "x.npy", counting<float>(ir::DType::f32, {1, 1, 4}));
  const Outcome outcome =
      shell("$P run 'max_pool1d(float32[1,1,4], kernel_size=2)' --input $T/x.npy --output $T/x.npy", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(read_file(folder / "x.npy"),
            npy_header(ir::DType::f32, {1, 1, 2}) + bytes_of(std::vector<float>{1, 3}));
}

TEST(Command, HelpIsThereForEverySubcommand) {
  const TempFolder folder;
  const Outcome main = shell("$P --help", folder);
  EXPECT_EQ(main.exit, 0);
  EXPECT_NE(main.out.find("Exit codes:"), std::string::npos);
  for (const std::string command : {"run", "show", "check", "bench", "list", "version"}) {
    EXPECT_NE(main.out.find("\n  " + command), std::string::npos) << command;
    EXPECT_EQ(shell("$P " + command + " --help", folder).exit, 0) << command;
  }
}

TEST(Command, VersionIsPrintedBothWays) {
  const TempFolder folder;
  const std::string version = "pooljit " POOLJIT_VERSION "\n";
  EXPECT_EQ(shell("$P --version", folder).out, version);
  EXPECT_EQ(shell("$P version", folder).out, version);
}

TEST(Command, ListComesFromTheTables) {
  const TempFolder folder;
  const Outcome list = shell("$P list", folder);
  EXPECT_EQ(list.exit, 0);
  for (const ir::DTypeInfo& row : ir::dtype_table)
    EXPECT_EQ(list.out.find(fmt::format("  {} ", row.spec_name)) != std::string::npos, row.tensor)
        << row.spec_name;
  for (const ir::IsaInfo& row : ir::isa_table)
    EXPECT_NE(list.out.find(fmt::format("  {} ", row.text)), std::string::npos) << row.text;
}

}  // namespace
}  // namespace pooljit::tools
