/* An engine that embeds pooljit: layers as data, a batch that is known at run time, threads of its own. */
#include <pooljit.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The engine's threads. Each takes the next task until none is left. */
enum { workers = 3 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static pooljit_task task;
static void* argument;
static int64_t next, tasks, unfinished;

static void do_tasks(void) { /* with the lock */
  while (next < tasks) {
    const int64_t mine = next++;
    pthread_mutex_unlock(&lock);
    task(argument, mine);
    pthread_mutex_lock(&lock);
    if (--unfinished == 0) pthread_cond_signal(&done);
  }
}

static void* worker(void* unused) {
  pthread_mutex_lock(&lock);
  for (;;) {
    do_tasks();
    pthread_cond_wait(&work, &lock);
  }
  return unused;
}

/* What pooljit calls: tasks 0 to count - 1, each once, and all of them before it returns. */
static void parallel(void* unused, int64_t count, pooljit_task do_one, void* its_argument) {
  (void)unused;
  pthread_mutex_lock(&lock);
  task = do_one, argument = its_argument;
  next = 0, tasks = unfinished = count;
  pthread_cond_broadcast(&work);
  do_tasks(); /* the calling thread works too */
  while (unfinished > 0) pthread_cond_wait(&done, &lock);
  pthread_mutex_unlock(&lock);
}

static int fail(void) { return fprintf(stderr, "%s\n", pooljit_last_error()), 1; }

int main(void) {
  pthread_t thread;
  for (int i = 0; i < workers; ++i) pthread_create(&thread, NULL, worker, NULL);

  /* When the model is loaded: one kernel for all batches. */
  pooljit_layer layer = {.size = sizeof layer, .operation = "max", .spatial_rank = 2, .free_batch = 1};
  layer.input = (pooljit_tensor){.dtype = "float32", .layout = "nchw", .rank = 4, .dims = {1, 64, 56, 56}};
  for (int d = 0; d < 2; ++d)
    layer.kernel[d] = 3, layer.stride[d] = 2, layer.pad_begin[d] = layer.pad_end[d] = 1;
  pooljit_spec* spec;
  pooljit_kernel* kernel;
  pooljit_info info = {.size = sizeof info};
  if (pooljit_spec_make(&layer, NULL, &spec)) return fail();
  if (pooljit_spec_info(spec, &info)) return fail(); /* sizes of buffers, before anything is compiled */
  if (pooljit_spec_compile(spec, &kernel)) return fail();

  /* At each request: as many images as there are. */
  pooljit_args args = {.size = sizeof args, .has_batch = 1, .parallel = parallel, .threads = workers + 1};
  for (args.batch = 0; args.batch <= 9; args.batch += 3) {
    const size_t inputs = (size_t)(args.batch * info.input_bytes),
                 outputs = (size_t)(args.batch * info.output_bytes);
    float *input = malloc(inputs + 1), *output = malloc(outputs + 1);
    for (size_t i = 0; i < inputs / sizeof *input; ++i) input[i] = (float)(i % 1009);
    args.input = input;
    args.outputs = (void*[]){output}, args.output_count = 1;
    if (pooljit_run_with(kernel, &args)) return fail();
    printf("%d images, the first maximum is %g\n", (int)args.batch, args.batch ? (double)output[0] : 0.0);
    free(input), free(output);
  }
  pooljit_release(kernel);
  pooljit_spec_release(spec);
  return 0;
}
