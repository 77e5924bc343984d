#include "ir/machine.h"

#include <algorithm>
#include <string>

namespace pooljit::ir {
namespace {

struct Row {
  std::string_view vendor;
  unsigned family, first_model, last_model;
  Machine machine;
};

constexpr int64_t kib = 1024;
constexpr Row rows[] = {
#define MACHINE(name, text, vendor, family, first, last, l1, l2, l3, crowded, halves, parts, note) \
  {vendor,                                                                                         \
   family,                                                                                         \
   first,                                                                                          \
   last,                                                                                           \
   {text, {{l1 * kib, l2 * kib, l3 * kib}}, crowded * kib, (halves) != 0, (parts) != 0}},
#include "ir/machine.def"
#undef MACHINE
};
static_assert(rows[0].machine == generic_machine);

std::string joined_names() {
  std::string names;
  for (const Row& row : rows)
    if (names.find(row.machine.name) == std::string::npos)
      names += (names.empty() ? "" : ", ") + std::string(row.machine.name);
  return names;
}

}  // namespace

const Machine& find_machine(std::string_view vendor, unsigned family, unsigned model) {
  const auto* found = std::find_if(std::begin(rows) + 1, std::end(rows), [&](const Row& row) {
    return row.vendor == vendor && row.family == family && row.first_model <= model &&
           model <= row.last_model;
  });
  return found == std::end(rows) ? rows[0].machine : found->machine;
}

std::optional<Machine> find_machine(std::string_view text) {
  for (const Row& row : rows)
    if (row.machine.name == text) return row.machine;
  return std::nullopt;
}

std::string_view machine_names() {
  static const std::string& names = *new std::string(joined_names());
  return names;
}

Machine with_caches(Machine row, const Caches& found) {
  for (size_t level = 0; level < found.bytes.size(); ++level)
    if (found.bytes[level] > 0) row.caches.bytes[level] = found.bytes[level];
  return row;
}

}  // namespace pooljit::ir
