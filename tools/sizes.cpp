#include "tools/sizes.h"

#include <fmt/format.h>

#include <charconv>

#include "frontend/pool_spec.h"

namespace pooljit::tools {
namespace {

ir::Result<std::string> sized_text(const frontend::PoolSpec& spec, const std::string& size) {
  const auto extents = parse_size(size);
  if (!extents) return tl::unexpected(extents.error());
  return frontend::with_sizes(spec, *extents).map([](const frontend::PoolSpec& sized) {
    return frontend::print(sized);
  });
}

}  // namespace

ir::Result<std::vector<int64_t>> parse_size(std::string_view text) {
  std::vector<int64_t> extents;
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    const auto [next, status] = std::from_chars(at, end, extents.emplace_back());
    if (status == std::errc() && next == end) return extents;
    if (status != std::errc() || *next != 'x')
      return ir::invalid("size.text", fmt::format("{} is no size", text), "224x224, 4x56x56 or 1000");
    at = next + 1;
  }
}

ir::Result<std::string> at_size(const std::string& text, const std::string& size) {
  if (size.empty()) return text;
  const auto spec = frontend::parse_spec(text, frontend::FreeDims::allowed);
  if (!spec) return tl::unexpected(spec.error());
  return sized_text(*spec, size);
}

ir::Result<std::vector<std::string>> at_sizes(const std::string& text,
                                              const std::vector<std::string>& sizes) {
  if (sizes.empty()) return std::vector{text};
  std::vector<std::string> texts;
  for (const std::string& size : sizes) {
    auto sized = at_size(text, size);
    if (!sized) return tl::unexpected(sized.error());
    texts.push_back(std::move(*sized));
  }
  return texts;
}

ir::Result<std::vector<Problem>> read_problems(const std::string& path,
                                               const std::vector<std::string>& sizes) {
  auto problems = read_problems(path);
  if (!problems || sizes.empty()) return problems;
  std::vector<Problem> all;
  for (Problem& problem : *problems) {
    const auto spec = frontend::parse_spec(problem.spec, frontend::FreeDims::allowed);
    if (!spec || !has_free_dims(*spec)) {
      all.push_back(std::move(problem));
      continue;
    }
    for (const std::string& size : sizes) {
      auto sized = sized_text(*spec, size);
      if (!sized && sized.error().id == "size.text") return tl::unexpected(sized.error());
      Problem& one = all.emplace_back(problem);
      one.name += " at " + size;
      // A size that the layer cannot have stays free, which is refused.
      if (sized) one.spec = std::move(*sized);
    }
  }
  return all;
}

}  // namespace pooljit::tools
