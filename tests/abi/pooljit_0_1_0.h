/* pooljit's C interface: one line of text describes a pooling layer, a kernel made for exactly that layer
 * comes back.
 *
 *   pooljit_kernel *kernel;
 *   int64_t dims[8];
 *   int rank;
 *   if (pooljit_compile("max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)", NULL,
 * &kernel)) return fail(pooljit_last_error()); pooljit_output_shape(kernel, dims, &rank);     // 1,64,56,56
 *   pooljit_run(kernel, input, output, NULL);
 *   pooljit_release(kernel);
 *
 * Stable: functions keep their meaning, and codes and error ids keep their numbers and names.
 *
 * Threads. Every function may be called from any thread at any time. A kernel is immutable: one kernel may be
 * run by many threads at once. Release it once, when no thread uses it any more. Compiling the same spec from
 * many threads makes its code once.
 *
 * fork(). A kernel runs in the child as in the parent; worker threads are made anew when first needed. As
 * with any library that locks, a child forked while another thread was inside pooljit_compile must not call
 * pooljit_compile.
 *
 * Scratch memory. Kernels of large windows may use up to 256 KiB that each thread keeps from its first such
 * run until it ends; a thread that gets none waits for a reserve that all share.
 *
 * Signals. No function installs a handler. pooljit_run with options "threads=1" takes no lock, allocates
 * nothing and calls nothing, so it may be left by a signal handler and entered by another; but for kernels
 * with scratch memory, which a handler must not enter. The others are not async-signal-safe. No exception
 * leaves a function. Kernels have no unwind tables: do not throw or longjmp across a running one.
 */
#ifndef POOLJIT_H
#define POOLJIT_H

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): this header is C

#if defined(__GNUC__)
#define POOLJIT_API __attribute__((visibility("default")))
#else
#define POOLJIT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a function returns. The error's id, its message and a hint are in pooljit_last_error(). */
enum {
  POOLJIT_OK = 0,
  POOLJIT_INVALID = 1,     /* the caller's spec, option or argument is wrong */
  POOLJIT_UNSUPPORTED = 2, /* it is right, but this build or this machine cannot do it */
  POOLJIT_SYSTEM = 3       /* the system refused memory or a permission */
};

/* Room that pooljit_output_shape needs. */
#define POOLJIT_MAX_RANK 8

typedef struct pooljit_kernel pooljit_kernel;  // NOLINT(modernize-use-using): C
typedef struct pooljit_spec pooljit_spec;      // NOLINT(modernize-use-using): C

/* Compiles `spec` (or finds it in the cache) and stores a kernel in *kernel; NULL there on failure.
 *
 * options: NULL for defaults, else words separated by spaces:
 *   backend=auto|xbyak|llvm|interpreter|reference   (auto: xbyak)
 *   isa=auto|avx2|avx512                            (auto: the best that this machine has)
 *   threads=N                                       (0, the default: as many as the process may use; tiny
 * layers stay on the calling thread) schedule=FAMILY(...)                            (as `pooljit show
 * --stage schedule` prints it; default: the best)
 *   verify=0|1                                      (1: the code is proved right for every input before it is
 * handed out; a child process runs it, for a fraction of a second to minutes)
 *   tune_db=FILE                                    (a file of `pooljit tune`, without blanks in its name:
 * where it has a schedule for the spec that was measured on this machine, that is taken; default: the file
 * that the environment variable POOLJIT_TUNE_DB names, if it is there)
 *
 * Errors: "spec.*" for the spec, "runtime.options" for an option, "runtime.null", "runtime.isa" for an ISA
 * that the machine lacks, "backend.missing" for a back end that the build lacks, "schedule.*" for a schedule
 * that does not suit the spec, "jit.memory" where executable memory is refused,
 * "prove.*" with verify=1 where the code is not proved, "tune.open" and
 * "tune.format" for the file of tune_db. */
POOLJIT_API int pooljit_compile(const char* spec, const char* options, pooljit_kernel** kernel);

/* Reads and checks a spec and options once, for callers that ask for its kernel again and again:
 * pooljit_spec_compile then finds it in the cache without reading a text. Nothing is compiled here. *object
 * is immutable and may be used by many threads at once; NULL there on failure.
 *
 * options and errors: those of pooljit_compile that show before anything is compiled. The environment
 * variable POOLJIT_TUNE_DB is read here. */
POOLJIT_API int pooljit_spec_read(const char* spec, const char* options, pooljit_spec** object);

/* What pooljit_compile does, for a spec object. Errors: the rest of those. */
POOLJIT_API int pooljit_spec_compile(const pooljit_spec* object, pooljit_kernel** kernel);

/* Gives the spec object back; NULL is allowed. Kernels made of it stay as they are. */
POOLJIT_API void pooljit_spec_release(pooljit_spec* object);

/* Stores the output's dimensions in logical order (N if the spec is batched, C, spatial) in dims[0 .. *rank -
 * 1]. dims has room for POOLJIT_MAX_RANK. */
POOLJIT_API int pooljit_output_shape(const pooljit_kernel* kernel, int64_t* dims, int* rank);

/* Pools. `input` and `output` point to the first element (all coordinates 0) of tensors of the spec's dtype,
 * which lie in memory as the spec's layout or strides say; any alignment of the element will do
 * (outputs of 8 MB and more are written faster where they begin at a multiple of 64). `indices`
 * is needed if the spec has return_indices=True (written, laid out like the output: of index_dtype, int64 by
 * default, counted in index_scope, the plane of one n and c by default, -1 for an empty window) and by
 * max_pool_backward and max_unpool (read, laid out like the input); it is NULL otherwise. Nothing but the
 * elements of the three views is read or written. They must not overlap.
 *
 * Errors: "run.null", "run.indices" (given but not asked for), "run.overlap". Nothing is written then. A
 * batch of 0 succeeds, whatever the pointers. */
POOLJIT_API int pooljit_run(const pooljit_kernel* kernel, const void* input, void* output, void* indices);

/* pooljit_run for a spec whose epilogue takes operands: `operands` holds `count` pointers, in the order of
 * the epilogue's steps: two arrays for scale_channel (a, then b), one for mul_channel and add_channel, each
 * with one number per channel, float32 or, where the epilogue computes in it, float64 (docs/semantics.md); a
 * tensor for add, of its dtype and laid out like the output. They are read only, and may overlap the input
 * and each other but nothing that is written.
 *
 * Errors: those of pooljit_run; "run.operands" where `count` is not what the epilogue takes, also from
 * pooljit_run, which gives none; "run.null". */
POOLJIT_API int pooljit_run_operands(const pooljit_kernel* kernel, const void* input, void* output,
                                     void* indices, const void* const* operands, int count);

/* What was proved of a kernel that was compiled with verify=1, for people: a line per part, and what is left.
 * "" without verify=1, and for NULL. Valid until the kernel is released. Never NULL. */
POOLJIT_API const char* pooljit_proof(const pooljit_kernel* kernel);

/* Gives the kernel back; NULL is allowed. Its code stays in the cache. */
POOLJIT_API void pooljit_release(pooljit_kernel* kernel);

/* "id: message (hint)" of the calling thread's last call that failed; "" if none did. Valid until the
 * thread's next call that fails. Never NULL. */
POOLJIT_API const char* pooljit_last_error(void);

/* "0.1.0" */
POOLJIT_API const char* pooljit_version(void);

#ifdef __cplusplus
}
#endif

#endif /* POOLJIT_H */
