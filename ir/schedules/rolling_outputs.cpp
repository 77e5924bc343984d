#include "ir/schedules/rolling_outputs.h"

#include <algorithm>
#include <utility>

namespace pooljit::ir {

namespace {

// Outputs that share one iteration: what is held moves on by name, and from register to register only once.
constexpr int64_t outputs_per_iteration = 2;
// Outputs at both ends together, and columns before the first one, that may have code of their own.
constexpr int64_t most_single = 24;

bool is_inside(const NestDim& dim, int64_t output) {
  const int64_t first = output * dim.stride - dim.pad_begin + dim.kernel - dim.stride;
  return first >= 0 && first + dim.stride <= dim.visible_input();
}

// Outputs all of whose new columns lie in the image.
Interior inside(const NestDim& dim) {
  Interior found;
  while (found.begin < dim.output && !is_inside(dim, found.begin)) ++found.begin;
  for (found.end = dim.output; found.end > found.begin && !is_inside(dim, found.end - 1);) --found.end;
  return found;
}

}  // namespace

RollingOutputs::RollingOutputs(const PoolNest& nest, size_t dim, Builder& builder, const Reducer& reducer,
                               Lowering& lowering, RollingWindow::Combine join)
    : nest_(nest),
      number_(dim),
      dim_(nest.dims[dim]),
      b_(builder),
      low_(lowering),
      window_(dim_.kernel, dim_.stride, reducer.is_idempotent()),
      join_(std::move(join)) {
  std::vector<int64_t> divisors;
  for (int64_t output = 0; output < dim_.output; ++output)
    divisors.push_back(divisor_taps(nest, dim_.window(output)));
  const Interior middle = inside(dim_);
  const auto begin = divisors.begin() + middle.begin, end = divisors.begin() + middle.end;
  if (std::adjacent_find(begin, end, std::not_equal_to<>()) != end) table_ = b_.add_table(divisors);
}

bool RollingOutputs::can_serve(const PoolNest& nest, size_t dim) {
  const NestDim& rolled = nest.dims[dim];
  if (rolled.kind != DimKind::pool || rolled.dilation != 1 || rolled.kernel <= rolled.stride) return false;
  if (rolled.kernel > most_single) return false;
  const Interior middle = inside(rolled);
  return middle.begin + rolled.output - middle.end <= most_single;
}

size_t RollingOutputs::vectors(const PoolNest& nest, size_t dim, bool idempotent) {
  const NestDim& rolled = nest.dims[dim];
  const RollingWindow window(rolled.kernel, rolled.stride, idempotent);
  return window.held().size() + static_cast<size_t>(rolled.stride + window.combinations());
}

int64_t RollingOutputs::newest(int64_t output) const {
  return output * dim_.stride - dim_.pad_begin + dim_.kernel - dim_.stride;
}

void RollingOutputs::emit(const Cursor& cursor, const Column& nothing, const Load& load, const Store& store) {
  Walk walk{cursor, nothing, load, store};
  fill(walk);
  const Interior middle = inside(dim_);
  int64_t output = 0;
  for (; output < middle.begin; ++output) one(walk, output, no_value, 0);
  output = loop(walk, output, middle.end);
  for (; output < dim_.output; ++output) one(walk, output, no_value, 0);
}

// The columns that the first output finds.
void RollingOutputs::fill(Walk& walk) {
  const int64_t columns = dim_.kernel - dim_.stride;
  std::vector<std::vector<Value>> known(walk.nothing.size());
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t position = i - dim_.pad_begin;
    const Column column =
        in_image(position)
            ? walk.load(
                  plus(walk.cursor.input, byte_stride(nest_.input, nest_.input.strides[number_] * position)))
            : Column(walk.nothing.size(), no_value);
    for (size_t vector = 0; vector < known.size(); ++vector) known[vector].push_back(column[vector]);
  }
  for (const std::vector<Value>& vector : known) walk.held.push_back(window_.begin(vector, join_));
}

// Outputs begin .. end-1 that need no check, as far as they fill iterations; returns the first that is left.
int64_t RollingOutputs::loop(Walk& walk, int64_t begin, int64_t end) {
  const int64_t trips = (end - begin) / outputs_per_iteration;
  if (trips < 2) return begin;
  Values init;
  for (size_t vector = 0; vector < walk.held.size(); ++vector)
    for (Value value : walk.held[vector]) init.push_back(value == no_value ? walk.nothing[vector] : value);
  const auto unpack = [&](const Values& values) {
    auto value = values.begin();
    for (RollingWindow::Held& held : walk.held)
      for (Value& one : held) one = *value++;
  };
  const Builder::Loop opened = b_.begin_loop(b_.iconst(trips), init);
  unpack(opened.carried);
  for (int64_t i = 0; i < outputs_per_iteration; ++i) one(walk, begin + i, opened.iv, outputs_per_iteration);
  Values next;
  for (const RollingWindow::Held& held : walk.held) next.insert(next.end(), held.begin(), held.end());
  unpack(b_.end_loop(next));
  return begin + trips * outputs_per_iteration;
}

// One output; in a loop, that of its first iteration.
void RollingOutputs::one(Walk& walk, int64_t output, Value iv, int64_t per_iteration) {
  const int64_t input_step = byte_stride(nest_.input, nest_.input.strides[number_]);
  const auto move = [&](const Address& address, int64_t bytes, int64_t bytes_per_iteration) {
    return iv == no_value ? plus(address, bytes) : plus(plus(address, bytes), iv, bytes_per_iteration);
  };
  std::vector<Column> fresh;
  for (int64_t i = 0; i < dim_.stride; ++i) {
    const int64_t position = newest(output) + i;
    if (!in_image(position))
      fresh.emplace_back(walk.nothing.size(), no_value);
    else
      fresh.push_back(walk.load(
          move(walk.cursor.input, position * input_step, per_iteration * dim_.stride * input_step)));
  }
  Cursor at = walk.cursor;
  low_.for_each_output(at, [&](Address& address, const View& view) {
    const int64_t step = byte_stride(view, view.strides[number_]);
    address = move(address, output * step, per_iteration * step);
  });
  WindowAt window = low_.usual_window(number_);
  window.divisor_taps = divisor(output, iv, per_iteration);
  at.windows.push_back(window);
  walk.store(at, advance(walk, fresh));
}

RollingOutputs::Column RollingOutputs::advance(Walk& walk, const std::vector<Column>& fresh) {
  Column windows;
  for (size_t vector = 0; vector < walk.held.size(); ++vector) {
    std::vector<Value> mine;
    for (const Column& column : fresh) mine.push_back(column[vector]);
    const Value window = window_.advance(walk.held[vector], mine, join_);
    windows.push_back(window == no_value ? walk.nothing[vector] : window);
  }
  return windows;
}

Value RollingOutputs::divisor(int64_t output, Value iv, int64_t per_iteration) {
  if (iv == no_value || table_ < 0) return b_.iconst(divisor_taps(nest_, dim_.window(output)));
  const Address table{b_.param(Param::Role::table, table_), {}, output * 8};
  return b_.iload(plus(table, iv, per_iteration * 8));
}

}  // namespace pooljit::ir
