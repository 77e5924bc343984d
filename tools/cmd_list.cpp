// `pooljit list`: what this build supports, printed from the tables that the code itself is made from.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "ir/dtype.h"
#include "ir/isa.h"
#include "ir/nest.h"
#include "ir/schedule_fields.h"
#include "jit/backend.h"
#include "tools/command.h"
#include "tools/supported.h"

namespace pooljit::tools {
namespace {

struct Row {
  std::string_view name, note;
};

constexpr Row dtype_rows[] = {
#define DTYPE(name, spec, text, bits, cls, npy, tensor, note) {tensor != 0 ? spec : "", note},
#include "ir/dtype.def"
#undef DTYPE
};
constexpr Row reduction_rows[] = {
#define REDUCTION(name, text, kind, start, divides, note) {text, note},
#include "ir/reductions.def"
#undef REDUCTION
};
constexpr Row isa_rows[] = {
#define ISA(name, text, vector_bytes, vector_registers, ...) \
  {text, #vector_bytes "-byte vectors, " #vector_registers " of them"},
#include "ir/isa.def"
#undef ISA
};
constexpr Row family_rows[] = {
#define FAMILY(name, text, any_size, note) {text, note},
#include "ir/schedules.def"
#undef FAMILY
};
constexpr Row backend_rows[] = {
#define BACKEND(name, text, stage, note) {text, note},
#include "jit/backends.def"
#undef BACKEND
};

// "lanes, rows_together, scan=trailing|passes, tail=mask|split".
std::string text_of(std::span<const ir::ScheduleField> fields) {
  std::string text;
  for (const ir::ScheduleField& field : fields) {
    text += text.empty() ? "" : ", ";
    text += field.name;
    if (!field.is_number()) text += fmt::format("={}", fmt::join(field.words, "|"));
  }
  return text;
}

void print_schedule_fields() {
  fmt::print("fields of schedules: {}, those of the family, {}\n", text_of(ir::first_fields()),
             text_of(ir::last_fields()));
  for (const ir::Family family : ir::all_families)
    if (const auto own = ir::fields(family); !own.empty())
      fmt::print("  {:16}{}\n", ir::text_of(family), text_of(own));
}

// Rows without a name are not for users.
void print_rows(std::string_view title, std::span<const Row> rows) {
  fmt::print("{}:\n", title);
  for (const Row& row : rows)
    if (!row.name.empty()) fmt::print("  {}\n", fmt::format("{:16}{}", row.name, row.note));
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  CLI::App* list =
      app.add_subcommand("list", "What is supported: dtypes, reductions, families, ISAs, back ends");
  auto supported = std::make_shared<bool>(false);
  list->add_flag(
      "--supported", *supported,
      "Instead: what each operator does with each dtype, layout and kind of index, found by checking "
      "it; takes seconds");
  list->callback([&action, supported] {
    action = [supported]() -> ir::Result<Exit> {
      if (*supported) {
        fmt::print("{}", supported_tables());
        return Exit::ok;
      }
      print_rows("dtypes", dtype_rows);
      print_rows("reductions", reduction_rows);
      print_rows("schedule families", family_rows);
      print_schedule_fields();
      print_rows("ISAs", isa_rows);
      print_rows("back ends", backend_rows);
      return Exit::ok;
    };
  });
}

}  // namespace pooljit::tools
