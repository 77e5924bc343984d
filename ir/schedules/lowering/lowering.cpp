// Lowering: loops over batches, channels and outputs, and the run tables.
#include "ir/schedules/lowering/lowering.h"

#include <algorithm>

#include "ir/schedules/lowering/run_table.h"

namespace pooljit::ir {

int64_t byte_stride(const View& view, int64_t elements) { return elements * bytes(view.dtype); }

Lanes Lanes::channels(int count, std::vector<int64_t> stored) {
  Lanes lanes;
  lanes.count = count;
  lanes.stored = std::move(stored);
  lanes.divisor_taps.assign(static_cast<size_t>(count), 1);
  return lanes;
}

bool DimPlan::is_usual(const PoolNest& nest, const Run& run) const {
  return run.phases >= group && run.window.taps == usual_taps &&
         divisor_taps(nest, run.window) == usual_divisor;
}

namespace {

// This dimension's factor of the divisor of each window of the forward pass.
void list_divisors(const PoolNest& nest, const NestDim& dim, DimPlan& plan) {
  if (nest.divisor_override) return;
  const NestDim forward = forward_of(dim);
  const std::vector<Run> all = runs(forward);
  plan.common_divisor = divisor_taps(nest, all[0].window);
  if (std::all_of(all.begin(), all.end(),
                  [&](const Run& run) { return divisor_taps(nest, run.window) == plan.common_divisor; }))
    return;
  plan.divisors.reserve(static_cast<size_t>(forward.output));
  for (int64_t output = 0; output < forward.output; ++output)
    plan.divisors.push_back(divisor_taps(nest, forward.window(output)));
}

// The runs of an ordinary pooling's dimension, cut where groups of so many outputs begin.
std::vector<Run> cut_runs(const std::vector<Run>& all, int64_t group, int64_t stride) {
  std::vector<Run> cut;
  for (const Run& run : all)
    for (int64_t output = run.begin; output < run.end;) {
      const int64_t phase = output % group, groups = (run.end - output) / group;
      const bool whole = phase == 0 && groups > 0;
      const int64_t phases = whole ? group : std::min(group - phase, run.end - output);
      Run piece{output / group, output / group + (whole ? groups : 1), run.window, phase, phases};
      if (piece.window.taps > 0) piece.window.first += (output - run.begin) * stride;
      cut.push_back(piece);
      output += piece.outputs();
    }
  return cut;
}

// Its runs are the size's, whose windows are the kernel's or follow the extents.
DimPlan plan_of_any_size(const PoolNest& nest, const NestDim& dim) {
  DimPlan plan;
  plan.period = nest.extents == Extents::any ? dim.period() : Period{1, 0};
  plan.usual_taps = usual_taps_of_any_size(dim);
  plan.usual_divisor = dim.kernel;
  if (counts_gathered(nest)) plan.common_divisor = dim.kernel;
  plan.one_phase = plan.period.output == 1;
  plan.may_be_empty = true;
  return plan;
}

DimPlan plan_of(const PoolNest& nest, const NestDim& dim, int64_t group) {
  if (nest.has_any_size()) return plan_of_any_size(nest, dim);
  DimPlan plan;
  plan.period = dim.period();
  plan.runs = runs(dim);
  if (group > 1) {
    plan.period = {group, group * dim.stride};
    plan.runs = cut_runs(plan.runs, group, dim.stride);
    plan.phase_input = dim.stride;
    plan.group = group;
  }
  plan.usual_taps = usual_taps(dim, plan.runs);
  const Run* largest = nullptr;
  for (const Run& run : plan.runs)
    if (run.window.taps == plan.usual_taps && (!largest || run.outputs() > largest->outputs()))
      largest = &run;
  if (largest) plan.usual_divisor = divisor_taps(nest, largest->window);
  plan.one_run = plan.runs.size() == 1 && plan.is_usual(nest, plan.runs[0]);
  const auto all = [&](auto holds) { return std::all_of(plan.runs.begin(), plan.runs.end(), holds); };
  plan.one_divisor =
      all([&](const Run& run) { return divisor_taps(nest, run.window) == plan.usual_divisor; });
  plan.one_phase = all([](const Run& run) { return run.phases == 1; });
  if (nest.is_backward() && nest.divides()) list_divisors(nest, dim, plan);
  plan.may_be_empty = !all([](const Run& run) { return run.window.taps > 0; });
  return plan;
}

std::vector<int64_t> run_table(const PoolNest& nest, const NestDim& dim, const DimPlan& plan,
                               Lowering::Runs which) {
  std::vector<int64_t> table;
  table.reserve(plan.runs.size() * run_fields);
  for (const Run& run : plan.runs) {
    if (which == Lowering::Runs::borders && run.window.taps == dim.kernel) continue;
    append_run(table, nest, run, plan.is_usual(nest, run));
  }
  return table;
}

}  // namespace

Lowering::Lowering(const PoolNest& nest, Builder& builder, Reducer& reducer, Grouped grouped,
                   const Staging* staging)
    : nest_(nest),
      b_(builder),
      reducer_(reducer),
      rule_(ir::index_rule(nest)),
      layout_(nest),
      staging_(staging),
      operands_(staging ? staging->results() : operands_like_output(nest)),
      beside_(view_beside(nest)) {
  for (size_t i = 0; i < nest.dims.size(); ++i)
    plans_.push_back(plan_of(nest, nest.dims[i], i == grouped.dim ? grouped.outputs : 1));
  if (counts_in_stand_ins()) rule_.dims = stand_in_weights(nest);
  if (nest.has_any_size()) {
    for (const View* view : {&nest.input, &nest.output}) steps_.push_back(steps_of(*view));
    steps_.push_back(nest.indices ? steps_of(*nest.indices) : std::vector<Step>());
    for (const View& view : operands_) steps_.push_back(steps_of(view));
    if (nest.is_norm_gradient()) steps_.push_back(steps_of(*beside_));
    blocks_.resize(steps_.size());
  }
  for (size_t i = 0; i < nest.dims.size(); ++i) {
    const Step input = step(nest.input, i);
    tap_steps_.push_back(times(input, nest.dims[i].tap_step()));
    period_steps_.push_back(times(input, plans_[i].period.input));
    if (beside_) beside_tap_steps_.push_back(times(step(*beside_, i), nest.dims[i].tap_step()));
  }
}

Cursor Lowering::start() {
  Cursor cursor;
  cursor.input.base = b_.param(Param::Role::input);
  cursor.output.base = b_.param(Param::Role::output);
  if (chooses() || writes_indices())
    (chooses() ? cursor.beside : cursor.indices).base = b_.param(Param::Role::indices);
  if (staging_) {
    for (const Address& result : {cursor.output, cursor.indices})
      if (cursor.operands.size() < operands_.size()) cursor.operands.push_back(result);
  } else {
    for (size_t i = 0; i < operands_.size(); ++i)
      cursor.operands.push_back({b_.param(Param::Role::operand, static_cast<int>(i)), {}, 0});
  }
  if (nest_.is_norm_gradient()) cursor.beside.base = b_.param(Param::Role::operand, 1);
  cursor.full = b_.iconst(1);
  cursor.index = b_.iconst(0);
  return cursor;
}

void Lowering::move(Address& address, Value count, Step step) {
  const Value bytes = b_.imul(count, step.word == no_value ? b_.iconst(step.constant) : step.word);
  if (const std::optional<int64_t> constant = b_.constant(bytes))
    address.offset += *constant;
  else
    address = Address{b_.ptradd(address, bytes), {}, 0};
}

void Lowering::move_input(Cursor& cursor, size_t dim, Value positions) {
  move(cursor.input, positions, step(nest_.input, dim));
  if (beside_) move(cursor.beside, positions, step(*beside_, dim));
}

void Lowering::move_output(Cursor& cursor, size_t dim, Value positions) {
  for_each_output(cursor,
                  [&](Address& address, const View& view) { move(address, positions, step(view, dim)); });
}

void Lowering::iterate_input(Cursor& cursor, size_t dim, Value iv, int64_t positions) {
  const bool is_period = positions == plans_[dim].period.input;
  cursor.input = is_period ? further_by(cursor.input, iv, period_steps_[dim], 1)
                           : further_by(cursor.input, iv, step(nest_.input, dim), positions);
  if (beside_) cursor.beside = further_by(cursor.beside, iv, step(*beside_, dim), positions);
}

void Lowering::iterate_output(Cursor& cursor, size_t dim, Value iv, int64_t positions) {
  for_each_output(cursor, [&](Address& address, const View& view) {
    address = further_by(address, iv, step(view, dim), positions);
  });
}

// sum + factor * each; nothing is emitted where that changes nothing.
Value Lowering::add_product(Value sum, Value factor, const Step& each) {
  if (each.word == no_value && each.constant == 0) return sum;
  return b_.iadd(sum, b_.imul(factor, each.word == no_value ? b_.iconst(each.constant) : each.word));
}

int Lowering::open_task(Cursor& cursor, const char* name, int64_t extent,
                        Step (Lowering::*step_of)(const View&), const Step& index_weight) {
  int& number = extent == TaskDim::batch_extent ? batch_task_ : channels_task_;
  if (number < 0) number = b_.add_task(name, extent);
  const Value begin = b_.param(Param::Role::begin, number);
  const Value count = b_.param(Param::Role::count, number);
  const auto step = [&](const View& view) { return (this->*step_of)(view); };
  move(cursor.input, begin, step(nest_.input));
  for_each_output(cursor, [&](Address& address, const View& view) { move(address, begin, step(view)); });
  if (beside_) move(cursor.beside, begin, step(*beside_));
  cursor.index = add_product(cursor.index, begin, index_weight);
  const Value iv = b_.begin_loop(count).iv;
  cursor.input = further_by(cursor.input, iv, step(nest_.input), 1);
  for_each_output(
      cursor, [&](Address& address, const View& view) { address = further_by(address, iv, step(view), 1); });
  if (beside_) cursor.beside = further_by(cursor.beside, iv, step(*beside_), 1);
  cursor.index = add_product(cursor.index, iv, index_weight);
  return 1;
}

int Lowering::open_batch(Cursor& cursor) {
  Step index_weight = nest_.indices ? rule_.batch : 0;
  if (nest_.indices && nest_.has_any_size()) index_weight = {0, word(layout_.index_batch())};
  return open_task(cursor, "n", TaskDim::batch_extent, &Lowering::batch_step, index_weight);
}

void Lowering::for_each_row(size_t dims, const RowBody& body, const Body& without) {
  Cursor cursor = start();
  int loops = open_batch(cursor);
  const bool does_gaps = without && !staging_;
  const bool rows_first = takes_rows_first(dims, does_gaps);
  if (!rows_first && !staging_) loops += open_channels(cursor);
  bool in_groups = false;
  for (size_t i = 0; i < dims; ++i) {
    loops += open_runs(cursor, /*task=*/i == 0);
    if (does_gaps && leave_gaps(i)) do_gap(cursor, dims, without);
    const bool grouped = plans_[i].group > 1;
    loops += grouped ? open_periods(cursor) : open_outputs(cursor);
    in_groups = in_groups || grouped;
  }
  if (rows_first && !staging_) loops += open_channels(cursor);
  split_full(
      cursor, [&](const Cursor& at) { body(at, in_groups); },
      [&](Cursor at) {
        const int phases = in_groups ? open_phases(at) : 0;
        body(at, false);
        close(phases);
      });
  close(loops);
}

WindowAt Lowering::usual_window(size_t dim) {
  const DimPlan& plan = plans_[dim];
  WindowAt window;
  window.taps = b_.iconst(plan.usual_taps);
  window.divisor_taps = b_.iconst(plan.usual_divisor);
  for (size_t digit = 0; digit < 3; ++digit)
    window.digits[digit] = b_.iconst(tap_digits(plan.usual_taps)[digit]);
  window.first = window.first_tap = window.output = b_.iconst(0);
  window.phases = b_.iconst(1);
  return window;
}

int Lowering::open_dims(Cursor& cursor, size_t end) {
  int loops = 0;
  for (size_t i = cursor.windows.size(); i < end; ++i) {
    loops += open_runs(cursor, /*task=*/i == 0);
    loops += open_outputs(cursor);
  }
  return loops;
}

int Lowering::open_runs(Cursor& cursor, bool task, Runs which) {
  const size_t i = cursor.windows.size();
  if (nest_.has_any_size()) return open_runs_of_size(cursor, task);
  const int64_t outputs = plans_[i].period.output;
  const int64_t periods = (nest_.dims[i].output + outputs - 1) / outputs;
  Value begin = b_.iconst(0);
  Value count = b_.iconst(periods);
  if (task) {
    const int number = b_.add_task("o" + std::to_string(i), periods);
    begin = b_.param(Param::Role::begin, number);
    count = b_.param(Param::Role::count, number);
  }
  if (which == Runs::borders || !plans_[i].one_run) return open_run_table(cursor, which, begin, count);
  open_single_run(cursor, begin, count);
  return 0;
}

void Lowering::open_single_run(Cursor& cursor, Value begin, Value count) {
  const size_t i = cursor.windows.size();
  const DimPlan& plan = plans_[i];
  const Run& run = plan.runs[0];
  WindowAt window = usual_window(i);
  window.periods = count;
  window.phases = b_.iconst(run.phases);
  window.first_tap = b_.iconst(run.window.first_tap);
  window.first = add_product(b_.iconst(run.window.first), begin, plan.period.input);
  move_input(cursor, i, b_.iconst(run.window.first));
  move_input(cursor, i, b_.imul(begin, b_.iconst(plan.period.input)));
  window.output = b_.imul(begin, b_.iconst(plan.period.output));
  move_output(cursor, i, window.output);
  cursor.windows.push_back(window);
}

int Lowering::open_run_table(Cursor& cursor, Runs which, Value begin, Value count) {
  const size_t i = cursor.windows.size();
  std::vector<int64_t> table = run_table(nest_, nest_.dims[i], plans_[i], which);
  const int64_t rows = static_cast<int64_t>(table.size()) / run_fields;
  const Address base{b_.param(Param::Role::table, b_.add_table(std::move(table))), {}, 0};
  return open_rows(cursor, base, b_.iconst(rows), {begin, count});
}

int Lowering::open_rows(Cursor& cursor, const Address& table, Value rows, const Outputs& outputs) {
  const size_t i = cursor.windows.size();
  const NestDim& dim = nest_.dims[i];
  const DimPlan& plan = plans_[i];
  const Address row = plus(table, b_.begin_loop(rows).iv, run_row_bytes);
  const auto field = [&](int number) { return b_.iload(plus(row, number * 8)); };

  const Value minus_one = b_.iconst(-1);
  const bool are_all = outputs.begin == no_value;
  const Value low = are_all ? field(run_begin) : b_.imax(outputs.begin, field(run_begin));
  const Value end = are_all ? no_value : b_.iadd(outputs.begin, outputs.count);
  const Value high = are_all ? field(run_end) : b_.imin(end, field(run_end));
  WindowAt window;
  const Value zero = b_.iconst(0);
  window.periods = b_.imax(zero, b_.iadd(high, b_.imul(low, minus_one)));
  window.phases = plan.one_phase ? b_.iconst(1) : field(run_phases);
  window.taps = field(run_taps);
  window.divisor_taps = plan.one_divisor ? b_.iconst(plan.usual_divisor) : field(run_divisor);
  window.first_tap = nest_.indices && rule_.of_window ? field(run_first_tap) : b_.iconst(0);
  for (int digit = 0; is_long(dim) && digit < 3; ++digit)
    window.digits[static_cast<size_t>(digit)] = field(run_digit + digit);
  // Where the windows of this run start: the run's first output may lie before this task's.
  const Value skipped = b_.iadd(low, b_.imul(field(run_begin), minus_one));
  window.first = add_product(field(run_first), skipped, plan.period.input);
  move_input(cursor, i, window.first);
  window.output = b_.imul(low, b_.iconst(plan.period.output));
  if (plan.period.output > 1) window.output = b_.iadd(window.output, field(run_phase));
  move_output(cursor, i, window.output);
  const Value full = nest_.extents == Extents::any_windows ? b_.iconst(0) : field(run_full);
  cursor.full = b_.imul(cursor.full, full);
  cursor.windows.push_back(window);
  return 1;
}

int Lowering::open_outputs(Cursor& cursor) {
  const int loops = open_periods(cursor);
  return loops + open_phases(cursor);
}

int Lowering::open_periods(Cursor& cursor) {
  const size_t i = cursor.windows.size() - 1;
  const Period& period = plans_[i].period;
  WindowAt& window = cursor.windows[i];
  const Value number = b_.begin_loop(window.periods).iv;
  iterate_input(cursor, i, number, period.input);
  iterate_output(cursor, i, number, period.output);
  if (writes_indices() || divides()) window.first = add_product(window.first, number, period.input);
  if (compares_positions()) window.output = add_product(window.output, number, period.output);
  return 1;
}

int Lowering::open_phases(Cursor& cursor) {
  const size_t i = cursor.windows.size() - 1;
  WindowAt& window = cursor.windows[i];
  if (const std::optional<int64_t> phases = b_.constant(window.phases); phases && *phases == 1) return 0;
  const Value phase = b_.begin_loop(window.phases).iv;
  iterate_input(cursor, i, phase, plans_[i].phase_input);
  iterate_output(cursor, i, phase, 1);
  if (compares_positions()) window.output = add_product(window.output, phase, 1);
  if (nest_.indices && rule_.of_window)
    window.first_tap = add_product(window.first_tap, phase, tap_of_phase(nest_.dims[i]));
  return 1;
}

void Lowering::close(int loops) {
  for (int i = 0; i < loops; ++i) b_.end_loop();
}

void Lowering::split_full(const Cursor& cursor, const Body& usual_code, const Body& other) {
  const std::optional<int64_t> always = b_.constant(cursor.full);
  Cursor full = cursor;
  for (size_t i = 0; i < full.windows.size(); ++i) {
    const WindowAt usual = usual_window(i);
    full.windows[i].taps = usual.taps;
    full.windows[i].divisor_taps = usual.divisor_taps;
    full.windows[i].digits = usual.digits;
  }
  if (always) return *always == 1 ? usual_code(full) : other(cursor);
  b_.begin_loop(cursor.full);
  usual_code(full);
  b_.end_loop();
  b_.begin_loop(add_product(b_.iconst(1), cursor.full, -1));
  other(cursor);
  b_.end_loop();
}

}  // namespace pooljit::ir
