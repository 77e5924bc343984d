#include "tools/bench/page.h"

#include "tools/bench/page_parts.h"

namespace pooljit::tools {
namespace {

// JSON that may stand in a script element: "</script>" cannot occur in it.
std::string escaped(std::string_view json) {
  std::string text;
  for (const char c : json) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

}  // namespace

std::string as_page(std::string_view json) {
  std::string page(page_html);
  const struct {
    std::string_view mark;
    std::string text;
  } parts[] = {{"/* STYLE */", std::string(page_style)},
               {"/* SCRIPT */", std::string(page_charts) + std::string(page_script)},
               {"/* DATA */", escaped(json)}};
  for (const auto& [mark, text] : parts) page.replace(page.find(mark), mark.size(), text);
  return page;
}

}  // namespace pooljit::tools
