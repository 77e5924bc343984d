/* An engine that embeds pooljit: layers as data, images of any size, a batch that is known at run time, three
 * types of elements, threads of its own. It pools as a SegNet does, there and back, and as a detector's SPPF.
 */
#include <pooljit.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void fail(void) {
  fprintf(stderr, "%s\n", pooljit_last_error());
  exit(1);
}

/* --- layers of any size */

struct pool {
  pooljit_kernel* kernel;
  pooljit_info info;
};

/* Takes the spec. A size that was seen before is found in the cache in less than a microsecond. */
static struct pool compile(pooljit_spec* spec) {
  struct pool made = {.info = {.size = sizeof made.info}};
  if (pooljit_spec_compile(spec, &made.kernel) || pooljit_kernel_info(made.kernel, &made.info)) fail();
  pooljit_spec_release(spec);
  return made;
}

/* Square windows over images of any batch. */
static pooljit_layer layer_of(const char* dtype, int64_t channels, const int64_t size[2], int64_t kernel,
                              int64_t stride) {
  pooljit_layer layer = {.size = sizeof layer, .operation = "max", .spatial_rank = 2, .free_batch = 1};
  layer.input = (pooljit_tensor){.dtype = dtype, .rank = 4, .dims = {1, channels, size[0], size[1]}};
  for (int d = 0; d < 2; ++d) {
    layer.kernel[d] = kernel, layer.stride[d] = stride;
    if (stride == 1) layer.pad_begin[d] = layer.pad_end[d] = kernel / 2; /* as large as the input */
  }
  return layer;
}

static struct pool compile_layer(const pooljit_layer* layer) {
  pooljit_spec* spec;
  if (pooljit_spec_make(layer, NULL, &spec)) fail();
  return compile(spec);
}

/* As many images as there are. */
static void run(const struct pool* pool, int64_t images, const void* input, void* output, void* indices) {
  pooljit_args args = {.size = sizeof args, .input = input, .outputs = &output, .output_count = 1};
  args.has_batch = 1, args.batch = images;
  if (indices) args.indices = &indices, args.indices_count = 1;
  int parts; /* tiny layers are not worth a second thread */
  if (pooljit_useful_parts(pool->kernel, images, &parts)) fail();
  if (parts > 1) args.parallel = parallel, args.threads = parts < workers + 1 ? parts : workers + 1;
  if (pooljit_run_with(pool->kernel, &args)) fail();
}

/* --- the model */

/* Maxima with their places, put back where they were, pooled again: the same maxima. */
static int segnet(const char* dtype, size_t element, const int64_t size[2], int64_t images) {
  pooljit_layer down = layer_of(dtype, 8, size, 2, 2);
  down.indices.dtype = "int32";
  pooljit_layer up = layer_of(dtype, 8, (int64_t[]){size[0] / 2, size[1] / 2}, 2, 2);
  up.unpool = 1, up.indices.dtype = "int32";
  up.output = (pooljit_tensor){.rank = 4, .dims = {1, 8, size[0], size[1]}};
  const struct pool pool = compile_layer(&down), unpool = compile_layer(&up);

  const size_t large = (size_t)(images * pool.info.input_bytes),
               small = (size_t)(images * pool.info.output_bytes);
  unsigned char *image = malloc(large), *back = malloc(large), *maxima = malloc(small),
                *again = malloc(small);
  void* places = malloc((size_t)(images * pool.info.indices_bytes));
  /* Positive numbers: the sign and most of the exponent are 0. */
  for (size_t i = 0; i < large; ++i)
    image[i] = i % element == element - 1 ? 0x3c : (unsigned char)(i * 37 / 11);
  run(&pool, images, image, maxima, places);
  run(&unpool, images, maxima, back, places);
  run(&pool, images, back, again, places);
  const int is_same = memcmp(maxima, again, small) == 0;
  free(image), free(back), free(maxima), free(again), free(places);
  pooljit_release(pool.kernel), pooljit_release(unpool.kernel);
  return is_same;
}

/* SPPF: the image and its maxima over 5, 9 and 13, joined along the channels, in one pass. */
static int sppf(const int64_t size[2], int64_t images) {
  enum { channels = 8 };
  pooljit_layer members[3];
  for (int i = 0; i < 3; ++i) members[i] = layer_of("uint8", channels, size, 5 + 4 * i, 1);
  const pooljit_pools pools = {
      .size = sizeof pools, .members = members, .member_count = 3, .concat = 1, .include_input = 1};
  pooljit_spec* spec;
  if (pooljit_spec_make_pools(&pools, NULL, &spec)) fail();
  const struct pool pool = compile(spec);

  const size_t one = (size_t)pool.info.input_bytes, all = (size_t)images * one;
  unsigned char *image = malloc(all), *joined = malloc((size_t)(images * pool.info.output_bytes));
  for (size_t i = 0; i < all; ++i) image[i] = (unsigned char)(i * 37 / 11);
  run(&pool, images, image, joined, NULL);
  int is_right = 1; /* larger windows have larger maxima */
  for (size_t i = 0; i < 3 * one; ++i) is_right &= joined[i] <= joined[i + one];
  is_right &= memcmp(image, joined, one) == 0;
  free(image), free(joined);
  pooljit_release(pool.kernel);
  return is_right;
}

/* engine [SIZES]: how many image sizes are asked for. */
int main(int argc, char** argv) {
  const int sizes = argc > 1 ? atoi(argv[1]) : 200;
  pthread_t thread;
  for (int i = 0; i < workers; ++i) pthread_create(&thread, NULL, worker, NULL);
  pooljit_cache_limit(600, 8 << 20); /* kernels, bytes: the sizes of the last requests */

  int right = 0;
  for (int i = 0; i < sizes; ++i) {
    const int64_t size[2] = {2 * (8 + i % 20), 2 * (8 + i / 20)}, images = 1 + i % 3;
    right += segnet("float32", 4, size, images) && segnet("bfloat16", 2, size, images) && sppf(size, images);
  }
  pooljit_cache cache = {.size = sizeof cache};
  pooljit_cache_info(&cache);
  printf("%d of %d image sizes are right; %d kernels in %.0f KiB, %.0f us to make one\n", right, sizes,
         (int)cache.kernels, (double)cache.bytes / 1024,
         (double)cache.compile_nanoseconds / 1e3 / (double)cache.misses);
  return right == sizes ? 0 : 1;
}
