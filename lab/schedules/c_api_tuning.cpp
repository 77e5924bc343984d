// The C interface of include/pooljit_tuning.h: what tuners use.
#include "pooljit_tuning.h"

#include <cstdlib>

#include "frontend/check.h"
#include "runtime/c_api.h"
#include "lab/schedules/candidates.h"
#include "lab/schedules/explain.h"
#include "runtime/tuning/workload.h"

using namespace pooljit::c_api;

struct pooljit_schedule_list {
  std::vector<pooljit::runtime::ScheduleInfo> schedules;
};

namespace {

// For the caller, who gives it back to pooljit_text_release().
char* copy_of(const std::string& text) {
  char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

int list_of(const pooljit_spec* object, bool costs, pooljit_schedule_list** list) {
  return guarded([&] {
    if (!list) return fail_null("list");
    *list = nullptr;
    if (!object) return fail_null("object");
    if (const auto known = check_known(object->spec->spec()); !known) return fail(known.error());
    return give(pooljit::runtime::list_schedules(object->spec->spec(), object->spec->options(), costs), list);
  });
}

}  // namespace

int pooljit_schedules(const pooljit_spec* object, pooljit_schedule_list** list) {
  return list_of(object, false, list);
}

int pooljit_schedules_by_cost(const pooljit_spec* object, pooljit_schedule_list** list) {
  return list_of(object, true, list);
}

size_t pooljit_schedule_count(const pooljit_schedule_list* list) { return list ? list->schedules.size() : 0; }

int pooljit_schedule_get(const pooljit_schedule_list* list, size_t number, pooljit_schedule* schedule) {
  return guarded([&] {
    if (!list) return fail_null("list");
    if (!schedule) return fail_null("schedule");
    if (number >= list->schedules.size())
      return fail(out_of_range("schedule", static_cast<int64_t>(number), list->schedules.size()));
    const pooljit::runtime::ScheduleInfo& one = list->schedules[number];
    pooljit_schedule known = {};
    known.text = one.schedule.c_str();
    known.predicted_seconds = one.predicted_seconds;
    known.is_default = one.is_default;
    return write_struct("pooljit_schedule", known, schedule);
  });
}

void pooljit_schedule_list_release(pooljit_schedule_list* list) { delete list; }

int pooljit_explain(const pooljit_spec* object, char** text) {
  return guarded([&] {
    if (!text) return fail_null("text");
    *text = nullptr;
    if (!object) return fail_null("object");
    if (const auto known = check_known(object->spec->spec()); !known) return fail(known.error());
    const auto why = pooljit::runtime::explain(object->spec->spec(), object->spec->options());
    if (!why) return fail(why.error());
    *text = copy_of(why->text());
    return int{POOLJIT_OK};
  });
}

int pooljit_time(const pooljit_kernel* const* kernels, size_t count, double seconds,
                 pooljit_timing* timings) {
  return guarded([&] {
    if (!kernels) return fail_null("kernels");
    if (!timings) return fail_null("timings");
    if (!(seconds > 0))
      return fail({pooljit::ir::ErrorKind::invalid, "tune.seconds",
                   "the time to measure is " + std::to_string(seconds) + " s", "0.2"});
    std::vector<pooljit::runtime::KernelPtr> impls;
    for (size_t i = 0; i < count; ++i) {
      if (!kernels[i]) return fail_null("kernels");
      const auto* const kernel = std::get_if<pooljit::runtime::KernelPtr>(&kernels[i]->any);
      if (!kernel) return fail(std::get<pooljit::runtime::FreeKernelPtr>(kernels[i]->any)->sizes_not_said());
      impls.push_back(*kernel);
    }
    const auto measured = pooljit::runtime::time_kernels(impls, {.budget_seconds = seconds});
    if (!measured) return fail(measured.error());
    for (const pooljit::runtime::Timing& timing : *measured)
      *timings++ = {timing.median, timing.spread(), timing.samples};
    return int{POOLJIT_OK};
  });
}

int pooljit_prove(const pooljit_kernel* kernel, char** text) {
  return guarded([&] {
    if (text) *text = nullptr;
    if (!kernel) return fail_null("kernel");
    const auto proof =
        std::visit([](const auto& any) { return pooljit::runtime::prove_kernel(*any); }, kernel->any);
    if (!proof) return fail(proof.error());
    if (text) *text = copy_of(*proof);
    return int{POOLJIT_OK};
  });
}

void pooljit_text_release(char* text) { std::free(text); }
