#include "ir/schedules/windows/rolling_outputs.h"

#include <algorithm>
#include <utility>

#include "ir/schedules/windows/divisors.h"

namespace pooljit::ir {

namespace {

// Outputs at both ends together, and columns before the first one, that may have code of their own.
constexpr int64_t most_single = 24;
// So few of them at each end are worth a loop with one divisor.
constexpr int64_t most_divided_otherwise = 2;
// The divisors of an average may need a table of so many.
constexpr int64_t most_outputs = int64_t{1} << 16;

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

RollingOutputs::RollingOutputs(const NestDim& dim, Builder& builder, const ReductionFacts& facts, Join join)
    : dim_(dim),
      looped_(inside(dim)),
      b_(builder),
      window_(dim.kernel, dim.stride, facts.is_idempotent),
      join_(std::move(join)) {}

void RollingOutputs::divide_alike(const PoolNest& nest) {
  const auto divisor = [&](int64_t output) { return divisor_taps(nest, dim_.window(output)); };
  const int64_t usual = divisor(dim_.output / 2);
  Interior alike = looped_;
  while (alike.begin < alike.end && divisor(alike.begin) != usual) ++alike.begin;
  while (alike.begin < alike.end && divisor(alike.end - 1) != usual) --alike.end;
  if (alike.begin - looped_.begin <= most_divided_otherwise &&
      looped_.end - alike.end <= most_divided_otherwise)
    looped_ = alike;
}

bool RollingOutputs::can_serve(const NestDim& rolled) {
  if (rolled.kind != DimKind::pool || rolled.dilation != 1 || rolled.kernel <= rolled.stride) return false;
  if (rolled.kernel > most_single || rolled.output > most_outputs) return false;
  const Interior middle = inside(rolled);
  return middle.begin + rolled.output - middle.end <= most_single;
}

int64_t RollingOutputs::loads_in_code(const NestDim& dim) {
  const Interior middle = inside(dim);
  const int64_t single = middle.begin + dim.output - middle.end;
  const int64_t looped =
      std::min(outputs_per_iteration + 2 * most_divided_otherwise, middle.end - middle.begin);
  return dim.kernel - dim.stride + (single + looped) * dim.stride;
}

// Enumeration and lowering ask about the same window again and again.
RollingOutputs::Needs RollingOutputs::needs(const NestDim& rolled, bool idempotent) {
  thread_local struct {
    int64_t kernel = 0, stride = 0;
    bool idempotent = false;
    Needs needs = {};
  } last;
  if (last.kernel != rolled.kernel || last.stride != rolled.stride || last.idempotent != idempotent) {
    const RollingWindow window(rolled.kernel, rolled.stride, idempotent);
    const size_t held = window.held().size();
    last = {rolled.kernel,
            rolled.stride,
            idempotent,
            {held + static_cast<size_t>(rolled.stride + window.combinations()), held}};
  }
  return last.needs;
}

int64_t RollingOutputs::newest(int64_t output) const {
  return output * dim_.stride - dim_.pad_begin + dim_.kernel - dim_.stride;
}

void RollingOutputs::emit(const Bundle& nothing, const LoadBundle& load, const StoreBundle& store) {
  Walk walk{nothing, load, store};
  fill(walk);
  int64_t output = 0;
  for (; output < looped_.begin; ++output) one(walk, {output});
  output = loop(walk, output, looped_.end);
  for (; output < dim_.output; ++output) one(walk, {output});
}

NestDim RollingOutputs::iteration_of(const NestDim& dim, int64_t outputs) {
  NestDim iteration = dim;
  iteration.pad_begin = iteration.pad_end = 0;
  iteration.output = outputs;
  iteration.input = dim.kernel + (iteration.output - 1) * dim.stride;
  return iteration;
}

void RollingOutputs::emit_stages(const Bundle& nothing, const LoadBundle& before,
                                 const std::vector<Stage>& stages) {
  Walk first{nothing, before, {}};
  fill(first);
  std::vector<RollingWindow::Held> held = std::move(first.held);
  for (const Stage& stage : stages) {
    Walk walk{nothing, stage.load, stage.store, std::move(held)};
    repeat(walk, 0, stage.iterations, stage.outputs);
    held = std::move(walk.held);
  }
}

// The columns that the first output finds.
void RollingOutputs::fill(Walk& walk) {
  const int64_t columns = dim_.kernel - dim_.stride;
  std::vector<std::vector<Value>> known(walk.nothing.size());
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t position = i - dim_.pad_begin;
    const Bundle bundle = in_image(position) ? walk.load({position}) : Bundle(walk.nothing.size(), no_value);
    for (size_t vector = 0; vector < known.size(); ++vector) known[vector].push_back(bundle[vector]);
  }
  for (const std::vector<Value>& vector : known) walk.held.push_back(window_.begin(vector, join_));
}

// Outputs begin .. end-1 that need no check, as far as they fill iterations; returns the first that is left.
int64_t RollingOutputs::loop(Walk& walk, int64_t begin, int64_t end) {
  const int64_t trips = (end - begin) / outputs_per_iteration;
  if (trips < 2) return begin;
  repeat(walk, begin, b_.iconst(trips), outputs_per_iteration);
  return begin + trips * outputs_per_iteration;
}

void RollingOutputs::repeat(Walk& walk, int64_t begin, Value trips, int64_t outputs) {
  Values init;
  for (size_t vector = 0; vector < walk.held.size(); ++vector)
    for (Value value : walk.held[vector]) init.push_back(value == no_value ? walk.nothing[vector] : value);
  const auto unpack = [&](const Values& values) {
    auto value = values.begin();
    for (RollingWindow::Held& held : walk.held)
      for (Value& one : held) one = *value++;
  };
  const Builder::Loop opened = b_.begin_loop(trips, init);
  unpack(opened.carried);
  const Position first = Position{begin}.further(opened.iv, outputs);
  for (int64_t i = 0; i < outputs; ++i) one(walk, first.further(i));
  Values next;
  for (const RollingWindow::Held& held : walk.held) next.insert(next.end(), held.begin(), held.end());
  unpack(b_.end_loop(next));
}

void RollingOutputs::one(Walk& walk, const Position& output) {
  std::vector<Bundle> fresh;
  for (int64_t i = 0; i < dim_.stride; ++i) {
    Position position{newest(output.first) + i};
    const bool is_inside = in_image(position.first);
    for (const Position::Step& step : output.steps)
      position = position.further(step.iv, step.positions * dim_.stride);
    fresh.push_back(is_inside ? walk.load(position) : Bundle(walk.nothing.size(), no_value));
  }
  walk.store(output, advance(walk, fresh));
}

Bundle RollingOutputs::advance(Walk& walk, const std::vector<Bundle>& fresh) {
  Bundle windows;
  for (size_t vector = 0; vector < walk.held.size(); ++vector) {
    std::vector<Value> mine;
    for (const Bundle& bundle : fresh) mine.push_back(bundle[vector]);
    const Value window = window_.advance(walk.held[vector], mine, join_);
    windows.push_back(window == no_value ? walk.nothing[vector] : window);
  }
  return windows;
}

}  // namespace pooljit::ir
