// A text as a tuning database: no crash, what is read prints and reads back, an entry is found by its key;
// and a schedule that a hostile one names for a layer makes right code of it, or none.
#include <array>
#include <string>
#include <vector>

#include "runtime/compile.h"
#include "runtime/tuning/database.h"
#include "tests/fuzz/target.h"

using namespace pooljit;

namespace {

// Each element of a row holds its own number, so a maximum is that of the window's end.
void compile_as(const runtime::TuneEntry& entry) {
  constexpr int64_t channels = 5, rows = 6, columns = 11;
  for (const char* layout : {"", ":nhwc"}) {
    const bool is_nhwc = *layout != '\0';
    const std::string spec =
        "max_pool2d(float32[1,5,6,11]" + std::string(layout) + ", kernel_size=[2,3], stride=1)";
    const auto kernel = runtime::compile_uncached(spec, {.schedule = entry.schedule, .threads = 1});
    if (!kernel) continue;
    std::vector<float> input(size_t{channels * rows * columns}),
        output(size_t{channels * (rows - 1) * (columns - 2)}, -1);
    const auto at = [&](int64_t width, int64_t height, int64_t c, int64_t y, int64_t x) {
      return static_cast<size_t>(is_nhwc ? (y * width + x) * channels + c : (c * height + y) * width + x);
    };
    const auto number = [&](int64_t c, int64_t y, int64_t x) {
      return static_cast<float>((c * rows + y) * columns + x);
    };
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t y = 0; y < rows; ++y)
        for (int64_t x = 0; x < columns; ++x) input[at(columns, rows, c, y, x)] = number(c, y, x);
    const auto done = (*kernel)->run(input.data(), output.data(), nullptr);
    fuzz::demand(done.has_value(), "it does not run", entry.schedule);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t y = 0; y < rows - 1; ++y)
        for (int64_t x = 0; x < columns - 2; ++x)
          fuzz::demand(output[at(columns - 2, rows - 1, c, y, x)] == number(c, y + 1, x + 2),
                       "a schedule makes wrong code", entry.schedule);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // With the header given, so that mutations need not keep it.
  for (const bool has_header : {false, true}) {
    const auto database =
        runtime::parse_tune_database(has_header ? std::string(runtime::tune_header) + "\n" + text : text);
    if (!database) continue;
    const std::string printed = print(*database);
    const auto again = runtime::parse_tune_database(printed);
    fuzz::demand(again && again->ignored.empty() && again->entries.size() == database->entries.size() &&
                     print(*again) == printed,
                 "a database does not read back", printed);
    for (const runtime::TuneEntry& entry : database->entries)
      fuzz::demand(look_up(*database, entry).entry != nullptr, "an entry is not found", print(entry));
    if (!database->entries.empty()) compile_as(database->entries.front());
  }
  return 0;
}
