// The table of supported layers, found by running them: a spec for each operator with each dtype, layout and
// kind of index, checked by all engines.
#pragma once

#include <string>

namespace pooljit::tools {

// Tables in Markdown. A cell is "yes", the id of the rule that refuses the combination, "-" where it has no
// meaning, or "WRONG" where engines disagree. Takes seconds.
std::string supported_tables();

}  // namespace pooljit::tools
