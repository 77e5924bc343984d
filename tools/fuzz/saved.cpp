#include "tools/fuzz/saved.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "frontend/pool_spec.h"
#include "ir/reference.h"
#include "lab/check_case.h"
#include "lab/elements.h"
#include "tools/fuzz/snippets.h"
#include "tools/npz.h"
#include "tools/output_files.h"

namespace pooljit::fuzz {
namespace {

namespace fs = std::filesystem;
using frontend::PoolSpec;

// The input that failed; where the case names several, and nobody knows which, the first.
ir::Result<runtime::Case> data_of(const PoolSpec& spec, const ir::PoolNest& nest, const Finding& finding) {
  const FuzzCase& one = finding.smallest;
  const int64_t batch = std::max<int64_t>(spec.batch.value_or(1), 1);
  const std::string& kind = one.data.empty() ? finding.outcome.data : one.data;
  const auto kinds = runtime::data_kinds(nest);
  const auto named = std::ranges::find_if(kinds, [&](auto row) { return name(row) == kind; });
  if (named == kinds.end() && !one.data.empty()) {
    const auto elements = runtime::parse_elements(nest.input.dtype, one.data);
    if (!elements) return tl::unexpected(elements.error());
    return runtime::Case::make(nest, kinds[0], batch, one.seed * 1000, *elements);
  }
  const size_t number = named == kinds.end() ? 0 : static_cast<size_t>(named - kinds.begin());
  return runtime::Case::make(nest, kinds[number], batch, one.seed * 1000 + number);
}

struct Arrays {
  std::string inputs, expected;
};

Arrays arrays_of(const ir::PoolNest& nest, const runtime::Case& data) {
  const auto array = [](const std::string& name, const ir::View& view, const runtime::Placed& placed) {
    return tools::npz_array(name, placed.view, view.dtype, placed.at[0].bytes());
  };
  std::vector<tools::NpzArray> inputs = {array("x", nest.input, data.input)};
  const std::vector<ir::View> operands = operand_views(nest);
  for (size_t i = 0; i < operands.size(); ++i)
    inputs.push_back(array(fmt::format("operand{}", i), operands[i], data.operands[i]));
  if (data.reads_indices) inputs.push_back(array("indices", *nest.indices, data.indices));
  data.clear_outputs(0);
  const runtime::Call call = data.call(0);
  ir::evaluate(nest, data.batch, call.input, call.output, call.indices, call.operands);
  std::vector<tools::NpzArray> expected = {array("y", nest.output, data.output)};
  if (nest.indices && !data.reads_indices) expected.push_back(array("indices", *nest.indices, data.indices));
  return {npz_bytes(inputs), npz_bytes(expected)};
}

// The same for the same case, in every process.
std::string hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char byte : text) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return fmt::format("{:08x}", hash >> 32);
}

}  // namespace

ir::Result<std::string> save_finding(const std::string& folder, const Finding& finding,
                                     const std::string& said) {
  const auto spec = frontend::parse_spec(finding.smallest.spec);
  if (!spec) return tl::unexpected(spec.error());
  const ir::PoolNest nest = make_nest(*spec);
  const auto data = data_of(*spec, nest, finding);
  if (!data) return tl::unexpected(data.error());
  const std::string what(name(finding.outcome.kind));
  fs::path path = fs::path(folder) / (what + "-" + hash_of(what + nlohmann::json(finding.smallest).dump()));
  if (fs::exists(path / "finding.json")) return path.string();
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return ir::system_error("file.create", fmt::format("cannot make {}: {}", path.string(), error.message()));
  const Arrays arrays = arrays_of(nest, *data);
  const std::vector<std::pair<const char*, std::string>> files = {
      {"spec.txt", finding.smallest.spec + "\n"},
      {"model.onnx", onnx_model(*spec).value_or("")},
      {"inputs.npz", arrays.inputs},
      {"expected.npz", arrays.expected},
      {"repro.py", torch_snippet(*spec, what)},
      {"finding.json", said + "\n"}};
  tools::OutputFiles output;
  for (const auto& [file, content] : files) {
    if (content.empty()) continue;
    const auto number = output.add((path / file).string());
    if (!number) return tl::unexpected(number.error());
    if (auto done = output.write(*number, std::as_bytes(std::span(content))); !done)
      return tl::unexpected(done.error());
  }
  if (auto done = output.commit(); !done) return tl::unexpected(done.error());
  return path.string();
}

ir::Result<std::vector<SavedCase>> read_saved(const std::string& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error))
    if (entry.path().filename() == "finding.json") paths.push_back(entry.path());
  if (paths.empty())
    return ir::invalid("fuzz.saved", fmt::format("{} holds no saved finding", folder),
                       "a folder of `pooljit fuzz --save`, or one finding in it");
  std::ranges::sort(paths);
  std::vector<SavedCase> cases;
  for (const fs::path& path : paths) {
    std::ifstream file(path);
    const auto json = nlohmann::json::parse(file, nullptr, false);
    const auto text = [&](const char* key) {
      return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>()
                                                                             : std::string();
    };
    if (text("spec").empty() || !json.contains("seed") || !json["seed"].is_number_unsigned())
      return ir::invalid("fuzz.saved", fmt::format("{} is no saved finding", path.string()));
    cases.push_back({path.parent_path().string(),
                     {.spec = text("spec"),
                      .isa = text("isa"),
                      .backend = text("backend"),
                      .schedule = text("schedule"),
                      .seed = json["seed"].get<uint64_t>(),
                      .data = text("data"),
                      .before = text("before")},
                     text("known_as").empty() ? text("kind") : text("known_as")});
  }
  return cases;
}

}  // namespace pooljit::fuzz
