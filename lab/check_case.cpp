#include "lab/check_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "ir/general/size_words.h"
#include "ir/reference.h"
#include "ir/window_taps.h"
#include "lab/check_compare.h"
#include "lab/elements.h"

namespace pooljit::runtime {
namespace {

// The content of outputs before a run. An element that is not written shows, and so does one that should not be.
constexpr std::byte canary{0xa5};
constexpr int64_t most_bytes = int64_t{4} << 30;

std::vector<int64_t> task_extents(const ir::PoolNest& nest, const std::vector<ir::TaskDim>& dims,
                                  int64_t batch) {
  std::vector<int64_t> extents;
  for (const ir::TaskDim& dim : dims) extents.push_back(task_count(dim, nest, batch));
  return extents;
}

// The task of that number, in row-major order.
TaskRanges single_task(const std::vector<int64_t>& extents, int64_t number) {
  TaskRanges ranges;
  for (size_t d = extents.size(); d-- > 0;) {
    ranges[d] = {number % extents[d], 1};
    number /= extents[d];
  }
  return ranges;
}

// Gives elements that still hold the canary their value in `all`.
void fill_unwritten(const Placed& placed, size_t place, const Bytes& all) {
  const std::span<std::byte> memory = placed.at[place].bytes();
  const auto width = static_cast<size_t>(placed.view.element_bytes);
  for_each_element(placed.view, [&](int64_t offset) {
    const std::span<std::byte> element = memory.subspan(static_cast<size_t>(offset), width);
    if (std::ranges::all_of(element, [](std::byte byte) { return byte == canary; }))
      std::copy_n(all.begin() + offset, width, element.begin());
  });
}

// The indices that the forward pass makes of some other data.
void make_indices(const ir::PoolNest& backward, DataKind kind, int64_t batch, uint64_t seed, void* indices) {
  const ir::PoolNest forward = forward_of(backward);
  const MemoryView view = input_view(forward, batch);
  Bytes input(size_t(view.span_bytes())), output(size_t(output_view(forward, batch).span_bytes()));
  fill_input(view, forward.input.dtype, kind, seed + 500, input);
  ir::evaluate(forward, batch, input.data(), output.data(), indices);
}

// Operands of the epilogue, of the same kind of data.
ir::Result<std::vector<Placed>> make_operands(const ir::PoolNest& nest, DataKind kind, int64_t batch,
                                              uint64_t seed) {
  const std::vector<ir::View> views = operand_views(nest);
  std::vector<Placed> operands;
  for (const MemoryView& memory : operand_memory(nest, batch)) {
    auto placed = Placed::make(memory);
    if (!placed) return tl::unexpected(placed.error());
    const size_t number = operands.size();
    fill_input(memory, views[number].dtype, kind, seed + 700 + number, placed->at[0].bytes());
    std::ranges::copy(placed->at[0].bytes(), placed->at[1].data());
    operands.push_back(std::move(*placed));
  }
  return operands;
}

}  // namespace

Placed::Placed(const MemoryView& placed, GuardedBuffer back, GuardedBuffer front)
    : view(placed), at{std::move(back), std::move(front)}, touchable(element_bytes(placed)) {}

ir::Result<Placed> Placed::make(const MemoryView& view) {
  auto back = GuardedBuffer::make(size_t(view.span_bytes()), GuardedBuffer::Flush::last_byte);
  if (!back) return tl::unexpected(back.error());
  auto front = GuardedBuffer::make(size_t(view.span_bytes()), GuardedBuffer::Flush::first_byte);
  if (!front) return tl::unexpected(front.error());
  return Placed(view, std::move(*back), std::move(*front));
}

ir::Result<Case> Case::make(const ir::PoolNest& nest, DataKind kind, int64_t batch, uint64_t seed,
                            std::span<const uint64_t> elements) {
  const std::array views = {input_view(nest, batch), output_view(nest, batch), indices_view(nest, batch)};
  for (const MemoryView& view : views)
    if (view.span_bytes() > most_bytes)
      return ir::unsupported("check.size", "the tensors are too large to be checked",
                             fmt::format("at most {} bytes each", most_bytes));
  auto input = Placed::make(views[0]), output = Placed::make(views[1]), indices = Placed::make(views[2]);
  for (const auto* made : {&input, &output, &indices})
    if (!*made) return tl::unexpected(made->error());
  fill_input(views[0], nest.input.dtype, kind, seed, input->at[0].bytes());
  if (!elements.empty()) put_elements(views[0], nest.input.dtype, elements, input->at[0].bytes());
  std::ranges::copy(input->at[0].bytes(), input->at[1].data());
  const bool reads_indices = nest.is_backward();
  if (reads_indices && nest.indices) {
    make_indices(nest, kind, batch, seed, indices->at[0].data());
    std::ranges::copy(indices->at[0].bytes(), indices->at[1].data());
  }
  auto operands = make_operands(nest, kind, batch, seed);
  if (!operands) return tl::unexpected(operands.error());
  return Case{.data = elements.empty() ? runtime::name(kind) : "given",
              .batch = batch,
              .input = std::move(*input),
              .output = std::move(*output),
              .indices = std::move(*indices),
              .operands = std::move(*operands),
              .reads_indices = reads_indices,
              .tasks = {},
              .interpreted = {},
              .whole = {},
              .judge = {},
              .allowed = {}};
}

Call Case::call(size_t place) const {
  Call made{input.at[place].data(), output.at[place].data(),
            indices.view.rank > 0 ? indices.at[place].data() : nullptr, batch};
  for (size_t i = 0; i < operands.size(); ++i) made.operands[i] = operands[i].at[place].data();
  return made;
}

std::vector<ir::Region> Case::operand_regions() const {
  std::vector<ir::Region> regions;
  for (const Placed& operand : operands) regions.push_back(operand.region());
  return regions;
}

void Case::clear_outputs(size_t place) const {
  std::ranges::fill(output.at[place].bytes(), canary);
  if (!reads_indices) std::ranges::fill(indices.at[place].bytes(), canary);
}

Results Case::results(size_t place) const {
  const auto y = output.at[place].bytes(), i = indices.at[place].bytes();
  return {{y.begin(), y.end()}, {i.begin(), i.end()}};
}

void Case::make_judge(const ir::PoolNest& nest) {
  if (!judge)
    judge.emplace(nest, batch, input.at[0].data(), reads_indices ? indices.at[0].data() : nullptr,
                  call(0).operands);
}

std::optional<std::string> Case::objection_to_part(const ir::PoolNest& nest, size_t place) {
  make_judge(nest);
  fill_unwritten(output, place, judge->output());
  if (nest.indices && !reads_indices) fill_unwritten(indices, place, judge->indices());
  const Call made = call(place);
  return judge->disagreement(made.output, made.indices);
}

std::optional<std::string> Case::objection(const ir::PoolNest& nest, size_t place) {
  Results found = results(place);
  if (std::ranges::find(allowed, found) != allowed.end()) return std::nullopt;
  make_judge(nest);
  const Call made = call(place);
  if (auto sentence = judge->disagreement(made.output, made.indices)) return sentence;
  allowed.push_back(std::move(found));
  return std::nullopt;
}

std::string Case::name() const { return fmt::format("data \"{}\", batch {}", data, batch); }

double count_taps(const ir::PoolNest& nest) { return ir::taps_of_planes(nest, nest.channels); }

Tasks split_tasks(const ir::PoolNest& nest, const std::vector<ir::TaskDim>& dims, int64_t batch,
                  int threads) {
  const Grid grid(task_extents(nest, dims, batch), threads);
  Tasks tasks;
  for (int64_t cell = grid.cells(); cell-- > 0;) tasks.cells.push_back(grid.ranges(cell));
  return tasks;
}

Tasks choose_tasks(const ir::PoolNest& nest, const std::vector<ir::TaskDim>& dims, int64_t batch,
                   double most_taps, uint64_t seed) {
  const std::vector<int64_t> extents = task_extents(nest, dims, batch);
  int64_t count = 1;
  for (int64_t extent : extents) count *= extent;
  const double taps_per_task = count_taps(nest) * double(batch) / double(count);
  const auto wanted = std::max(int64_t(most_taps / taps_per_task), int64_t{3});
  if (wanted >= count) return split_tasks(nest, dims, batch, 1);
  Tasks tasks{{single_task(extents, 0), single_task(extents, count - 1)}, double(wanted) / double(count)};
  std::mt19937_64 random(seed);
  // One out of each of equal parts of what lies between.
  for (int64_t part = 0; part < wanted - 2; ++part) {
    const auto between = [&](int64_t number) {
      return 1 + int64_t(double(count - 2) * double(number) / double(wanted - 2));
    };
    std::uniform_int_distribution<int64_t> choose(between(part), between(part + 1) - 1);
    tasks.cells.push_back(single_task(extents, choose(random)));
  }
  return tasks;
}

std::string results_text(const ir::PoolNest& nest, const Case& data, const Results& results) {
  std::string text =
      fmt::format("output: {}\n", print_elements(data.output.view, nest.output.dtype, results.output));
  if (nest.indices && !data.reads_indices)
    text +=
        fmt::format("indices: {}\n", print_elements(data.indices.view, nest.indices->dtype, results.indices));
  return text;
}

std::string reference_text(const ir::PoolNest& nest, const Case& data) {
  data.clear_outputs(0);
  const Call call = data.call(0);
  ir::evaluate(nest, data.batch, call.input, call.output, call.indices, call.operands);
  return results_text(nest, data, data.results(0));
}

}  // namespace pooljit::runtime
