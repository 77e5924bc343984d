// What `pooljit fuzz` keeps: findings in folders that others can run, and a campaign that goes on.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "frontend/pool_spec.h"
#include "tests/fuzz/campaign.h"
#include "tests/tools/shell.h"
#include "tools/fuzz/snippets.h"

namespace pooljit::fuzz {
namespace {

using test::read_file;
using test::shell;
using test::TempFolder;

std::string against(const std::string& fault) { return " --against " + toy(fault); }

// The folders in a folder of findings.
std::vector<std::filesystem::path> folders_in(const std::string& path) {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(path)) folders.push_back(entry.path());
  return folders;
}

TEST(Saved, AFindingIsAFolderAndIsReplayed) {
  const TempFolder folder;
  const std::string campaign = "$P fuzz --seed 3 --count 300 --failures 1 --save $T/found --json";
  const test::Outcome found = shell(campaign + against("dropped_tap"), folder);
  ASSERT_EQ(found.exit, 1) << found.out << found.err;
  const auto folders = folders_in(folder / "found");
  ASSERT_EQ(folders.size(), 1U);
  for (const char* file :
       {"finding.json", "spec.txt", "model.onnx", "inputs.npz", "expected.npz", "repro.py"})
    EXPECT_GT(std::filesystem::file_size(folders[0] / file), 0U) << file;
  const auto said = nlohmann::json::parse(read_file(folders[0] / "finding.json"));
  EXPECT_EQ(said["spec"].get<std::string>() + "\n", read_file(folders[0] / "spec.txt"));
  // The engine that has the fault shows it again, another one does not.
  EXPECT_EQ(shell("$P fuzz --replay $T/found" + against("dropped_tap"), folder).exit, 1);
  const test::Outcome right = shell("$P fuzz --replay $T/found" + against("right"), folder);
  EXPECT_EQ(right.exit, 0) << right.out;
  EXPECT_NE(right.out.find("1 of 1 saved cases: 1 pass, 0 fail"), std::string::npos) << right.out;
  EXPECT_EQ(shell("$P fuzz --replay $T/found", folder).exit, 0);  // pooljit itself
  // Other programs read it.
  const test::Outcome read = shell(
      "/usr/bin/python3 -c 'import numpy, sys; f = sys.argv[1]; x = numpy.load(f + \"/inputs.npz\")[\"x\"]; "
      "y = numpy.load(f + \"/expected.npz\")[\"y\"]; print(x.dtype, x.ndim, y.ndim)' " +
          folders[0].string(),
      folder);
  EXPECT_EQ(read.out, "float32 4 4\n") << read.err;
  EXPECT_EQ(shell("/usr/bin/python3 -m py_compile " + (folders[0] / "repro.py").string(), folder).exit, 0);
}

TEST(Saved, WhatIsNoFindingIsRefused) {
  const TempFolder folder;
  const test::Outcome none = shell("$P fuzz --replay $T", folder);
  EXPECT_EQ(none.exit, 3);
  EXPECT_NE(none.err.find("fuzz.saved"), std::string::npos) << none.err;
  test::write_file(folder / "finding.json", "{}");
  EXPECT_EQ(shell("$P fuzz --replay $T", folder).exit, 3);
  test::write_file(folder / "campaign.json", "{}");
  const test::Outcome corpus = shell("$P fuzz --count 1 --corpus $T", folder);
  EXPECT_EQ(corpus.exit, 3);
  EXPECT_NE(corpus.err.find("fuzz.corpus"), std::string::npos) << corpus.err;
}

TEST(Corpus, IsContinued) {
  const TempFolder folder;
  const std::string campaign = "$P fuzz --count 30 --json --corpus $T/kept" + against("right");
  const auto first =
      summary_of(shell("$P fuzz --seed 4 --count 30 --json --corpus $T/kept" + against("right"), folder).out);
  EXPECT_EQ(first["next"], 30);
  const auto second = summary_of(shell(campaign, folder).out);
  EXPECT_EQ(second["seed"], 4);
  EXPECT_EQ(second["first"], 30);
  EXPECT_EQ(second["next"], 60);
  EXPECT_GT(second["cases"], 40) << "the kept ones are tried, too";
  EXPECT_GT(second["coverage"]["pairs_compared"], first["coverage"]["pairs_compared"]);
  // What was kept finds a fault without a new case being drawn, and the finding stays.
  const test::Outcome broken =
      shell("$P fuzz --count 1 --failures 1 --corpus $T/kept" + against("dropped_tap"), folder);
  EXPECT_EQ(broken.exit, 1) << broken.out << broken.err;
  EXPECT_NE(broken.out.find("a kept case: "), std::string::npos) << broken.out;
  EXPECT_EQ(folders_in(folder / "kept/findings").size(), 1U);
}

TEST(Corpus, ACampaignThatDoesNotBeginLeavesNoFolder) {
  const TempFolder folder;
  EXPECT_EQ(shell("$P fuzz --count 1 --only softmax --corpus $T/kept", folder).exit, 4);
  EXPECT_FALSE(std::filesystem::exists(folder / "kept"));
  // Stopped while the library is asked what it does: at once, for there is nothing to sum up.
  const test::Outcome stopped = shell("$P fuzz --case-seconds 3 --corpus $T/kept" + against("hangs") +
                                          " & pid=$!\nsleep 0.5; kill -TERM $pid; wait $pid",
                                      folder);
  EXPECT_EQ(stopped.exit, 128 + SIGTERM) << stopped.out << stopped.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "kept"));
}

TEST(Corpus, AFolderThatCannotBeMadeEndsTheCampaign) {
  const TempFolder folder;
  test::write_file(folder / "kept", "");
  const test::Outcome outcome = shell("$P fuzz --seconds 600 --corpus $T/kept" + against("right"), folder);
  EXPECT_EQ(outcome.exit, 5) << outcome.out;
  EXPECT_NE(outcome.err.find("file.create"), std::string::npos) << outcome.err;
}

TEST(Snippets, SayTheLayer) {
  const struct {
    const char *spec, *python;
    bool has_model;
  } table[] = {
      {"max_pool2d(float32[1,2,6,6], kernel_size=2, stride=1)", "F.max_pool2d(x, kernel_size=2, stride=1)",
       true},
      {"max_pool2d(float32[1,2,6,6]:nhwc, kernel_size=2)", "torch.empty_strided(x.shape, (72, 1, 12, 2",
       true},
      {"avg_pool1d(float32[2,6], kernel_size=2)", "[\"x\"])[0]", true},
      {"adaptive_avg_pool2d(float32[1,2,6,6], output_size=2)", "F.adaptive_avg_pool2d(x, output_size=2)",
       true},
      {"adaptive_avg_pool2d(float32[1,2,6,6], output_size=4)", "F.adaptive_avg_pool2d(x, output_size=4)",
       false},
      {"max_pool2d(float32[1,2,6,6], kernel_size=2, nan=ignore)", "# PyTorch has no such layer", false},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.spec);
    const auto spec = *frontend::parse_spec(row.spec);
    const std::string script = torch_snippet(spec, "differs");
    EXPECT_NE(script.find(row.python), std::string::npos) << script;
    EXPECT_EQ(onnx_model(spec).has_value(), row.has_model);
  }
}

}  // namespace
}  // namespace pooljit::fuzz
