#include <fmt/format.h>

#include <algorithm>

#include "tools/fuzz/probes.h"

namespace pooljit::fuzz {
namespace {

// The probe's row in one dimension: "[1,1,1,3]" and "[1,3]" become "[1,1,3]" and "[3]". Empty: it has more
// rows.
std::string in_one_dimension(std::string text) {
  const size_t channels = text.find(',', text.find('[')), rows = text.find(',', channels + 1),
               columns = text.find(',', rows + 1);
  if (text.substr(rows, columns - rows) != ",1") return "";
  text.erase(rows, columns - rows);
  text.replace(text.find("2d("), 2, "1d");
  for (const char* of_row : {"=[1,", "=[0,"})
    for (size_t at = text.find(of_row); at != std::string::npos; at = text.find(of_row, at))
      text.erase(at + 2, 2);
  return text;
}

}  // namespace

std::vector<frontend::PoolSpec> forms_of(const EngineProbe& probe, const std::string& dtype) {
  std::vector<std::string> texts;
  for (const char* layout : {"", ":nhwc"})
    texts.push_back(fmt::format(fmt::runtime(probe.spec), fmt::arg("t", dtype), fmt::arg("l", layout)));
  texts.push_back(in_one_dimension(texts[0]));
  std::vector<frontend::PoolSpec> forms;
  for (const std::string& text : texts)
    if (auto spec = frontend::parse_spec(text)) forms.push_back(std::move(*spec));
  return forms;
}

}  // namespace pooljit::fuzz
