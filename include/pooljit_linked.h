/* pooljit's C interface for code for all sizes that `pooljit export` made and the program was linked with
 * (docs/export.md). The header that came with the object includes this one.
 *
 *   pooljit_kernel* kernel;
 *   if (pooljit_link(&stem_code, &kernel)) return fail(pooljit_last_error());
 *   pooljit_release(kernel);
 *
 * Threads, errors and structs: as pooljit.h says.
 */
#ifndef POOLJIT_LINKED_H
#define POOLJIT_LINKED_H

#include "pooljit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NAME_code of the header that came with the object. */
typedef struct pooljit_linked_code pooljit_linked_code;

/* Stores the kernel of linked code in *kernel: it is asked, run with pooljit_args.dims and released like that
 * of a spec with free dims. No code is made for it, whatever the size, only the tables of sizes, of which the
 * last 64 are kept: memory need not be executable. A size that the code is not for is an error
 * ("general.window", "unsupported"). Its built-in pool has one thread. The best ISA that the object has and
 * the machine runs is taken. The object has to stay loaded while such a kernel runs.
 *
 * Errors: "link.version" if another version of the library exported the code, "link.isa", "runtime.null". */
POOLJIT_API int pooljit_link(const pooljit_linked_code* code, pooljit_kernel** kernel);

/* pooljit_run_with of that kernel, which the first call makes and the process keeps, also where a
 * library with the object is unloaded. Errors: those of both.
 */
POOLJIT_API int pooljit_run_linked(const pooljit_linked_code* code, const pooljit_args* args);

#ifdef __cplusplus
}
#endif

#endif /* POOLJIT_LINKED_H */
