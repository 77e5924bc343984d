// The C interface: running. Every argument is used or refused.
#include <atomic>

#include "runtime/c_api.h"
#include "runtime/limits.h"
#include "runtime/linked_code.h"
#include "runtime/threads.h"

using namespace pooljit::c_api;

namespace {

using pooljit::ir::invalid;
using pooljit::ir::Result;
using pooljit::runtime::max_threads;

// The caller's function as a pool, which keeps book of the tasks: the caller's function is not ours.
class CallerPool final : public pooljit::runtime::ThreadPool {
 public:
  CallerPool(const pooljit_args& args, int threads) : args_(args), threads_(threads) {}
  int threads() const override { return threads_; }

  void parallel(int64_t tasks, pooljit::runtime::FunctionRef<void(int64_t)> task) override {
    Book book = {task, tasks, 0, 0};
    args_.parallel(
        args_.context, tasks,
        [](void* argument, int64_t number) { static_cast<Book*>(argument)->take(number); }, &book);
    uint64_t all = 0;
    for (int64_t i = 0; i < tasks; ++i) all += mixed(i);
    if (book.done == tasks && book.sum == all) return;
    wrong_ = invalid("run.parallel",
                     "parallel was to do " + std::to_string(tasks) + " tasks, each once; it did " +
                         (book.done == tasks ? "some twice, or others" : std::to_string(book.done)),
                     "task(argument, 0) to task(argument, tasks - 1), all of them before it returns");
  }

  // Of the calls of parallel() so far.
  const Result<void>& check() const { return wrong_; }

 private:
  // Tells sets of numbers apart by their sum.
  static uint64_t mixed(int64_t number) {
    uint64_t mixed = static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    return mixed ^ mixed >> 31;
  }

  struct Book {
    pooljit::runtime::FunctionRef<void(int64_t)> task;
    int64_t tasks;
    std::atomic<int64_t> done;
    std::atomic<uint64_t> sum;

    void take(int64_t number) {
      ++done;
      sum += mixed(number);
      if (number >= 0 && number < tasks) task(number);
    }
  };

  const pooljit_args& args_;
  const int threads_;
  Result<void> wrong_;
};

std::string number(int64_t value) { return std::to_string(value); }

Result<void> check_batch(const pooljit::runtime::Kernel& kernel, const pooljit_args& args) {
  if (args.has_batch != 0 && args.has_batch != 1)
    return invalid("run.batch", "has_batch is " + number(args.has_batch), "0 or 1");
  if (!args.has_batch && args.batch != 0)
    return invalid("run.batch", "batch is " + number(args.batch) + " and has_batch is 0", "has_batch = 1");
  if (!args.has_batch && kernel.spec().free_batch) return tl::unexpected(pooljit::runtime::no_batch());
  if (args.batch < 0) return invalid("run.batch", "the batch is " + number(args.batch), "0 or more");
  return {};
}

// The threads of a run.
Result<void> check_threads(const pooljit_args& args) {
  if (args.threads < 0 || args.threads > max_threads)
    return invalid("run.threads", "threads is " + number(args.threads),
                   "0, as many as the kernel was compiled for, to " + number(max_threads));
  if (args.context && !args.parallel)
    return invalid("run.parallel", "context is given and parallel is null", "context is handed to parallel");
  const auto share = [&] { return "part " + number(args.part) + " of " + number(args.parts); };
  if (args.parts < 0 || args.part < 0 || (args.parts == 0 ? args.part > 0 : args.part >= args.parts))
    return invalid("run.part", share() + " was asked for", "parts are counted from 0");
  if (args.parts > 0 && (args.parallel || args.threads != 0))
    return invalid("run.part", share() + " is given with " + (args.parallel ? "parallel" : "threads"),
                   "a part is done by the calling thread");
  if (args.scratch && args.parts == 0)
    return invalid("run.scratch", "scratch is given and parts is 0",
                   "it is for one part; threads have scratch memory of their own");
  return {};
}

// A list of pointers and its length; counts of bytes beside it if they are given.
struct List {
  const char *id, *name;
  const void* const* pointers;
  int32_t count;
  const char* bytes_name;
  const int64_t* bytes;
};

bool is_sound(const List& list, bool has_bytes) {
  return list.count >= 0 && (list.pointers != nullptr) == (list.count > 0) &&
         (list.bytes != nullptr) == (has_bytes && list.count > 0);
}

// Of a list that is not sound.
[[gnu::cold]] tl::unexpected<pooljit::ir::Error> objection(const List& list, bool has_bytes) {
  const auto null = [&](const char* what) {
    return invalid("runtime.null",
                   std::string(what) + " is null and has " + number(list.count) + " entries to be given");
  };
  if (list.count < 0 || (list.count == 0 && list.pointers))
    return invalid(list.id, std::string(list.name) + " is given with " + number(list.count) + " entries",
                   "how many pointers there are; null for none");
  if (list.count > 0 && !list.pointers) return null(list.name);
  if (list.count > 0 && has_bytes && !list.bytes) return null(list.bytes_name);
  return invalid(
      "run.buffer",
      std::string(list.bytes_name) + " is given" + (has_bytes ? " for nothing" : ", has_bytes is 0"),
      "has_bytes = 1, and a count for each pointer");
}

Result<void> check_lists(const pooljit_args& args) {
  if (args.has_bytes != 0 && args.has_bytes != 1)
    return invalid("run.buffer", "has_bytes is " + number(args.has_bytes), "0 or 1");
  const bool has_bytes = args.has_bytes == 1;
  if (!has_bytes && args.input_bytes != 0)
    return invalid("run.buffer", "input_bytes is given, has_bytes is 0",
                   "has_bytes = 1, and a count for each pointer");
  const List lists[] = {
      {"run.outputs", "outputs", args.outputs, args.output_count, "output_bytes", args.output_bytes},
      {"run.indices", "indices", args.indices, args.indices_count, "indices_bytes", args.indices_bytes},
      {"run.operands", "operands", args.operands, args.operand_count, "operand_bytes", args.operand_bytes}};
  for (const List& list : lists)
    if (!is_sound(list, has_bytes)) return objection(list, has_bytes);
  return {};
}

template <typename T>
std::span<T const> list_of(T const* first, int32_t count) {
  return {first, static_cast<size_t>(count)};
}

Result<void> run(const pooljit::runtime::Kernel& kernel, const pooljit_args& args) {
  const int64_t batch = args.has_batch ? args.batch : -1;
  const pooljit::runtime::Kernel::Written written = {list_of(args.outputs, args.output_count),
                                                     list_of(args.indices, args.indices_count)};
  const auto operands = list_of(args.operands, args.operand_count);
  if (args.has_bytes) {
    const pooljit::runtime::Kernel::BufferBytes bytes = {
        args.input_bytes, list_of(args.output_bytes, args.output_count),
        list_of(args.indices_bytes, args.indices_count), list_of(args.operand_bytes, args.operand_count)};
    if (auto checked = kernel.check_bytes(bytes, batch); !checked) return checked;
  }
  if (args.parts > 0)
    return kernel.run_part(args.input, written, {args.part, args.parts, args.scratch}, batch, operands);
  const int threads = args.threads > 0 ? args.threads : kernel.threads();
  if (!args.parallel)
    return kernel.run(args.input, written,
                      args.threads > 0 ? &pooljit::runtime::builtin_pool(threads) : nullptr, batch, operands);
  CallerPool pool(args, threads);
  auto done = kernel.run(args.input, written, &pool, batch, operands);
  if (auto checked = pool.check(); !checked) return checked;
  return done;
}

Result<void> check_and_run(const pooljit::runtime::Kernel& kernel, const pooljit_args& args) {
  if (auto checked = check_batch(kernel, args); !checked) return checked;
  if (auto checked = check_threads(args); !checked) return checked;
  if (auto checked = check_lists(args); !checked) return checked;
  return run(kernel, args);
}

int run_sized(const pooljit_kernel& handle, const pooljit_args& args) {
  if (!args.dims && args.dim_count == 0)
    return with_kernel(&handle, [&](const pooljit::runtime::Kernel& kernel) {
      return pooljit::c_api::code_of(check_and_run(kernel, args));
    });
  const auto kernel = kernel_of_size(handle, args.dims, args.dim_count, args.parts == 0);
  return kernel ? pooljit::c_api::code_of(check_and_run(**kernel, args)) : fail(kernel.error());
}

int run_given(const pooljit_kernel& kernel, const pooljit_args* given) {
  if (!given) return fail_null("args");
  if (given->size == sizeof *given) return run_sized(kernel, *given);
  const auto args = read_struct("pooljit_args", *given);
  return args ? run_sized(kernel, *args) : fail(args.error());
}

}  // namespace

int pooljit_run(const pooljit_kernel* kernel, const void* input, void* output, void* indices) {
  return guarded([&] {
    return with_kernel(kernel, [&](const pooljit::runtime::Kernel& one) {
      if (one.spec().free_batch) return fail(pooljit::runtime::no_batch());
      return code_of(one.run(input, output, indices));
    });
  });
}

int pooljit_run_with(const pooljit_kernel* kernel, const pooljit_args* given) {
  return guarded([&] {
    if (!kernel) return fail_null("kernel");
    return run_given(*kernel, given);
  });
}

int pooljit_run_linked(const pooljit_linked_code* code, const pooljit_args* given) {
  return guarded([&] {
    if (!code) return fail_null("code");
    auto kernel = pooljit::runtime::linked_kernel(*code);
    return kernel ? run_given({std::move(*kernel)}, given) : fail(kernel.error());
  });
}
