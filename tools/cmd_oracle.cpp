// `pooljit oracle`: answers questions about layers and tensors, a JSON object a line: what semantics.md makes
// of an input, how far another result may be from it, and what is wrong with one (docs/fuzzing.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "frontend/pool_spec.h"
#include "ir/agreement.h"
#include "ir/error_bounds.h"
#include "ir/reference.h"
#include "lab/check_case.h"
#include "lab/elements.h"
#include "tools/command.h"
#include "tools/fuzz/difference.h"
#include "tools/fuzz/explain.h"

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;
using Bits = std::vector<uint64_t>;

// Elements as numbers and words ("nan", "0x7fc00001"), in a list of any depth or as one text.
ir::Result<Bits> elements_of(ir::DType dtype, const Json& given, std::string_view name) {
  if (given.is_array()) {
    Bits all;
    for (const Json& one : given) {
      auto part = elements_of(dtype, one, name);
      if (!part) return part;
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }
  if (given.is_string()) return runtime::parse_elements(dtype, given.get<std::string>());
  if (given.is_number()) return runtime::parse_elements(dtype, given.dump());
  return ir::invalid("oracle.question", fmt::format("{} is {}, no elements", name, given.dump()),
                     "numbers, \"nan\", \"inf\" or bits as \"0x7fc00001\", in logical order: N, C, spatial");
}

ir::Result<Bits> elements_of(ir::DType dtype, const Json& question, const char* name, int64_t count) {
  auto all = elements_of(dtype, question.value(name, Json()), std::string_view(name));
  if (all && std::ssize(*all) != count)
    return ir::invalid("oracle.question",
                       fmt::format("{} has {} elements, the spec's has {}", name, all->size(), count));
  return all;
}

Json texts_of(ir::DType dtype, const Bits& all) {
  Json texts = Json::array();
  for (const uint64_t bits : all) texts.push_back(runtime::print_element(dtype, bits));
  return texts;
}

// One result of somebody's, in the words of docs/fuzzing.md.
ir::Result<void> judge(const ir::PoolNest& nest, const runtime::Case& data, const Json& question,
                       Json& answer) {
  const auto output = elements_of(nest.output.dtype, question, "output", data.output.view.element_count());
  if (!output) return tl::unexpected(output.error());
  put_elements(data.output.view, nest.output.dtype, *output, data.output.at[0].bytes());
  if (nest.indices) {
    const auto indices =
        elements_of(nest.indices->dtype, question, "indices", data.indices.view.element_count());
    if (!indices) return tl::unexpected(indices.error());
    put_elements(data.indices.view, nest.indices->dtype, *indices, data.indices.at[0].bytes());
  }
  const runtime::Results results = data.results(0);
  const auto wrong = fuzz::first_difference(nest, data, results);
  answer["right"] = !wrong;
  if (!wrong) return {};
  answer["first_wrong"] = {{"place", wrong->place}, {"got", wrong->got}, {"expected", wrong->expected}};
  answer["wrong"] = wrong->wrong;
  Json rules;
  if (nest.epilogue.empty())
    if (const auto known = fuzz::explain(nest, data, results)) {
      rules = Json::array();
      for (const fuzz::Divergence one : *known) rules.push_back(fuzz::info(one).name);
    }
  answer["rules"] = rules;  // null: no known rule makes it
  return {};
}

// Of one pool, whose question has its results.
ir::Result<Json> answer_pool(const frontend::PoolSpec& spec, const Bits& input, const Json& question) {
  const ir::PoolNest nest = make_nest(spec);
  const int64_t batch = std::max<int64_t>(spec.batch.value_or(1), 1);
  const auto data = runtime::Case::make(nest, runtime::DataKind::plain, batch, 1, input);
  if (!data) return tl::unexpected(data.error());
  data->clear_outputs(0);
  const runtime::Call call = data->call(0);
  ir::evaluate(nest, batch, call.input, call.output, call.indices);
  const runtime::Results right = data->results(0);
  Json said = {{"shape", output_shape(spec)}};
  said["output"] = texts_of(nest.output.dtype, runtime::read_elements(data->output.view, right.output));
  const auto bounds = ir::error_bounds(nest, batch, call.input);
  Json errors = Json::array();
  runtime::for_each_element(data->output.view, [&](int64_t offset) {
    const double error = bounds[static_cast<size_t>(offset / ir::bytes(nest.output.dtype))].error;
    errors.push_back(std::isfinite(error) ? Json(error) : Json("inf"));
  });
  said["bounds"] = errors;
  if (nest.indices)
    said["indices"] =
        texts_of(nest.indices->dtype, runtime::read_elements(data->indices.view, right.indices));
  if (question.contains("output"))
    if (auto judged = judge(nest, *data, question, said); !judged) return tl::unexpected(judged.error());
  return said;
}

// Several pools are answered in a list, and asked about in one: "pools": [{"output": ...}, ...].
ir::Result<Json> answer(const Json& question) {
  if (!question.is_object() || !question.value("spec", Json()).is_string())
    return ir::invalid("oracle.question", "a question is an object with a spec and an input",
                       R"~({"spec": "max_pool1d(float32[1,4], kernel_size=2)", "input": [1, 2, "nan", 4]})~");
  const auto spec = frontend::parse_spec(question["spec"].get<std::string>());
  if (!spec) return tl::unexpected(spec.error());
  if (is_unpool(*spec) || spec->direction != ir::Direction::forward || !operands(*spec).empty())
    return ir::unsupported("oracle.layer", "forward layers of one tensor are answered",
                           "pooljit.reference in Python takes indices and operands");
  int64_t elements = 1;
  for (const int64_t extent : input_shape(*spec)) elements *= extent;
  const auto input = elements_of(spec->dtype, question, "input", elements);
  if (!input) return tl::unexpected(input.error());
  const size_t count = pools_of(*spec).size();
  if (spec->batch == 0)
    return ir::invalid("oracle.question", "a batch of 0 has nothing to answer", "give the spec a batch of 1");
  if (count > 1 && (question.contains("output") || question.contains("indices")))
    return ir::invalid("oracle.question", "results of several pools are in a list",
                       R"~("pools": [{"output": [2, 4]}, ...])~");
  const Json asked = question.value("pools", Json::array({question}));
  const bool are_objects =
      asked.is_array() && std::ranges::all_of(asked, [](const Json& one) { return one.is_object(); });
  if (question.contains("pools") && (!are_objects || asked.size() != count))
    return ir::invalid("oracle.question",
                       fmt::format("pools is a list of {} objects, one for each pool", count),
                       R"~("pools": [{"output": [2, 4]}, {}])~");
  Json answers = Json::array();
  for (const frontend::PoolSpec& pool : pools_of(*spec)) {
    const size_t number = answers.size();
    auto own = answer_pool(pool, *input, number < asked.size() ? asked[number] : Json::object());
    if (!own) return own;
    answers.push_back(std::move(*own));
  }
  Json said = {{"spec", print(*spec)}};
  said.update(answers.size() == 1 ? answers[0] : Json({{"pools", answers}}));
  return said;
}

// A wrong question is answered, too: the next one may be right.
ir::Result<Exit> answer_all() {
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto said = answer(Json::parse(line, nullptr, false));
    const Json text = said ? *said
                           : Json{{"error",
                                   {{"id", said.error().id},
                                    {"message", said.error().message},
                                    {"hint", said.error().hint}}}};
    fmt::print("{}\n", text.dump());
    std::fflush(stdout);  // somebody waits for it
  }
  return Exit::ok;
}

}  // namespace

void add_oracle(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "oracle", "Answer questions of stdin about layers and tensors, a JSON object a line");
  command->footer(
      "A question has a spec and its input in logical order; with an output (and indices) that is judged, "
      "too:\n\n"
      R"~(  {"spec": "max_pool1d(float32[1,4], kernel_size=2)", "input": [1, 2, "nan", 4], "output": [2, 4]})~"
      "\n\n"
      "The answer: output, shape, bounds (how far another result may be), indices; right, first_wrong, and "
      "rules:\n"
      "the known rules under which it would be right, null if there are none (docs/fuzzing.md).");
  command->callback([&action] { action = [] { return answer_all(); }; });
}

}  // namespace pooljit::tools
