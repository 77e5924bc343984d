/* pooljit's C interface: one line of text, or a struct, describes a pooling layer; a kernel made for exactly
 * that layer comes back.
 *
 *   pooljit_kernel* kernel;
 *   const char* spec = "max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)";
 *   if (pooljit_compile(spec, NULL, &kernel)) return fail(pooljit_last_error());
 *   pooljit_info info = {.size = sizeof info};
 *   pooljit_kernel_info(kernel, &info);  // info.output.dims: 1,64,56,56; info.output_bytes: 802816
 *   pooljit_run(kernel, input, output, NULL);
 *   pooljit_release(kernel);
 *
 * docs/embedding.md shows an engine's use: batches and threads of its own.
 *
 * Stable: functions keep their meaning, and codes and error ids keep their numbers and names. Structs grow at
 * their end: set the first member, `size`, to sizeof of the struct and the rest to 0 before use. A library
 * that is older than the struct refuses what it does not know ("runtime.struct"), unless that is 0.
 *
 * Threads. Every function may be called from any thread at any time. A kernel is immutable: one kernel may be
 * run by many threads at once. Release it once, when no thread uses it any more. Compiling the same spec from
 * many threads makes its code once.
 *
 * fork(). A kernel runs in the child as in the parent, and the child may compile; worker threads are made
 * anew when first needed. fork() waits until code that another thread is making is made: microseconds, with
 * LLVM milliseconds.
 *
 * Scratch memory. Kernels of large windows may use up to 256 KiB that each thread keeps from its first such
 * run until it ends; a thread that gets none waits for a reserve that all share.
 *
 * Signals. No function installs a handler. pooljit_run with options "threads=1" takes no lock, allocates
 * nothing and calls nothing, so it may be left by a signal handler and entered by another; but for kernels
 * with scratch memory, which a handler must not enter. The others are not async-signal-safe. No exception
 * leaves a function. Kernels throw nothing. They have unwind tables: backtrace(), debuggers and profilers
 * see through them at every instruction. Do not throw or longjmp across a running one all the same: scratch
 * memory would stay taken.
 *
 * Names. The environment variable POOLJIT_NAMES, read once, or the option "names" makes kernels known to
 * tools by names like pooljit:max_pool2d_f32_nchw_64x112x112_k3s2p1_avx512, with the option "label" like
 * pooljit:resnet/pool1:max_pool2d_f32_nchw_64x112x112_k3s2p1_avx512, and they keep frame pointers: perf
 * (/tmp/perf-PID.map), jitdump (jit-PID.dump in JITDUMPDIR or /tmp, with lines for perf annotate), gdb (its
 * JIT interface), or several joined by commas. Files have mode 0600; what cannot be written is left out. By
 * default there are no names.
 */
#ifndef POOLJIT_H
#define POOLJIT_H

#include <stddef.h>  // NOLINT(modernize-deprecated-headers): this header is C
#include <stdint.h>  // NOLINT(modernize-deprecated-headers): this header is C

#include "pooljit_layer.h"

/* Of this header; pooljit_version() is that of the library. */
#define POOLJIT_VERSION_MAJOR 0
#define POOLJIT_VERSION_MINOR 1
#define POOLJIT_VERSION_PATCH 0

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
/* That one epilogue takes. */
#define POOLJIT_MAX_OPERANDS 8

typedef struct pooljit_kernel pooljit_kernel;  // NOLINT(modernize-use-using): C
typedef struct pooljit_spec pooljit_spec;      // NOLINT(modernize-use-using): C

/* Compiles `spec` (or finds it in the cache) and stores a kernel in *kernel; NULL there on failure.
 *
 * options: NULL for defaults, else words separated by spaces:
 *
 *   backend=auto|xbyak|llvm|interpreter|reference
 *       auto: xbyak, or what fallback says
 *   isa=auto|avx2|avx512
 *       auto: the best that this machine has
 *   threads=N
 *       0, the default: as many as the process may use; tiny layers stay on the calling thread
 *   schedule=FAMILY(...)
 *       as `pooljit show --stage schedule` prints it; default: the best
 *   verify=0|1
 *       1: the code is proved right for every input before it is handed out; a child process runs it, for a
 *       fraction of a second to minutes
 *   tune_db=FILE
 *       a file of `pooljit tune`, without blanks in its name: where it has a schedule for the spec that was
 *       measured on this machine, that is taken; default: the file that the environment variable
 *       POOLJIT_TUNE_DB names, if it is there
 *   measure=N|same_bits|N,same_bits
 *       times N schedules (6 with same_bits alone) when the signature is first compiled, on the calling
 * thread and on memory of its own, and takes the fastest: about 3 ms, or some 40 runs of a slow layer; once,
 *       however many threads ask. Sums of floats may be added in another order than the default's, but with
 *       same_bits. 0: the default is taken. schedule= and an entry of tune_db weigh more; what was measured
 *       is added to the file of tune_db, which is made if it is not there (not with same_bits, which leaves
 *       it alone). Default: what pooljit_set_measure or the environment variable POOLJIT_MEASURE says
 *   fallback=reference|never
 *       what backend=auto is where no machine code can run (the processor has no AVX2, or the system refuses
 *       executable memory): the reference, the default, whose results are the same but slow; never: an error.
 *       With isa= or schedule= it is an error too. pooljit_info.fallback says when it happened
 *   label=NAME
 *       the layer's name in its model, resnet/pool1, which tools show before ours: letters, digits and any of
 *       _./-:+#@, at most 128. Layers of one signature share their code; where names are asked for, each
 * label has code of its own names=perf,jitdump,gdb who is told the kernel's name ("Names" above); default:
 * who the environment variable POOLJIT_NAMES names
 *
 * Errors: "spec.*" for the spec, "runtime.options" and "runtime.label" for an option, "runtime.null",
 * "runtime.isa" for an ISA that the machine lacks, "backend.missing" for a back end that the build lacks,
 * "schedule.*" for a schedule that does not suit the spec, "jit.memory" and "jit.executable" where there is
 * no memory for code, or it may not be executed, "prove.*" with verify=1 where the code is not proved,
 * "tune.open" and "tune.format" for the file of tune_db. */
POOLJIT_API int pooljit_compile(const char* spec, const char* options, pooljit_kernel** kernel);

/* What the option "measure" is where it is not given, for the process, from now on: "6", "same_bits", "0".
 * NULL: what the environment variable POOLJIT_MEASURE says, as at first. Errors: "runtime.options". */
POOLJIT_API int pooljit_set_measure(const char* measure);

/* Reads and checks a spec and options once, for callers that ask for its kernel again and again:
 * pooljit_spec_compile then finds it in the cache without reading a text. Nothing is compiled here. *object
 * is immutable and may be used by many threads at once; NULL there on failure.
 *
 * options and errors: those of pooljit_compile that show before anything is compiled. The environment
 * variable POOLJIT_TUNE_DB is read here. */
POOLJIT_API int pooljit_spec_read(const char* spec, const char* options, pooljit_spec** object);

/* pooljit_spec_read for a layer as data. Text and struct give the same spec, and so the same kernel.
 *
 * Errors: those of pooljit_spec_read; "layer.size" for layer->size; "layer.field" for a field that no text
 * could say. Messages name the field. */
POOLJIT_API int pooljit_spec_make(const pooljit_layer* layer, const char* options, pooljit_spec** object);

/* The layer of a spec: pooljit_spec_make makes the same spec of it. layer->size is set by the caller; no more
 * is written. Strings are valid until the spec is released. */
POOLJIT_API int pooljit_spec_layer(const pooljit_spec* object, pooljit_layer* layer);

/* What pooljit_compile does, for a spec object. Errors: the rest of those. */
POOLJIT_API int pooljit_spec_compile(const pooljit_spec* object, pooljit_kernel** kernel);

/* Gives the spec object back; NULL is allowed. Kernels made of it stay as they are. */
POOLJIT_API void pooljit_spec_release(pooljit_spec* object);

/* What is known of a spec and of a kernel. A batch of N has N times strides[0] elements more; dims[0] is 1
 * where the spec has no N or a free one, and bytes are those of a batch of dims[0]. */
typedef struct pooljit_info {  // NOLINT(modernize-use-using): C
  size_t size;                 /* sizeof(pooljit_info), set by the caller; no more is written */
  pooljit_tensor input, output;
  pooljit_tensor indices; /* dtype "" unless there are some */
  int64_t input_bytes;    /* from a view's first byte to behind its last: what a buffer must hold */
  int64_t output_bytes;
  int64_t indices_bytes;
  int32_t unbatched;     /* 1: the spec has no N */
  int32_t free_batch;    /* 1: N is said at each run */
  int32_t operand_count; /* of the epilogue, or of lp_pool_backward */
  const char* operand_dtype[POOLJIT_MAX_OPERANDS];
  int64_t operand_bytes[POOLJIT_MAX_OPERANDS];
  const char* spec;      /* canonical text */
  const char* signature; /* what the code depends on: the text with N for the batch; itself a spec */

  /* Of kernels only; else null and 0. */
  const char* backend;         /* chosen: "xbyak" */
  const char* isa;             /* chosen: "avx512"; "none" for the reference */
  const char* schedule;        /* chosen; "" for the reference */
  const char* schedule_origin; /* why that one, for people: "the default", "asked for", "tuned: FILE",
                                  "measured, 6 candidates, 2.1 ms", "the default; not measured: REASON" */
  const char* proof;           /* with verify=1: what was proved, and what is left, for people; else "" */
  int64_t code_bytes;          /* of machine code; does not grow with the tensor */
  int64_t scratch_bytes;       /* that each thread of a run needs: pooljit_run_options.scratch */
  int64_t compile_nanoseconds; /* from text to callable, when the code was made */
  const char* fallback; /* why the reference runs it instead of machine code, for people; "": it was not
                           needed */
  const char* label;    /* the option of that name */
} pooljit_info;

/* Nothing is compiled for it. Strings are valid until the spec is released. */
POOLJIT_API int pooljit_spec_info(const pooljit_spec* object, pooljit_info* info);

/* Strings are valid until the kernel is released. */
POOLJIT_API int pooljit_kernel_info(const pooljit_kernel* kernel, pooljit_info* info);

/* How many parts of pooljit_run_part are worth having with this batch, on as many threads, in *parts: each
 * has about 5 us of work, beside the 0.5 us that a part costs. 1 to 256; 1 for tiny layers and for the
 * reference. An engine takes the least of this and of its threads. Errors: "run.batch", "runtime.null". */
POOLJIT_API int pooljit_useful_parts(const pooljit_kernel* kernel, int64_t batch, int* parts);

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
 * and each other but nothing that is written. lp_pool_backward takes two: the forward pass's input, laid out
 * like the output, and the forward pass's output, laid out like the input.
 *
 * Errors: those of pooljit_run; "run.operands" where `count` is not what the spec takes, also from
 * pooljit_run, which gives none; "run.null". */
POOLJIT_API int pooljit_run_operands(const pooljit_kernel* kernel, const void* input, void* output,
                                     void* indices, const void* const* operands, int count);

/* Does task(argument, 0) ... task(argument, tasks - 1), each once, in any order, on any threads, and returns
 * when all have returned. Called from many threads at once if kernels are run from many. */
// NOLINTBEGIN(modernize-use-using): C
typedef void (*pooljit_task)(void* argument, int64_t number);
typedef void (*pooljit_parallel)(void* context, int64_t tasks, pooljit_task task, void* argument);
// NOLINTEND(modernize-use-using)

/* How to run, where it differs from what the kernel was compiled for. */
typedef struct pooljit_run_options {  // NOLINT(modernize-use-using): C
  size_t size;                        /* sizeof(pooljit_run_options) */
  int64_t batch;                      /* with has_batch: instead of the spec's; 0 and more */
  int32_t has_batch;                  /* 1: the buffers hold `batch`. The same code serves all. */
  int32_t operand_count;              /* what the spec's epilogue takes: pooljit_run_operands */
  const void* const* operands;
  pooljit_parallel parallel; /* the caller's own pool, instead of the built-in one; null: that */
  void* context;             /* of parallel */
  int32_t threads;           /* that parallel works on at once; 0: as many as the kernel was compiled for */
  int32_t reserved;          /* 0 */
  /* pooljit_run_part: info.scratch_bytes that no other thread uses meanwhile, at a multiple of 64. Null: the
   * thread's own, which it keeps from the first time on. */
  void* scratch;
} pooljit_run_options;

/* pooljit_run with options; NULL for none. Costs some nanoseconds more.
 *
 * Errors: those of pooljit_run and pooljit_run_operands; "run.batch" for a batch that is negative, of a spec
 * without N, not given where the spec has a free one, or with more indices than index_dtype has numbers;
 * "runtime.struct" for options->size. */
POOLJIT_API int pooljit_run_with(const pooljit_kernel* kernel, const void* input, void* output, void* indices,
                                 const pooljit_run_options* options);

/* Does one of `parts` shares of the run, for callers that are inside their own threads already: each of them
 * passes the same arguments and another `part` of 0 to parts - 1. Any number of parts will do; together they
 * do what one run does, to the last bit, and some may have nothing to do. Makes no thread and takes no lock;
 * allocates nothing but the thread's scratch memory, once, and that only without options->scratch.
 * options->parallel is not used.
 *
 * Errors: those of pooljit_run_with; "run.part". A part that fails has written nothing. */
POOLJIT_API int pooljit_run_part(const pooljit_kernel* kernel, const void* input, void* output, void* indices,
                                 const pooljit_run_options* options, int part, int parts);

/* --- Several pools of one tensor, pools(...). */

/* How many outputs a run takes, and arrays of indices: 1 and 0 or 1 for one pool. 0 for NULL. */
POOLJIT_API int pooljit_output_count(const pooljit_kernel* kernel);
POOLJIT_API int pooljit_indices_count(const pooljit_kernel* kernel);

/* What is known of an output; *bytes is what a buffer for it must hold. NULL is allowed for either. Strings
 * are valid until the kernel is released. Errors: "runtime.range" for a number that is not below the count.
 */
POOLJIT_API int pooljit_output_info(const pooljit_kernel* kernel, int number, pooljit_tensor* tensor,
                                    int64_t* bytes);

/* The same of an array of indices: of the members that have them, in their order. */
POOLJIT_API int pooljit_indices_info(const pooljit_kernel* kernel, int number, pooljit_tensor* tensor,
                                     int64_t* bytes);

/* pooljit_run_with for all of them: a pointer for each output, and one for each member that has indices, in
 * the order of the members. With concat=True there is one output; the indices of a member lie packed in its
 * layout. options->operands has those of the first member's steps, then the next one's; with concat=True a
 * tensor lies as the member's part of the output does.
 *
 * Errors: those of pooljit_run_with; "run.outputs" and "run.indices" for other counts than the kernel's. */
POOLJIT_API int pooljit_run_outputs(const pooljit_kernel* kernel, const void* input, void* const* outputs,
                                    int output_count, void* const* indices, int indices_count,
                                    const pooljit_run_options* options);

/* pooljit_run_part for all of them. Errors: those of pooljit_run_outputs; "run.part". */
POOLJIT_API int pooljit_run_outputs_part(const pooljit_kernel* kernel, const void* input,
                                         void* const* outputs, int output_count, void* const* indices,
                                         int indices_count, const pooljit_run_options* options, int part,
                                         int parts);

/* What was proved of a kernel that was compiled with verify=1, for people: a line per part, and what is left.
 * "" without verify=1, and for NULL. Valid until the kernel is released. Never NULL. */
POOLJIT_API const char* pooljit_proof(const pooljit_kernel* kernel);

/* Gives the kernel back; NULL is allowed. Its code stays in the cache. */
POOLJIT_API void pooljit_release(pooljit_kernel* kernel);

/* --- The cache of kernels, one for the process. */

/* Counters begin at 0 with the process. */
typedef struct pooljit_cache {  // NOLINT(modernize-use-using): C
  size_t size;                  /* sizeof(pooljit_cache), set by the caller; no more is written */
  uint64_t kernels, bytes;      /* kept now: codes, and memory for them */
  uint64_t kernel_limit;        /* 1024 unless set */
  uint64_t byte_limit;          /* 64 MiB unless set */
  uint64_t hits;                /* compilations that found their code, or waited for another's */
  uint64_t misses;              /* that had to make it */
  uint64_t evictions;           /* codes that went to make room */
  uint64_t compile_nanoseconds; /* spent on codes that were made, in all */
} pooljit_cache;

POOLJIT_API int pooljit_cache_info(pooljit_cache* info);

/* Keeps at most so many kernels and bytes from now on; 0 keeps none. What was used longest ago goes first.
 * Kernels that somebody holds stay alive. Never fails. */
POOLJIT_API void pooljit_cache_limit(uint64_t kernels, uint64_t bytes);

/* Forgets all kernels; those that somebody holds stay alive. */
POOLJIT_API void pooljit_cache_clear(void);

/* --- For tuners. */

typedef struct pooljit_schedule_list pooljit_schedule_list;  // NOLINT(modernize-use-using): C

typedef struct pooljit_schedule {  // NOLINT(modernize-use-using): C
  size_t size;                     /* sizeof(pooljit_schedule), set by the caller; no more is written */
  const char* text;                /* for the option schedule=; valid until the list is released */
  double predicted_seconds; /* of a call on one thread, by the cost model: good for an order, no more */
  int32_t is_default;       /* 1: what compiling takes where it is told nothing */
} pooljit_schedule;

/* Every schedule that makes another Program of the spec, the cheapest prediction first. Of the spec's options
 * only backend and isa matter. *list is NULL on failure. Errors: those of pooljit_spec_compile. */
POOLJIT_API int pooljit_schedules(const pooljit_spec* object, pooljit_schedule_list** list);
POOLJIT_API size_t pooljit_schedule_count(const pooljit_schedule_list* list);
/* Errors: "runtime.range" for a number that is not below the count. */
POOLJIT_API int pooljit_schedule_get(const pooljit_schedule_list* list, size_t number,
                                     pooljit_schedule* schedule);
POOLJIT_API void pooljit_schedule_list_release(pooljit_schedule_list* list); /* NULL is allowed */

/* Why the spec gets its schedule where nothing was measured: what each family of schedules offers, leaves to
 * others or refuses, the price by part, and what decided. Writes what `pooljit schedules SPEC --why` prints,
 * for people, into the `bytes` of `text`, cut to fit and ended by a 0; NULL is allowed. Errors: those of
 * pooljit_spec_compile; "schedule.unpool". */
POOLJIT_API int pooljit_explain(const pooljit_spec* object, char* text, size_t bytes);

typedef struct pooljit_timing {  // NOLINT(modernize-use-using): C; will not grow
  double median;                 /* seconds per call */
  double spread;                 /* half the distance of the quartiles, as a share of the median */
  int64_t samples;
} pooljit_timing;

/* Times kernels of one spec, on data of its own, taking turns for about so many seconds in all; stores
 * `count` timings. Errors: "tune.kernels" (of several specs), "tune.empty" (a batch of 0),
 * "system.memory". */
POOLJIT_API int pooljit_time(const pooljit_kernel* const* kernels, size_t count, double seconds,
                             pooljit_timing* timings);

/* Proves the kernel's machine code right for every input. Writes what was proved, for people, into the
 * `bytes` of `text`, cut to fit and ended by a 0; NULL is allowed. Errors: "prove.*". */
POOLJIT_API int pooljit_prove(const pooljit_kernel* kernel, char* text, size_t bytes);

/* --- */

/* "id: message (hint)" of the calling thread's last call that failed; "" if none did. Valid until the
 * thread's next call that fails. Never NULL. */
POOLJIT_API const char* pooljit_last_error(void);

/* "0.1.0" */
POOLJIT_API const char* pooljit_version(void);

#ifdef __cplusplus
}
#endif

#endif /* POOLJIT_H */
