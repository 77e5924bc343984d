// pooljit's C++ interface: one line of text describes a pooling layer, a kernel made for exactly that layer
// comes back.
//
//   const pooljit::Kernel kernel =
//       pooljit::compile("max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)");
//   kernel.run(input, output);
//
// Needs nothing but the standard library (C++20). Every mistake of the caller is a pooljit::Error.
//
// Threads: every function may be called from any thread. A Kernel is immutable; one kernel may be run by many
// threads at once. Compiling the same spec from many threads makes its code once.
// fork(): kernels run in the child as in the parent; a child forked while another thread was inside compile()
// must not call compile().
// Scratch memory: kernels of large windows may use up to 256 KiB that each thread keeps from its first such
// run until it ends. Signals: no handler is installed; Kernel::run on one thread takes no lock and allocates
// nothing but scratch memory once. Kernels have unwind tables, for backtrace(), debuggers and profilers; do
// not throw or longjmp across a running one from a signal handler all the same.
// Names: POOLJIT_NAMES=perf,jitdump,gdb in the environment, or Options::names, makes kernels known to these
// tools (pooljit.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pooljit_layer.h"

#if defined(__GNUC__)
#define POOLJIT_CXX_API __attribute__((visibility("default")))
#else
#define POOLJIT_CXX_API
#endif

namespace pooljit {

namespace runtime {
class CheckedSpec;
class Kernel;
}  // namespace runtime

// A mistake of the caller's, something unsupported, or a refusal of the system. what() is "id: message
// (hint)".
class POOLJIT_CXX_API Error : public std::runtime_error {
 public:
  enum class Kind : uint8_t {
    invalid = 1,      // the spec, an option or an argument is wrong
    unsupported = 2,  // it is right, but this build or this machine cannot do it
    system = 3,       // the system refused memory or a permission
  };
  Error(Kind kind, std::string_view id, std::string_view message, std::string_view hint);
  Error(const Error&);
  Error& operator=(const Error&);
  ~Error() override;

  Kind kind() const noexcept { return kind_; }
  // Stable: "spec.padding", "runtime.isa"; docs/errors.md lists them all.
  const std::string& id() const noexcept { return id_; }
  // What to write instead; may be empty.
  const std::string& hint() const noexcept { return hint_; }

 private:
  Kind kind_;
  std::string id_, hint_;
};

// A reference to something callable, which must outlive it. Costs nothing to make.
template <typename Signature>
class FunctionRef;
template <typename Return, typename... Args>
class FunctionRef<Return(Args...)> {
 public:
  template <typename Callable>
  // The constraint keeps it from hiding the copy; clang-tidy 14 does not read constraints.
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>) FunctionRef(Callable&& callable)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Return {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(static_cast<Args>(args)...);
        }) {}
  Return operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  Return (*call_)(void*, Args...);
};

// Where a kernel's work is split over threads. Derive from it to use an engine's own pool.
struct POOLJIT_CXX_API ThreadPool {
  virtual ~ThreadPool();
  // How many threads work at once, the calling one included; >= 1. Kernels cut their work to suit it.
  virtual int threads() const = 0;
  // Calls task(0) ... task(tasks - 1), each once, in any order, on any threads, and returns when all have
  // returned. Called from many threads at once if kernels are run from many. `task` does not throw.
  virtual void parallel(int64_t tasks, FunctionRef<void(int64_t)> task) = 0;
};

struct Timing;

// How to compile. The words are those of pooljit_compile's options.
struct Options {
  // auto xbyak llvm interpreter reference; auto: xbyak, or what `fallback` says
  std::string backend = "auto";
  std::string isa = "auto";  // auto avx2 avx512; auto: the best that this machine has
  // As `pooljit show --stage schedule` prints it; empty: the best one for the spec.
  std::string schedule = {};
  // Of the built-in pool; 0: as many as the process may use. Tiny layers stay on the calling thread.
  int threads = 0;
  // Proves the code right for every input before it is handed out, in a child process; a fraction of a second
  // to minutes. What is too large for that is proved for a smaller tensor: Kernel::proof() begins with that,
  // and says which.
  bool verify = false;
  // A file of `pooljit tune`: where it has a schedule for the spec that was measured on this machine, that is
  // taken; `schedule` weighs more. Empty: the file that the environment variable POOLJIT_TUNE_DB names, if it
  // is there.
  std::string tune_db = {};
  // Times a few schedules when the signature is first compiled, and takes the fastest: how many ("6"),
  // "same_bits" for only such as give the default's bits, or both ("8,same_bits"); "0": none. Costs about 3
  // ms, more for layers that take longer than 0.1 ms. `schedule` and an entry of `tune_db` weigh more; what
  // was measured is added to `tune_db`. Empty: what set_measure() says.
  std::string measure = {};
  // Who is told the kernel's name: "perf", "jitdump" and "gdb", several joined by commas; besides those that
  // the environment variable POOLJIT_NAMES names. Empty: nobody.
  std::string names = {};
  // What backend "auto" is where no machine code can run (the processor has no AVX2, or the system refuses
  // executable memory): "reference", whose results are the same but slow; "never": an error. What asks for an
  // isa or a schedule asks for machine code, and fails too. Kernel::fallback() says when it happened.
  std::string fallback = "reference";
  // The layer's name in its model, "resnet/pool1": `names` show it before ours. Letters, digits and any of
  // _./-:+#@, at most 128. Layers of one signature share their code, under whatever label; where names are
  // asked for each label has code of its own. Errors: "runtime.label".
  std::string label = {};
};

// A spec and how to compile it, read and checked once: a cheap handle that can be copied. compile() finds its
// kernel in the cache in half the time that a text takes, which has to be read and hashed.
class POOLJIT_CXX_API Spec {
 public:
  // Errors: "spec.*", "runtime.options", "runtime.isa", "backend.missing", "schedule.text".
  explicit Spec(std::string_view text, const Options& options = {});
  // Of a layer as data: the same spec as its text. Errors: these, "layer.size" and "layer.field".
  explicit Spec(const pooljit_layer& layer, const Options& options = {});

  std::string_view text() const;  // canonical
  std::string_view signature()
      const;  // what the code depends on: the text with N for the batch; itself a spec
  // As Kernel's of the same names, without compiling; of several outputs the first. The batch of a spec with
  // N is 1 here.
  std::vector<int64_t> input_shape() const, output_shape() const;
  std::vector<int64_t> input_strides() const, output_strides() const;
  size_t input_bytes() const, output_bytes() const, indices_bytes() const;
  // With the tune_db that the environment named when the Spec was made.
  const Options& options() const;

 private:
  friend POOLJIT_CXX_API class Kernel compile(const Spec&);
  std::shared_ptr<const runtime::CheckedSpec> impl_;
};

// How to run, where it differs from what the kernel was compiled with.
struct RunOptions {
  // Instead of the built-in pool.
  ThreadPool* pool = nullptr;
  // Instead of the spec's batch size; the buffers hold that many. The same code serves all. -1: the spec's;
  // where that is N, the batch is given here.
  int64_t batch = -1;
  // What the spec's epilogue takes, in the order of its steps: a pointer for each array (one number per
  // channel) and each tensor (laid out like the output) of Kernel::operand_dtype(). They may overlap the
  // input and each other. lp_pool_backward takes the forward pass's input, laid out like the output, then the
  // forward pass's output, laid out like the input.
  std::span<const void* const> operands = {};
  // Kernel::run_part: Kernel::scratch_bytes() that no other thread uses meanwhile, at a multiple of 64. Null:
  // the thread's own, which it keeps from the first time on.
  void* scratch = nullptr;
};

// A compiled pooling layer: a cheap handle that can be copied. The code lives as long as any handle to it.
class POOLJIT_CXX_API Kernel {
 public:
  // Pools. `input` and `output` point to the first element (all coordinates 0) of tensors of dtype(), which
  // lie in memory as input_strides() and output_strides() say; any alignment of the element will do
  // (outputs of 8 MB and more are written faster where they begin at a multiple of 64).
  // `indices` (of the spec's index_dtype and index_scope; written, laid out like the output, or by
  // max_pool_backward and max_unpool read, laid out like the input) is given exactly if has_indices().
  // Nothing but the elements of the views is read or written.
  //
  // Errors, before anything is written: "run.null", "run.indices", "run.operands" (more or fewer than
  // operand_count() in the options), "run.overlap" (buffers overlap), "run.batch". A batch of 0 succeeds,
  // whatever the pointers.
  void run(const void* input, void* output, void* indices = nullptr, const RunOptions& options = {}) const;

  // The same of several pools of one tensor, pools(...): a pointer for each output, and one for each member
  // that has indices, in the order of the members; with concat=True there is one output, and run() above does
  // if no more than one member has indices. Errors: also "run.outputs" for another number of them.
  void run(const void* input, std::span<void* const> outputs, std::span<void* const> indices = {},
           const RunOptions& options = {}) const;
  void run_part(const void* input, std::span<void* const> outputs, std::span<void* const> indices, int part,
                int parts, const RunOptions& options = {}) const;

  // Does one of `parts` shares of the run on the calling thread, for callers that are inside their own
  // threads: each passes the same arguments and another part of 0 to parts - 1. Any number of parts will do;
  // together they do what run() does, to the last bit. Makes no thread and takes no lock. The options' pool
  // is not used.
  //
  // Errors: those of run(); "run.part". A part that fails has written nothing.
  void run_part(const void* input, void* output, void* indices, int part, int parts,
                const RunOptions& options = {}) const;

  // How many parts of run_part() are worth having with this batch, on as many threads: each has about 5 us of
  // work, beside the 0.5 us that a part costs. 1 to 256; 1 for tiny layers and for the reference. Errors:
  // "run.batch".
  int useful_parts(int64_t batch) const;

  // How many outputs a run takes, and arrays of indices: 1 and 0 or 1, of several pools more. Where a number
  // may be given it counts from 0, the default; std::out_of_range is thrown for one that is too large.
  size_t output_count() const;
  size_t indices_count() const;
  // In logical order: N (if the spec is batched; 1 if it is free), C, spatial dimensions.
  std::span<const int64_t> input_shape() const;
  std::span<const int64_t> output_shape() const;
  std::span<const int64_t> output_shape(size_t number) const;
  // Of those dimensions, in elements. The indices of one pool have its output's; a member's beside
  // concat=True are packed in its layout.
  std::span<const int64_t> input_strides() const;
  std::span<const int64_t> output_strides() const;
  std::span<const int64_t> output_strides(size_t number) const;
  // From a view's first byte to behind its last: what a buffer must hold.
  size_t input_bytes() const;
  size_t output_bytes() const;
  size_t output_bytes(size_t number) const;
  size_t indices_bytes() const;  // 0 unless has_indices()
  size_t indices_bytes(size_t number) const;
  std::string_view output_dtype(size_t number = 0) const;
  // Of what the epilogue or lp_pool_backward takes (RunOptions::operands).
  size_t operand_count() const;
  size_t operand_bytes(size_t number) const;
  std::string_view operand_dtype(size_t number) const;

  std::string_view dtype() const;  // "float32"
  bool has_indices() const;
  std::string_view spec() const;  // canonical text
  std::string_view signature()
      const;                         // what the code depends on: the text with N for the batch; itself a spec
  std::string_view backend() const;  // chosen: "xbyak"
  std::string_view isa() const;      // chosen: "avx512"; "none" for the reference
  std::string_view schedule() const;  // chosen; empty for the reference
  // Why that one, for people: "the default", "asked for", "tuned: FILE", "measured, 6 candidates, 2.1 ms",
  // "measured: FILE" (by a compile before), "the default; FILE: REASON", "the default; not measured: REASON".
  std::string_view schedule_origin() const;
  // Why the reference runs it instead of machine code (Options::fallback); empty: it was not needed.
  std::string_view fallback() const;
  std::string_view label() const;  // Options::label
  // Bytes of machine code; 0 for interpreter and reference. Does not grow with the tensor.
  size_t code_bytes() const;
  // Of scratch memory, that each thread of a run needs.
  size_t scratch_bytes() const;
  // With Options::verify: what was proved, and what is left, for people; else empty.
  std::string_view proof() const;
  // From text to callable, when the code was made. Other kernels may share it.
  std::chrono::nanoseconds compile_time() const;

 private:
  friend POOLJIT_CXX_API Kernel compile(std::string_view, const Options&);
  friend POOLJIT_CXX_API Kernel compile(const Spec&);
  friend POOLJIT_CXX_API std::vector<Timing> time(std::span<const Kernel>, double);
  friend POOLJIT_CXX_API std::string prove(const Kernel&);
  explicit Kernel(std::shared_ptr<const runtime::Kernel> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const runtime::Kernel> impl_;
};

// Compiles, or finds the kernel in the cache. Errors: "spec.*", "runtime.options", "runtime.isa",
// "backend.missing", "schedule.*", "jit.*"; with Options::verify also "prove.*"; with Options::tune_db also
// "tune.open" and "tune.format".
POOLJIT_CXX_API Kernel compile(std::string_view spec, const Options& options = {});
POOLJIT_CXX_API Kernel compile(const Spec& spec);

// What Options::measure is where it is empty, from now on, for the process: "6", "same_bits", "0". Empty:
// what the environment variable POOLJIT_MEASURE says, which is so at first; without it "0". Errors:
// "runtime.options".
POOLJIT_CXX_API void set_measure(std::string_view measure);

// "backend=xbyak isa=avx512 threads=2" as Options. Errors: "runtime.options".
POOLJIT_CXX_API Options parse_options(std::string_view text);

// --- the cache of kernels, one for the process

struct CacheStats {
  size_t kernels = 0, bytes = 0;            // kept now
  size_t kernel_limit = 0, byte_limit = 0;  // 1024 and 64 MiB unless set
  uint64_t hits = 0;                        // compilations that found their code, or waited for another's
  uint64_t misses = 0;                      // that had to make it
  uint64_t evictions = 0;                   // codes that went to make room
  std::chrono::nanoseconds compile_time{};  // spent on codes that were made, in all
};
POOLJIT_CXX_API CacheStats cache_stats();
// Keeps at most so many kernels and bytes from now on. What was used longest ago goes first; kernels that
// somebody holds stay alive.
POOLJIT_CXX_API void limit_cache(size_t kernels, size_t bytes);
POOLJIT_CXX_API void clear_cache();

// --- for authors of tuners: examples/tuner.cpp

struct ScheduleInfo {
  std::string schedule;          // for Options::schedule
  double predicted_seconds = 0;  // of a call on one thread, by the cost model: good for an order, no more
  bool is_default = false;       // what compile() takes where it is told nothing
};

// Every schedule that makes another Program of the spec, the cheapest prediction first. Of the options only
// backend and isa matter. Errors: those of compile().
POOLJIT_CXX_API std::vector<ScheduleInfo> schedules(std::string_view spec, const Options& options = {});

// Why a spec gets its schedule where nothing was measured: what each family of schedules was asked, and what
// came of it.
struct Explanation {
  struct FamilyVerdict {
    std::string family;   // "channels_first"
    std::string verdict;  // "offered", "left to others", "refused" or "not asked"
    std::string reason;   // the sentence of one that did not offer
    // Of those that offered:
    std::string schedule;          // its first
    size_t schedules = 0;          // how many it has
    int filled_lanes = 0;          // of a vector: what decides between families
    double predicted_seconds = 0;  // of a call on one thread; 0: no code can be made of it
    std::vector<std::pair<std::string, double>> price;  // cycles per output by part: "load", ..., "memory"
  };
  std::string schedule;          // the default
  std::string decided_by;        // "it fills 8 lanes, window_rows fills 4"
  double second_over_first = 0;  // predicted seconds of the best other family's first schedule over the
                                 // default's; 0: no other family offers one
  std::string isa, machine;      // "avx2"; the row of ir/machine.def that thresholds come from
  int64_t near_bytes = 0;        // the caches that one core has to itself
  bool output_leaves_the_caches = false;  // stores pass the caches by, where that suits
  std::vector<FamilyVerdict> families;
  // Of several pools, which have no families of their own: why each has the schedule that it has alone, and
  // its spec.
  std::string spec;
  std::vector<Explanation> members;

  // What `pooljit schedules SPEC --why` prints.
  POOLJIT_CXX_API std::string text() const;
};

// Of the options only isa matters (and backend, which may refuse it). Errors: those of compile();
// "schedule.unpool".
POOLJIT_CXX_API Explanation explain(std::string_view spec, const Options& options = {});

struct Timing {
  double median = 0;  // seconds per call
  double spread = 0;  // half the distance of the quartiles, as a share of the median
  int samples = 0;
};

// Times kernels of one spec, on data of its own, taking turns for about so many seconds in all. Errors:
// "tune.kernels" (of several specs), "tune.empty" (a batch of 0), "system.memory".
POOLJIT_CXX_API std::vector<Timing> time(std::span<const Kernel> kernels, double seconds = 0.2);

// Proves the kernel's machine code right for every input, and says what was proved. Errors: "prove.*".
POOLJIT_CXX_API std::string prove(const Kernel& kernel);

POOLJIT_CXX_API std::string_view version();  // "0.1.0"

}  // namespace pooljit
