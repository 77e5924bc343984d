// `pooljit oracle`: questions on stdin, an answer each, in order.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <vector>

#include "tools/shell.h"

namespace pooljit::tools {
namespace {

struct OracleCase {
  const char *asked, *answered;  // JSON; what is answered has at least these fields
};

const OracleCase questions[] = {
    {R"q({"spec": "max_pool1d(float32[1,4], kernel_size=2)", "input": [1, 2, "nan", 4], "output": [2, 4]})q",
     R"q({"shape": [1, 2], "output": ["2", "nan"], "right": false, "wrong": 1, "rules": ["nan_ignored"]})q"},
    {R"q({"spec": "max_pool1d(float32[1,4], kernel_size=2)", "input": [1, 2, 3, 4], "output": [2, 4]})q",
     R"q({"right": true, "bounds": [0.0, 0.0]})q"},
    // Nobody rounds to that.
    {R"q({"spec": "max_pool1d(float32[1,4], kernel_size=2)", "input": [1, 2, 3, 4], "output": [2, 5]})q",
     R"q({"right": false, "wrong": 1, "rules": null})q"},
    {R"q({"spec": "avg_pool1d(uint8[1,4], kernel_size=2)", "input": [1, 2, 3, 4], "output": [1, 3]})q",
     R"q({"output": ["2", "4"], "right": false, "wrong": 2, "rules": ["truncated_average"]})q"},
    {R"q({"spec": "max_pool1d(int8[1,4], kernel_size=2, return_indices=True)", "input": [7, 7, 3, 4]})q",
     R"q({"output": ["7", "4"], "indices": ["0", "3"]})q"},
    {R"q({"spec": "pools(int8[1,4], max_pool1d(2, return_indices=True), avg_pool1d(2), concat=True)", "input": [7, 7, 3, 4], "pools": [{"output": [7, 4], "indices": [1, 3]}, {}]})q",
     R"q({"pools": [{"shape": [1, 2], "output": ["7", "4"], "indices": ["0", "3"], "bounds": [0.0, 0.0],
                     "right": false, "first_wrong": {"place": "index [0,0,0]", "got": "1", "expected": "0"},
                     "wrong": 1, "rules": ["ties_last"]},
                    {"shape": [1, 2], "output": ["7", "4"], "bounds": [0.0, 0.0]}]})q"},
};

const OracleCase wrong_questions[] = {
    {"not json", "oracle.question"},
    {"[1]", "oracle.question"},
    {R"q({"spec": "max_pool1d(float32[1,4], kernel_size=2)"})q", "oracle.question"},
    {R"q({"spec": "max_pool1d(float32[0,1,4], kernel_size=2)", "input": []})q", "oracle.question"},
    {R"q({"spec": "pools(int8[1,4], max_pool1d(2), avg_pool1d(2))", "input": [7, 7, 3, 4], "output": [7, 4]})q",
     "oracle.question"},
    {R"q({"spec": "pools(int8[1,4], max_pool1d(2), avg_pool1d(2))", "input": [7, 7, 3, 4], "pools": [{}]})q",
     "oracle.question"},
    {R"q({"spec": "pools(int8[1,4], max_pool1d(2), avg_pool1d(2))", "input": [7, 7, 3, 4], "pools": [{}, {}, {}]})q",
     "oracle.question"},
    {R"q({"spec": "pools(int8[1,4], max_pool1d(2), avg_pool1d(2))", "input": [7, 7, 3, 4], "pools": [{}, 7]})q",
     "oracle.question"},
    {R"q({"spec": "pools(int8[1,4], max_pool1d(2), avg_pool1d(2))", "input": [7, 7, 3, 4], "pools": {}})q",
     "oracle.question"},
    {R"q({"spec": "max_pool1d(float32[1,4], kernel_size=2)", "input": [1, 2, 3]})q", "oracle.question"},
    {R"q({"spec": "max_pool1d(float32[1,4], kernel_size=2)", "input": [1, 2, 3, "x"]})q", "check.data"},
    {R"q({"spec": "nothing(", "input": [1]})q", "spec.syntax"},
    {R"q({"spec": "max_pool1d_backward(float32[1,4], kernel_size=2)", "input": [1, 2]})q", "oracle.layer"},
};

std::vector<nlohmann::json> answers(std::span<const OracleCase> asked) {
  const test::TempFolder folder;
  std::string text;
  for (const OracleCase& one : asked) text += std::string(one.asked) + "\n";
  test::write_file(folder / "questions", text);
  const test::Outcome outcome = test::shell("$P oracle <$T/questions", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  std::vector<nlohmann::json> all;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  EXPECT_EQ(all.size(), asked.size());
  all.resize(asked.size());
  return all;
}

TEST(Oracle, AnswersWhatLayersMean) {
  const auto all = answers(questions);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto wanted = nlohmann::json::parse(questions[i].answered);
    for (const auto& [name, value] : wanted.items())
      EXPECT_EQ(all[i].value(name, nlohmann::json("absent")), value) << questions[i].asked << "\n" << all[i];
  }
}

TEST(Oracle, AnswersWrongQuestionsByTheirErrors) {
  const auto all = answers(wrong_questions);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i]["error"]["id"], wrong_questions[i].answered) << wrong_questions[i].asked;
}

}  // namespace
}  // namespace pooljit::tools
