// The report as one HTML page that needs nothing else: tools/bench/page/ with the results in it.
#pragma once

#include <string>
#include <string_view>

namespace pooljit::tools {

// json: as_json(results). The page is drawn from it in the browser.
std::string as_page(std::string_view json);

}  // namespace pooljit::tools
