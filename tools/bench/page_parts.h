// The parts of the page, from tools/bench/page/ (cmake/page.cmake makes the source).
#pragma once

#include <string_view>

namespace pooljit::tools {

extern const std::string_view page_html, page_style, page_charts, page_script;

}  // namespace pooljit::tools
