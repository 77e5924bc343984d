/* pooljit's C interface for tuners: the schedules of a spec, how long they take, why one of them is the
 * default, and whether its code is right. examples/tuner.cpp is such a tuner, in C++.
 *
 *   pooljit_spec* spec;
 *   pooljit_schedule_list* list;
 *   pooljit_schedule best = {.size = sizeof best};
 *   if (pooljit_spec_read("max_pool2d(float32[1,8,12,12], kernel_size=2)", NULL, &spec)) return 1;
 *   if (pooljit_schedules(spec, &list)) return 1;
 *   pooljit_schedule_get(list, 0, &best);
 *   puts(best.text);
 *
 * Threads, errors and structs: as pooljit.h says.
 */
#ifndef POOLJIT_TUNING_H
#define POOLJIT_TUNING_H

#include "pooljit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pooljit_schedule_list pooljit_schedule_list;

typedef struct pooljit_schedule {
  size_t size;              /* sizeof(pooljit_schedule), set by the caller; no more is written */
  const char* text;         /* for the option schedule=; valid until the list is released */
  double predicted_seconds; /* of a call on one thread, by the cost model: good for an order, no more;
                               0: not asked for */
  int32_t is_default;       /* 1: what compiling takes where it is told nothing */
} pooljit_schedule;

/* Every schedule that suits the spec. Those that compiling chooses from come first, best first. Takes a few
 * milliseconds at most: no code is made, so for some the registers may not suffice ("schedule.registers" from
 * pooljit_spec_compile), and several may make the same code. Of the spec's options only backend and isa
 * matter. *list is NULL on failure. Errors: those of pooljit_spec_compile. */
POOLJIT_API int pooljit_schedules(const pooljit_spec* object, pooljit_schedule_list** list);
/* The schedules that make different code, with predicted_seconds, the cheapest first. Each is lowered and
 * counted: that takes up to some seconds. */
POOLJIT_API int pooljit_schedules_by_cost(const pooljit_spec* object, pooljit_schedule_list** list);
POOLJIT_API size_t pooljit_schedule_count(const pooljit_schedule_list* list);
/* Errors: "runtime.range" for a number that is not below the count. */
POOLJIT_API int pooljit_schedule_get(const pooljit_schedule_list* list, size_t number,
                                     pooljit_schedule* schedule);
POOLJIT_API void pooljit_schedule_list_release(pooljit_schedule_list* list); /* NULL is allowed */

/* Why the spec gets its schedule if nothing was measured: what each family of schedules offers, why it
 * declines or is refused, the price by part, and what decided. Stores what `pooljit schedules SPEC --why`
 * prints, for people, in *text, NULL on failure; pooljit_text_release gives it back. Errors: those of
 * pooljit_spec_compile; "schedule.unpool". */
POOLJIT_API int pooljit_explain(const pooljit_spec* object, char** text);

typedef struct pooljit_timing {
  double median; /* seconds per call */
  double spread; /* half the distance of the quartiles, as a share of the median */
  int64_t samples;
} pooljit_timing;

/* Times kernels of one spec, on data of its own, taking turns for about so many seconds in all; stores
 * `count` timings. Errors: "tune.kernels" (of several specs), "tune.empty" (a batch of 0),
 * "tune.seconds" (not more than 0), "system.memory". */
POOLJIT_API int pooljit_time(const pooljit_kernel* const* kernels, size_t count, double seconds,
                             pooljit_timing* timings);

/* Proves the kernel's machine code right for every input, in a child process. Stores what was proved, for
 * people, in *text, NULL on failure; `text` may be NULL. Errors: "prove.*". */
POOLJIT_API int pooljit_prove(const pooljit_kernel* kernel, char** text);

POOLJIT_API void pooljit_text_release(char* text); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif /* POOLJIT_TUNING_H */
