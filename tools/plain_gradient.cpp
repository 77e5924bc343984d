// The plain loop of a backward pooling.
#include <cstddef>
#include <type_traits>

#include "tools/plain_loop.h"
#include "tools/plain_parts.h"

namespace pooljit::tools {
namespace {

bool takes_images(const PlainPool& pool) { return pool.channels_last || pool.writes_channels_last; }

// Adds the gradients of one place, of `n` channels, to what is gathered in `sums`.
template <typename T>
void add_gradients(const PlainPool& pool, const OutputTaps& place, int64_t n, const T* gradient, int64_t from,
                   const int64_t* indices, typename Element<T>::Sum* sums, Steps written) {
  using Sum = typename Element<T>::Sum;
  const int64_t step = pool.from.channel;
  if (indices != nullptr) {
    for (int64_t c = 0; c < n; ++c) {
      const int64_t at = from + c * step;
      if (indices[at] >= 0) sums[indices[at] * written.place + c * written.channel] += Sum(gradient[at]);
    }
    return;
  }
  const Sum divisor = way_of(pool).divides ? static_cast<Sum>(divisor_of(pool, place.taps)) : Sum{1};
  if (n == 1) {
    const Sum share = Sum(gradient[from]) / divisor;
    return for_taps<false>(pool, place, [&](int64_t at, int64_t) { sums[at * written.place] += share; });
  }
  for_taps<false>(pool, place, [&](int64_t at, int64_t) {
    for (int64_t c = 0; c < n; ++c)
      sums[at * written.place + c * written.channel] += Sum(gradient[from + c * step]) / divisor;
  });
}

// From packed sums of `n` channels to the view of the result. The inner loop is along what is adjacent in the
// sums.
template <typename T, typename Sum>
void store_sums(const PlainPool& pool, int64_t n, const Sum* sums, T* result) {
  const bool last = pool.writes_channels_last;
  const int64_t columns = pool.dims[2].input, column = pool.to.dims[2], channel = pool.to.channel;
  const int64_t outer = last ? columns : n, outer_step = last ? column : channel;
  const int64_t inner = last ? n : columns, inner_step = last ? channel : column;
  const int64_t row_step = last ? columns * n : columns, sums_step = last ? n : input_plane(pool);
  for (int64_t d = 0; d < pool.dims[0].input; ++d)
    for (int64_t h = 0; h < pool.dims[1].input; ++h, sums += row_step) {
      T* const row = result + d * pool.to.dims[0] + h * pool.to.dims[1];
      for (int64_t i = 0; i < outer; ++i)
        for (int64_t j = 0; j < inner; ++j)
          row[i * outer_step + j * inner_step] = static_cast<T>(sums[i * sums_step + j]);
    }
}

template <typename T>
void gradient_tasks(const PlainPool& pool, const T* gradient, const int64_t* indices, T* result,
                    int64_t begin, int64_t end) {
  using Sum = typename Element<T>::Sum;
  const int64_t n = takes_images(pool) ? pool.channels : 1;
  const int64_t to = input_plane(pool) * n,
                tasks = pool.channels / n;  // elements of a task, tasks of an image
  const Steps written = steps_of(pool.writes_channels_last, n, input_plane(pool));
  const bool in_place = std::is_same_v<T, Sum> && !pool.writes_view;
  Sum* const scratch =
      in_place ? nullptr : static_cast<Sum*>(__builtin_malloc(static_cast<size_t>(to) * sizeof(Sum)));
  for (int64_t task = begin; task < end; ++task) {
    T* const out = result + task / tasks * pool.to.image + task % tasks * pool.to.channel;
    const int64_t from = task / tasks * pool.from.image + task % tasks * pool.from.channel;
    Sum* sums = scratch;
    if constexpr (std::is_same_v<T, Sum>) sums = in_place ? out : scratch;
    for (int64_t i = 0; i < to; ++i) sums[i] = 0;
    for (int64_t d = 0; d < pool.dims[0].output; ++d)
      for (int64_t h = 0; h < pool.dims[1].output; ++h) {
        OutputTaps place = row_place(pool, d, h);
        for (int64_t w = 0; w < pool.dims[2].output; next_place(pool, place, ++w))
          add_gradients(pool, place, n, gradient,
                        from + d * pool.from.dims[0] + h * pool.from.dims[1] + w * pool.from.dims[2], indices,
                        sums, written);
      }
    if (pool.writes_view)
      store_sums(pool, n, sums, out);
    else if (!in_place)
      for (int64_t i = 0; i < to; ++i) out[i] = static_cast<T>(sums[i]);
  }
  __builtin_free(scratch);
}

template <typename T>
void gradient_typed(const PlainPool& pool, const void* gradient, const int64_t* indices, void* result,
                    int64_t begin, int64_t end) {
  gradient_tasks(pool, static_cast<const T*>(gradient), indices, static_cast<T*>(result), begin, end);
}

}  // namespace

int64_t plain_gradient_tasks(const PlainPool& pool) {
  return pool.batch * (takes_images(pool) ? 1 : pool.channels);
}

void run_plain_gradient(const PlainPool& pool, const void* gradient, const int64_t* indices, void* result,
                        int64_t begin, int64_t end) {
  switch (pool.type) {
    case PlainType::f16:
      return gradient_typed<Float16>(pool, gradient, indices, result, begin, end);
    case PlainType::bf16:
      return gradient_typed<BFloat16>(pool, gradient, indices, result, begin, end);
    case PlainType::f32:
      return gradient_typed<float>(pool, gradient, indices, result, begin, end);
    case PlainType::f64:
      return gradient_typed<double>(pool, gradient, indices, result, begin, end);
    default:
      __builtin_trap();  // only floats have gradients
  }
}

}  // namespace pooljit::tools
