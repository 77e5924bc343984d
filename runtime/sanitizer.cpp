#include "runtime/sanitizer.h"

#include <algorithm>
#include <array>
#include <cstddef>

// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's own; null where there is none
extern "C" [[gnu::weak]] void* __asan_region_is_poisoned(void* begin, size_t bytes);

namespace pooljit::runtime {
namespace {

struct Step {
  int64_t extent = 0, stride = 0;
};
using Steps = std::array<Step, max_task_dims + 1>;

const char* poisoned(const char* begin, int64_t bytes) {
  return static_cast<const char*>(
      __asan_region_is_poisoned(const_cast<char*>(begin), static_cast<size_t>(bytes)));
}

// Of elements at these steps: what lies together is asked for at once.
const char* first_in(const char* begin, int64_t element_bytes, Steps steps, size_t count) {
  std::sort(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Step& a, const Step& b) { return a.stride < b.stride; });
  int64_t run = element_bytes;
  size_t first = 0;
  for (; first < count && steps[first].stride <= run; ++first)
    run += (steps[first].extent - 1) * steps[first].stride;
  std::array<int64_t, max_task_dims + 1> at{};
  for (const char* here = begin;;) {
    if (const char* const found = poisoned(here, run)) return found;
    size_t d = first;
    for (; d < count; ++d) {
      here += steps[d].stride;
      if (++at[d] < steps[d].extent) break;
      here -= steps[d].extent * steps[d].stride;
      at[d] = 0;
    }
    if (d == count) return nullptr;
  }
}

}  // namespace

bool has_address_sanitizer() { return __asan_region_is_poisoned != nullptr; }

int64_t first_poisoned(const MemoryView& view, const void* begin) {
  if (view.span_bytes() == 0) return -1;
  const auto* const bytes = static_cast<const char*>(begin);
  Steps steps;
  size_t count = 0;
  MemoryView::Dim blocked{1, 0, 1};
  for (const MemoryView::Dim& dim : view.dims())
    if (dim.block > 1)
      blocked = dim;
    else if (dim.extent > 1 && dim.stride > 0)
      steps[count++] = {dim.extent, dim.stride};
  for (int64_t done = 0; done < blocked.extent; done += blocked.block) {
    Steps with = steps;
    size_t all = count;
    const int64_t together = std::min(blocked.block, blocked.extent - done);
    if (together > 1) with[all++] = {together, view.element_bytes};
    const char* const here = bytes + done / blocked.block * blocked.stride;
    if (const char* const found = first_in(here, view.element_bytes, with, all)) return found - bytes;
  }
  return -1;
}

}  // namespace pooljit::runtime
