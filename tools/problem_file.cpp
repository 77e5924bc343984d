#include "tools/problem_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace pooljit::tools {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

ir::Result<std::vector<Problem>> read_problems(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return ir::system_error("file.open", fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  std::vector<Problem> problems;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (trimmed(line).empty() || trimmed(line).front() == '#') continue;
    const size_t tab = line.find('\t');
    if (tab == std::string::npos)
      problems.push_back({fmt::format("line {}", number), trimmed(line), number, false});
    else  // and no note behind a second one
      problems.push_back({trimmed(line.substr(0, tab)),
                          trimmed(line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1)), number, true});
  }
  if (file.bad())
    return ir::system_error("file.read", fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  if (problems.empty())
    return ir::invalid("problems.empty", fmt::format("{} holds no spec", path), "one spec a line");
  return problems;
}

}  // namespace pooljit::tools
