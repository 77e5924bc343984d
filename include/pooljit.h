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
 * their end: set the first member, `size`, to sizeof of the struct and the rest to 0 before use; 0 is the
 * default of each. A library that is older than the struct refuses fields that it does not know
 * ("runtime.struct"), unless they are 0. Structs without `size` never grow.
 *
 * Nothing is ignored in silence: an argument that the call has no use for is an error.
 *
 * Threads. Every function may be called from any thread at any time. A kernel is immutable: one kernel may be
 * run by many threads at once. Release it once, when no thread uses it any more. Compiling the same spec from
 * many threads makes its code once.
 *
 * fork(). A kernel runs in the child as in the parent, and the child may compile. The child makes worker
 * threads of its own when it first needs them. fork() waits until other threads have made the code that they
 * are making: microseconds, with LLVM milliseconds.
 *
 * Scratch memory. Kernels of large windows may use up to 256 KiB. It is thread-local: allocated at the first
 * such run, kept until the thread exits. If the allocation fails, the thread waits for a shared reserve, so a
 * kernel can always run.
 *
 * Signals. No function installs a handler. pooljit_run of a kernel compiled for one thread takes no lock,
 * allocates nothing and calls nothing, so a signal handler may interrupt it and run a kernel, except one with
 * scratch memory. The other functions are not async-signal-safe. No exception leaves a function. Kernels
 * throw nothing. They have unwind tables: backtrace(), debuggers and profilers see through them at every
 * instruction. Still, never throw or longjmp across a running one: scratch memory stays taken.
 *
 * Names. The environment variable POOLJIT_NAMES, read once, or the option "names" makes kernels known to
 * tools by names like pooljit:max_pool2d_f32_nchw_64x112x112_k3s2p1_avx512, with the option "label" like
 * pooljit:resnet/pool1:max_pool2d_f32_nchw_64x112x112_k3s2p1_avx512, and they keep frame pointers: perf
 * (/tmp/perf-PID.map), jitdump (jit-PID.dump in JITDUMPDIR or /tmp, with lines for perf annotate), gdb (its
 * JIT interface), or several joined by commas. Files have mode 0600; unwritable ones are left out. By default
 * there are no names.
 */
#ifndef POOLJIT_H
#define POOLJIT_H

#include <stddef.h>
#include <stdint.h>

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

/* That one epilogue takes. */
#define POOLJIT_MAX_OPERANDS 8

typedef struct pooljit_kernel pooljit_kernel;
typedef struct pooljit_spec pooljit_spec;

/* How to compile. 0 and null are the defaults. */
typedef struct pooljit_options {
  size_t size;
  const char* backend; /* "auto" xbyak llvm interpreter reference; auto: xbyak */
  const char* isa;     /* "auto" avx2 avx512; auto: the best that this machine has */
  /* As pooljit_info.schedule and `pooljit show --stage schedule` have it; null: the best one for the spec. */
  const char* schedule;
  /* Of the built-in pool; 0: as many as the process may use. Tiny layers stay on the calling thread. */
  int32_t threads;
  /* 1: the code is proved right for every input before it is handed out; a child process runs it, for a
   * fraction of a second to minutes. A tensor that is too large for that is proved for a smaller one:
   * pooljit_info.proof begins with that, and says which. */
  int32_t verify;
  /* A file of `pooljit tune`: if it has a schedule for the spec that was measured on this machine, that is
   * taken. `schedule` takes precedence. Null: the file that the environment variable POOLJIT_TUNE_DB names,
   * if it is there. */
  const char* tune_db;
  /* Times a few schedules when the signature is first compiled, on the calling thread and on memory of its
   * own, and takes the fastest: how many ("6"), "same_bits" for only those that give the default's bits, or
   * both ("8,same_bits"); "0": none. About 3 ms, or some 40 runs of a slow layer; once, however many threads
   * ask. Without same_bits, sums of floats may be added in another order than the default's. `schedule` and
   * an entry of `tune_db` take precedence. The result is added to `tune_db`, which is made if it is not there
   * (not with same_bits, which leaves it alone). Null: what pooljit_set_measure or the environment variable
   * POOLJIT_MEASURE says. */
  const char* measure;
  /* Who is told the kernel's name ("Names" above): "perf", "jitdump" and "gdb", several joined by commas;
   * besides those that the environment variable POOLJIT_NAMES names. */
  const char* names;
  /* For backend "auto", if no machine code can run (the processor has no AVX2, or the system refuses
   * executable memory). "reference", the default, runs the reference: the same results, but slow. "never": an
   * error. With isa or schedule it is an error too. pooljit_info.fallback says when it happened. */
  const char* fallback;
  /* The layer's name in its model, "resnet/pool1": `names` and listings show it before ours. Letters, digits
   * and any of _./-:+#@, at most 128. Layers of one signature share their code, whatever their labels; if
   * names are asked for, each label has code of its own. */
  const char* label;
  /* Of a spec with free dims: how many sizes are kept, at most 4096; the oldest run goes first. 0: 64. */
  int32_t sizes;
  /* Of a spec with free dims: the run of a size that makes code for it alone, with the same bits; runs by
   * parts are not counted. 1: each size has only its own; -1: none has, as with verify; 0: the run that pays
   * for it, the 1000th at the latest, in NCHW the first if rows do not fill two vectors. */
  int32_t exact_after;
} pooljit_options;

/* The same as a text, for command lines and files of settings: the fields as words "name=value" with blanks
 * between them, in any order, "isa=avx2 threads=2 schedule=channels_last(lanes=8, vectors_side_by_side=2)".
 * Fills in *options, whose size is set by the caller. The texts that it points to are put into the `bytes` of
 * `room`; as many as the text has, and one more, are enough.
 *
 * Errors: "runtime.options" for a word that is no option, and for too little room; "runtime.null";
 * "runtime.struct". */
POOLJIT_API int pooljit_options_read(const char* text, pooljit_options* options, char* room, size_t bytes);

/* Compiles `spec` (or finds it in the cache) and stores a kernel in *kernel; NULL there on failure. options:
 * NULL for defaults.
 *
 * Errors: "spec.*" for the spec, "runtime.options" and "runtime.label" for an option, "runtime.null",
 * "runtime.struct" for options->size, "runtime.isa" for an ISA that the machine lacks, "backend.missing" for
 * a back end that the build lacks, "schedule.*" for a schedule that does not suit the spec, "jit.memory" and
 * "jit.executable" where there is no memory for code, or it may not be executed, "prove.*" with verify=1
 * where the code is not proved, "tune.open" and "tune.format" for the file of tune_db. */
POOLJIT_API int pooljit_compile(const char* spec, const pooljit_options* options, pooljit_kernel** kernel);

/* Sets the default of the option "measure" for the process from now on: "6", "same_bits", "0". NULL: what the
 * environment variable POOLJIT_MEASURE says, as at first. Errors: "runtime.options". */
POOLJIT_API int pooljit_set_measure(const char* measure);

/* Reads and checks a spec and options once, for callers that ask for its kernel repeatedly:
 * pooljit_spec_compile then finds it in the cache without reading a text. Nothing is compiled here. *object
 * is immutable and may be used by many threads at once; NULL there on failure.
 *
 * options and errors: those of pooljit_compile that show before anything is compiled. The environment
 * variable POOLJIT_TUNE_DB is read here. */
POOLJIT_API int pooljit_spec_read(const char* spec, const pooljit_options* options, pooljit_spec** object);

/* pooljit_spec_read for a layer as data. Text and struct give the same spec, and so the same kernel.
 *
 * Errors: those of pooljit_spec_read; "layer.size" for layer->size; "layer.field" for a field that no text
 * could say. Messages name the field. */
POOLJIT_API int pooljit_spec_make(const pooljit_layer* layer, const pooljit_options* options,
                                  pooljit_spec** object);

/* The same for several pools of one tensor; one member alone is that pool. Errors also: "layer.size" for
 * pools->size, "spec.chain"; messages name the member. */
POOLJIT_API int pooljit_spec_make_pools(const pooljit_pools* pools, const pooljit_options* options,
                                        pooljit_spec** object);

/* The layer of a spec: pooljit_spec_make makes the same spec of it. layer->size is set by the caller; no more
 * is written. Strings are valid until the spec is released. Errors: "pools.one" for several pools. */
POOLJIT_API int pooljit_spec_layer(const pooljit_spec* object, pooljit_layer* layer);

/* The pools of a spec, of one pool too: pooljit_spec_make_pools makes the same spec of them. pools->size is
 * set by the caller. Members and strings are valid until the spec is released. */
POOLJIT_API int pooljit_spec_pools(const pooljit_spec* object, pooljit_pools* pools);

/* What pooljit_compile does, for a spec object. Errors: the rest of those. */
POOLJIT_API int pooljit_spec_compile(const pooljit_spec* object, pooljit_kernel** kernel);

/* Sizes. A spec may leave spatial dims free: max_pool2d(float32[N,64,H,W], kernel_size=3). Its kernel is run
 * with pooljit_args.dims. One piece of code serves all sizes; making the table of a new size takes some
 * microseconds. For some layers the first run of a size compiles instead (pooljit_info.schedule_origin says
 * so, and why). Questions about one size need its spec or kernel: these functions make them. `dims` are the
 * extents of all spatial dims, in their order, `count` of them; of a backward pooling those of the forward
 * input, of an unpool those of its values. A spec or kernel that has no free dims gives itself, if they are
 * its own.
 *
 * pooljit_spec_sized compiles nothing. Errors: "run.dims" for a list that is null or empty, "spec.sizes" for
 * another count or another size than the spec has, other "spec.*" for a size that the layer cannot have, and
 * of pooljit_kernel_sized those of compiling. */
POOLJIT_API int pooljit_spec_sized(const pooljit_spec* object, const int64_t* dims, int32_t count,
                                   pooljit_spec** sized);
POOLJIT_API int pooljit_kernel_sized(const pooljit_kernel* kernel, const int64_t* dims, int32_t count,
                                     pooljit_kernel** sized);

/* Gives the spec object back; NULL is allowed. Kernels made of it stay as they are. */
POOLJIT_API void pooljit_spec_release(pooljit_spec* object);

/* The facts of a spec and of a kernel. A batch of N has N times strides[0] elements more; dims[0] is 1 where
 * the spec has no N or a free one, and bytes are those of a batch of dims[0]. With free dims, every extent,
 * stride and count of bytes that depends on the size is 0; of a kernel so are the facts of its code, if each
 * size has code of its own. */
typedef struct pooljit_info {
  size_t size; /* sizeof(pooljit_info), set by the caller; no more is written */
  pooljit_tensor input;
  pooljit_tensor output;  /* of several pools the first; pooljit_spec_output and _kernel_output have all */
  pooljit_tensor indices; /* dtype "" unless there are some; of several the first */
  int64_t input_bytes;    /* from a view's first byte to behind its last: what a buffer must hold */
  int64_t output_bytes;
  int64_t indices_bytes;
  int32_t output_count;  /* that a run takes: 1, of several pools more */
  int32_t indices_count; /* arrays of indices that a run takes: 0 or 1, of several pools more */
  int32_t unbatched;     /* 1: the spec has no N */
  int32_t free_batch;    /* 1: N is said at each run */
  int32_t free_dims;     /* bit d: spatial dim d is said at each run */
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
  int64_t scratch_bytes;       /* that each thread of a run needs: pooljit_args.scratch */
  int64_t compile_nanoseconds; /* from text to callable, when the code was made */
  const char* fallback; /* why the reference runs it instead of machine code, for people; "": it was not
                           needed */
  const char* label;    /* the option of that name */
} pooljit_info;

/* Nothing is compiled for it. Strings are valid until the spec is released. */
POOLJIT_API int pooljit_spec_info(const pooljit_spec* object, pooljit_info* info);

/* Strings are valid until the kernel is released. */
POOLJIT_API int pooljit_kernel_info(const pooljit_kernel* kernel, pooljit_info* info);

/* The facts of an output, and of an array of indices; *bytes is the size of a buffer for it. NULL is allowed
 * for either. Numbers count from 0, in the order of the members; indices are those of the members that have
 * them. Nothing is compiled for it. Strings are valid until the object is released. Errors: "runtime.range"
 * for a number that is not below the count; of free dims "spec.free", "run.dims". */
POOLJIT_API int pooljit_spec_output(const pooljit_spec* object, int number, pooljit_tensor* tensor,
                                    int64_t* bytes);
POOLJIT_API int pooljit_spec_indices(const pooljit_spec* object, int number, pooljit_tensor* tensor,
                                     int64_t* bytes);
POOLJIT_API int pooljit_kernel_output(const pooljit_kernel* kernel, int number, pooljit_tensor* tensor,
                                      int64_t* bytes);
POOLJIT_API int pooljit_kernel_indices(const pooljit_kernel* kernel, int number, pooljit_tensor* tensor,
                                       int64_t* bytes);

/* How many parts (pooljit_args.parts) are worth having with this batch, on as many threads, in *parts: each
 * has about 5 us of work, beside the 0.5 us that a part costs. 1 to 256; 1 for tiny layers and for the
 * reference. An engine takes the least of this and of its threads. Errors: "run.batch", "run.dims" (the spec
 * has free dims), "runtime.null". */
POOLJIT_API int pooljit_useful_parts(const pooljit_kernel* kernel, int64_t batch, int* parts);

/* --- Running. */

/* Pools. `input` and `output` point to the first element (all coordinates 0) of tensors of the spec's dtype,
 * which lie in memory as the spec's layout or strides say; any alignment of the element will do (outputs of 8
 * MB and more are written faster if they begin at a multiple of 64). `indices` is needed if the spec has
 * return_indices=True (written, laid out like the output: of index_dtype, int64 by default, counted in
 * index_scope, the plane of one n and c by default, -1 for an empty window) and by max_pool_backward and
 * max_unpool (read, laid out like the input); it is NULL otherwise. Nothing but the elements of the three
 * views is read or written. They must not overlap.
 *
 * This is the simple call. pooljit_run_with takes more: a batch, several outputs, operands, threads.
 *
 * Errors: "run.null", "run.indices" (given but not asked for), "run.overlap", "run.batch" (the spec leaves it
 * free), "run.dims" (it leaves spatial dims free), "run.operands", "run.outputs" (the spec has several).
 * Nothing is written then. A batch of 0 succeeds, whatever the pointers. */
POOLJIT_API int pooljit_run(const pooljit_kernel* kernel, const void* input, void* output, void* indices);

/* Does task(argument, 0) ... task(argument, tasks - 1), each once, in any order, on any threads, and returns
 * when all have returned. Called from many threads at once if kernels are run from many. */
typedef void (*pooljit_task)(void* argument, int64_t number);
typedef void (*pooljit_parallel)(void* context, int64_t tasks, pooljit_task task, void* argument);

/* All that a run can be told. */
typedef struct pooljit_args {
  size_t size; /* sizeof(pooljit_args) */
  const void* input;
  void* const* outputs;        /* info.output_count pointers; with concat=True one */
  void* const* indices;        /* info.indices_count pointers: for each member that has indices, in order */
  const void* const* operands; /* info.operand_count pointers */
  int32_t output_count;
  int32_t indices_count;
  int32_t operand_count;
  int32_t has_batch; /* 1: the buffers hold `batch`. The same code serves all. */
  int64_t batch;     /* with has_batch: instead of the spec's; 0 and more */
  /* The extents of all spatial dims, as pooljit_kernel_sized takes them. Null: those of the spec, which has
   * to know them all. */
  const int64_t* dims;
  int32_t dim_count;

  /* Who does it. By default the built-in pool, with as many threads as the kernel was compiled for. */
  int32_t threads;           /* that work at once; 0: as many as the kernel was compiled for */
  int32_t part;              /* with parts: which one, 0 to parts - 1 */
  int32_t parts;             /* more than 0: only one of so many shares of the run, on the calling thread */
  int32_t has_bytes;         /* 1: the four counts below are given, and checked */
  pooljit_parallel parallel; /* the caller's own pool, instead of the built-in one; null: that */
  void* context;             /* of parallel */
  /* With parts: info.scratch_bytes that no other thread uses meanwhile, at a multiple of 64. Null: the
   * thread's own, which it keeps from the first time on. */
  void* scratch;

  /* With has_bytes: how many bytes there are from each pointer on. A buffer that is too small is an error. */
  int64_t input_bytes;
  const int64_t* output_bytes;
  const int64_t* indices_bytes;
  const int64_t* operand_bytes;
} pooljit_args;

/* pooljit_run with arguments. Costs some tens of nanoseconds more.
 *
 * operands: the arrays and tensors of the spec's epilogue, in the order of its steps, of several pools the
 * first member's before the next one's: two arrays for scale_channel (a, then b), one for mul_channel and
 * add_channel, each with one number per channel, float32 or, where the epilogue computes in it, float64
 * (docs/semantics.md); a tensor for add and mul, of its dtype and laid out like the output, with concat=True
 * like the member's part of it. They are read only, and may overlap the input and each other but nothing that
 * is written.
 *
 * parts: for callers that are inside their own threads already. Each passes the same arguments and another
 * part. Any number of parts will do; together they do what one run does, to the last bit, and some may have
 * nothing to do. Makes no thread and takes no lock; allocates nothing but the thread's scratch memory, once,
 * and that only without args->scratch.
 *
 * dims: a size that is new, or was forgotten, costs some microseconds more, or a compilation if each size has
 * code of its own. A known one costs 0.1 us more than a run of the kernel for that size.
 *
 * Errors: those of pooljit_run; with dims those of pooljit_kernel_sized; "run.batch" for a batch that is
 * negative, larger than memory can be, of a spec without N, given without has_batch, not given where the spec
 * has a free one, or with more indices than index_dtype has numbers; "run.outputs", "run.indices" and
 * "run.operands" for other counts than the kernel's; "run.threads" for fewer than 0 or more than 256;
 * "run.part" for a part that is not below parts, and for parts with threads or parallel; "run.scratch" for
 * scratch without parts or at no multiple of 64; "run.parallel" for context without parallel, and for a
 * parallel that did not do each task once: what is written is then not all of the result; "run.buffer" for a
 * buffer that is too small, and for byte counts without has_bytes; "runtime.null" for a list that is null;
 * "runtime.struct" for args->size. Nothing is written by a call that fails, but for "run.parallel". */
POOLJIT_API int pooljit_run_with(const pooljit_kernel* kernel, const pooljit_args* args);

/* Gives the kernel back; NULL is allowed. Its code stays in the cache. */
POOLJIT_API void pooljit_release(pooljit_kernel* kernel);

/* --- The cache of kernels, one for the process. */

/* Counters begin at 0 with the process. */
typedef struct pooljit_cache {
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

/* Keeps at most so many kernels and bytes from now on; 0 keeps none. The kernel that was used longest ago
 * goes first. Kernels that somebody holds stay alive. Never fails. */
POOLJIT_API void pooljit_cache_limit(uint64_t kernels, uint64_t bytes);

/* Forgets all kernels; those that somebody holds stay alive. */
POOLJIT_API void pooljit_cache_clear(void);

/* --- Errors. */

/* "id: message (hint)" of the calling thread's last call that failed; "" if none did. Valid until the
 * thread's next call that fails. Never NULL. */
POOLJIT_API const char* pooljit_last_error(void);

/* The same by part. */
typedef struct pooljit_error {
  size_t size;         /* sizeof(pooljit_error), set by the caller; no more is written */
  int32_t code;        /* POOLJIT_INVALID, ...; POOLJIT_OK if no call failed */
  const char* id;      /* stable: "spec.padding", "run.overlap"; docs/errors.md lists them all */
  const char* message; /* names the offending value */
  const char* hint;    /* what to write instead; may be "" */
} pooljit_error;

/* Strings are valid until the thread's next call that fails. Errors: "runtime.null", "runtime.struct". */
POOLJIT_API int pooljit_last_error_info(pooljit_error* error);

/* "0.1.0" */
POOLJIT_API const char* pooljit_version(void);

#ifdef __cplusplus
}
#endif

#endif /* POOLJIT_H */
