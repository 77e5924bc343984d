#include "tools/command.h"
namespace pooljit::tools {
void add_check(CLI::App&, Action&) {}
}  // namespace pooljit::tools
