#include "frontend/rules.h"

#include <fmt/format.h>

namespace pooljit::frontend {

tl::unexpected<ir::Error> broken(Rule rule, std::string_view found, std::string_view hint) {
  const RuleInfo& row = info(rule);
  return tl::unexpected<ir::Error>(ir::Error{row.kind, std::string(row.id),
                                             fmt::format("{}; {}", row.text, found),
                                             std::string(hint.empty() ? row.hint : hint)});
}

}  // namespace pooljit::frontend
