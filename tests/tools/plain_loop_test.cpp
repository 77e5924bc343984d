// The plain loop is a yardstick only if it is right: against the windows of ir/nest.h, one output at a time.
#include "tools/plain_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ir/element_type.h"
#include "ir/nest.h"
#include "tools/plain_pool.h"

namespace pooljit::tools {
namespace {

int64_t floor_output(int64_t input, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads) {
  return (input + pads - dilation * (kernel - 1) - 1) / stride + 1;
}

ir::NestDim nest_dim(int64_t input, int64_t kernel, int64_t stride, int64_t dilation, int64_t begin,
                     int64_t end) {
  return {input, floor_output(input, kernel, stride, dilation, begin + end), kernel, stride, dilation, begin,
          end};
}

constexpr PlainReduction reductions[] = {
#define REDUCTION(name, ...) PlainReduction::name,
#include "ir/reductions.def"
#undef REDUCTION
};

// Two spatial dimensions, so that the third is the loop's own filler.
struct Case {
  PlainPool pool;
  ir::NestDim rows, columns;
};

int64_t at(const PlainPool& pool, int64_t n, int64_t c, int64_t plane_position, int64_t plane) {
  return pool.channels_last ? (n * plane + plane_position) * pool.channels + c
                            : (n * pool.channels + c) * plane + plane_position;
}

bool is_extreme(const PlainPool& pool) {
  return pool.reduction == PlainReduction::max || pool.reduction == PlainReduction::min;
}

template <typename T>
struct Answer {
  T value;
  int64_t index;
};

template <typename T>
Answer<T> expected(const Case& test, const std::vector<T>& input, int64_t n, int64_t c,
                   const ir::Window& rows, const ir::Window& columns) {
  const int64_t plane = test.rows.input * test.columns.input;
  using Limits = std::numeric_limits<T>;
  const bool is_min = test.pool.reduction == PlainReduction::min;
  const T lowest = ir::is_float_type<T> ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
  const T highest = ir::is_float_type<T> ? Limits::infinity() : Limits::max();
  T best = is_min ? highest : lowest;
  double sum = 0, squares = 0, product = 1;
  uint64_t wrapped = 1;
  int64_t index = -1;
  for (int64_t i = 0; i < rows.taps; ++i)
    for (int64_t j = 0; j < columns.taps; ++j) {
      const int64_t position =
          (rows.first + i * rows.step) * test.columns.input + columns.first + j * columns.step;
      const T value = input[static_cast<size_t>(at(test.pool, n, c, position, plane))];
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
      product *= static_cast<double>(value);
      if constexpr (!ir::is_float_type<T>) wrapped *= static_cast<uint64_t>(value);
      const bool is_better = is_min ? value < best : value > best;
      if (index >= 0 && !is_better && value == value) continue;
      best = value;
      index = position;
    }
  const double size = test.pool.norm_type == 2 ? std::sqrt(squares) : sum;
  if (is_extreme(test.pool)) return {best, index};
  if (test.pool.reduction == PlainReduction::prod)
    return {ir::is_float_type<T> ? static_cast<T>(product) : static_cast<T>(wrapped), -1};
  if (test.pool.reduction == PlainReduction::lp) return {static_cast<T>(size), -1};
  if (test.pool.reduction == PlainReduction::sum) {
    const auto least = static_cast<double>(std::numeric_limits<T>::lowest()),
               most = static_cast<double>(std::numeric_limits<T>::max());
    return {static_cast<T>(std::clamp(sum, least, most)), -1};
  }
  int64_t divisor = test.pool.divisor;
  if (divisor == 0)
    divisor = test.pool.count_include_pad ? rows.padded_taps * columns.padded_taps : rows.taps * columns.taps;
  const double quotient = sum / static_cast<double>(std::max<int64_t>(divisor, 1));
  return {static_cast<T>(ir::is_float_type<T> ? quotient : std::nearbyint(quotient)), -1};
}

template <typename T>
void compare(const Case& test, std::mt19937& random) {
  const PlainPool& pool = test.pool;
  const bool has_indices = is_extreme(pool);
  const int64_t planes = pool.batch * pool.channels;
  const int64_t output_plane = test.rows.output * test.columns.output;
  std::vector<T> input(static_cast<size_t>(planes * test.rows.input * test.columns.input));
  // Small integers: ties are frequent and float sums exact.
  for (T& value : input) value = static_cast<T>(random() % 23);
  if constexpr (ir::is_float_type<T>)
    if (has_indices) input[random() % input.size()] = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> output(static_cast<size_t>(planes * output_plane)), twice = output;
  std::vector<int64_t> indices(output.size(), -7);

  const int64_t tasks = plain_tasks(pool), half = tasks / 2;
  run_plain(pool, input.data(), twice.data(), nullptr, 0, tasks);
  run_plain(pool, input.data(), output.data(), has_indices ? indices.data() : nullptr, half, tasks);
  run_plain(pool, input.data(), output.data(), has_indices ? indices.data() : nullptr, 0, half);
  for (int64_t n = 0; n < pool.batch; ++n)
    for (int64_t c = 0; c < pool.channels; ++c)
      for (int64_t y = 0; y < test.rows.output; ++y)
        for (int64_t x = 0; x < test.columns.output; ++x) {
          const auto place = static_cast<size_t>(at(pool, n, c, y * test.columns.output + x, output_plane));
          const Answer<T> answer = expected(test, input, n, c, test.rows.window(y), test.columns.window(x));
          const bool both_nan = answer.value != answer.value && output[place] != output[place];
          const double digits = ir::is_half_type<T> ? 1e-2 : 1e-6;
          const bool is_rounded =
              pool.reduction == PlainReduction::lp || pool.reduction == PlainReduction::prod;
          const double room = is_rounded ? digits * static_cast<double>(answer.value) : 0;
          const double error =
              std::abs(static_cast<double>(output[place]) - static_cast<double>(answer.value));
          ASSERT_TRUE(both_nan || output[place] == answer.value || error <= room)
              << +output[place] << " for " << +answer.value << " at " << n << " " << c << " " << y << " "
              << x;
          ASSERT_TRUE(both_nan || twice[place] == output[place]);
          if (has_indices) {
            ASSERT_EQ(indices[place], answer.index);
          }
        }
}

// Every reduction of every element type; one of them with more than one block of channels.
void compare_types(Case test, std::mt19937& random) {
  for (const PlainReduction reduction : reductions)
    for (const ir::DTypeInfo& row : ir::dtype_table) {
      if (!row.tensor || (reduction == PlainReduction::lp && !ir::is_float(row.dtype))) continue;
      test.pool.reduction = reduction;
      test.pool.type = static_cast<PlainType>(row.dtype);
      test.pool.channels = row.dtype == ir::DType::u8 ? 259 : 5;
      ir::with_element_type(row.dtype, [&]<typename T>(T) { compare<T>(test, random); });
      if (testing::Test::HasFatalFailure()) FAIL() << row.spec_name;
    }
}

TEST(PlainLoop, AgreesWithTheWindows) {
  std::mt19937 random(7);
  const ir::NestDim dims[] = {nest_dim(9, 3, 2, 1, 1, 1),   nest_dim(8, 2, 2, 1, 0, 0),
                              nest_dim(7, 3, 1, 2, 2, 2),   nest_dim(11, 4, 3, 1, 2, 3),
                              nest_dim(10, 3, 2, 1, 0, -2), nest_dim(6, 2, 1, 1, 3, 3)};
  for (const ir::NestDim& rows : dims)
    for (const ir::NestDim& columns : dims)
      for (int variant = 0; variant < 8; ++variant) {
        Case test{.pool = {}, .rows = rows, .columns = columns};
        test.pool.channels_last = test.pool.writes_channels_last = (variant & 1) != 0;
        test.pool.count_include_pad = (variant & 2) != 0;
        test.pool.divisor = (variant & 4) != 0 ? 5 : 0;
        test.pool.batch = 2;
        test.pool.dims[0] = plain_dim({});
        test.pool.dims[1] = plain_dim(rows);
        test.pool.dims[2] = plain_dim(columns);
        compare_types(test, random);
        if (HasFatalFailure()) FAIL() << "variant " << variant;
      }
}

}  // namespace
}  // namespace pooljit::tools
