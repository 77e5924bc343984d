#include "tools/fuzz/outcome.h"

#include <array>

namespace pooljit::fuzz {
namespace {

struct Row {
  std::string_view name, text;
};
constexpr std::array rows = {
#define FAILURE(name, text) Row{#name, text},
#include "tools/fuzz/failures.def"
#undef FAILURE
};

}  // namespace

std::string_view name(Kind kind) { return rows[static_cast<size_t>(kind)].name; }
std::string_view meaning(Kind kind) { return rows[static_cast<size_t>(kind)].text; }

std::string inconsistent_with(std::string_view rule) {
  return std::string(name(Kind::inconsistent)) + ":" + std::string(rule);
}

std::string label(const Outcome& outcome) {
  if (outcome.kind == Kind::inconsistent) return inconsistent_with(outcome.explanation);
  return outcome.kind == Kind::known ? outcome.explanation : std::string(name(outcome.kind));
}

}  // namespace pooljit::fuzz
