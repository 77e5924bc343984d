#include "runtime/proof/prober.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/agreement.h"
#include "ir/error_bounds.h"
#include "ir/float_format.h"
#include "ir/general/size_words.h"
#include "proof/program/prove.h"
#include "runtime/proof/bare_call.h"
#include "runtime/proof/expected.h"
#include "runtime/proof/guarded_buffer.h"
#include "runtime/proof/step_probes.h"
#include "runtime/proof/tensor.h"
#include "runtime/proof/through.h"

namespace pooljit::runtime {
namespace {

using Chosen = std::function<size_t(size_t plane)>;

// More single tasks than these are taken in ranges.
constexpr int64_t most_cells = 4096;

// Whether a result that is off by no more than the bound may be `found`.
bool allows(const ir::ErrorBound& bound, ir::DType dtype, double found) {
  if (ir::is_float(dtype)) return std::abs(found - bound.value) <= bound.error;
  return std::nearbyint(bound.value - bound.error) <= found &&
         found <= std::nearbyint(bound.value + bound.error);
}

class Prober {
 public:
  Prober(const Code& code, const BareCall& bare, int64_t batch)
      : code_(code),
        bare_(bare),
        nest_(code.info.nest),
        oracle_(nest_),
        batch_(batch),
        input_(nest_, nest_.input, batch, &ir::NestDim::input),
        output_(nest_, nest_.output, batch, &ir::NestDim::output),
        neutral_(neutral_planes(nest_)) {
    report_.batch = batch;
    if (nest_.indices) indices_.emplace(nest_, *nest_.indices, batch, index_extent(nest_));
    make_operands();
    const ir::IndexRule rule = ir::index_rule(nest_.is_backward() ? forward_of(nest_) : nest_);
    for (int64_t n = 0; nest_.indices && n < batch; ++n)
      for (int64_t c = 0; c < nest_.channels; ++c) index_addend_.push_back(n * rule.batch + c * rule.channel);
  }

  ir::Result<ProbeReport> run() {
    auto place = make_place(GuardedBuffer::Flush::last_byte, 0);
    if (!place) return tl::unexpected(place.error());
    for_each_probe(nest_, batch_, [&](const Probe& one) { return passes(one, *place); });
    if (const auto rounds = rounds_needed(nest_); rounds && report_.failure.empty()) {
      report_.rounds = *rounds;
      for (int64_t i = 0; i < report_.rounds.rounds; ++i)
        if (!passes(random_probe(nest_, report_.rounds, uint64_t(i) + 1), *place)) break;
    }
    if (report_.failure.empty() && !nest_.epilogue.empty())
      report_.untold = for_each_step_probe(nest_, batch_, oracle_, [&](const Probe& one) {
                         return passes(one, *place);
                       }).untold;
    if (report_.failure.empty())
      if (auto done = check_memory(); !done) return tl::unexpected(done.error());
    return std::move(report_);
  }

 private:
  struct CallBuffers {
    GuardedBuffer input, output, indices, scratch;
    std::vector<GuardedBuffer> operands;
    int64_t shift;         // bytes from where the buffers begin to the first elements
    int64_t output_shift;  // of the output: 0 where the code asks for alignment

    Call call(int64_t batch, bool has_indices) const {
      Call call = {input.data() + shift, output.data() + output_shift,
                   has_indices ? indices.data() + shift : nullptr, batch};
      for (size_t i = 0; i < operands.size(); ++i) call.operands[i] = operands[i].data() + shift;
      call.scratch = scratch.data();  // aligned, as kernels may expect
      return call;
    }
  };

  // An array of one number per channel is a tensor of one batch and one position.
  void make_operands() {
    const std::vector<ir::View> views = operand_views(nest_);
    for (size_t i = 0; i < views.size(); ++i) {
      const bool is_array = is_per_channel(nest_, i);
      ir::PoolNest nest = nest_;
      if (is_array) std::ranges::fill(nest.dims, ir::NestDim{.input = 1, .output = 1});
      operands_.emplace_back(nest, views[i], is_array ? 1 : batch_, &ir::NestDim::output);
    }
  }

  ir::Result<CallBuffers> make_place(GuardedBuffer::Flush flush, int64_t shift) {
    std::vector<GuardedBuffer> made;
    const auto size_of = [](const Lattice& lattice) { return lattice.span() * lattice.width(); };
    const int64_t alignment = code_.info.output_alignment, output_shift = alignment == 1 ? shift : 0;
    // Against the page behind, a whole number of vectors: what the last one does not fill holds the canary.
    const int64_t output_size = (size_of(output_) + output_shift + alignment - 1) / alignment * alignment;
    std::vector<int64_t> sizes = {size_of(input_) + shift, output_size,
                                  (indices_ ? size_of(*indices_) : 0) + shift};
    for (const Lattice& operand : operands_) sizes.push_back(size_of(operand) + shift);
    for (int64_t size : sizes) {
      auto buffer = GuardedBuffer::make(size_t(size), flush);
      if (!buffer) return tl::unexpected(buffer.error());
      made.push_back(std::move(*buffer));
    }
    auto scratch = GuardedBuffer::make(size_t(code_.info.scratch_bytes), flush);
    if (!scratch) return tl::unexpected(scratch.error());
    CallBuffers place{
        std::move(made[0]), std::move(made[1]), std::move(made[2]), std::move(*scratch), {}, shift,
        output_shift};
    for (size_t i = 3; i < made.size(); ++i) place.operands.push_back(std::move(made[i]));
    return place;
  }

  bool reads_indices() const { return nest_.is_backward() && indices_; }

  bool passes(const Probe& probe, const CallBuffers& place) {
    ++report_.probes[size_t(probe.part)];
    const auto chosen = [&](size_t plane) {
      return probe.chosen ? probe.chosen(int64_t(plane) / nest_.channels, int64_t(plane) % nest_.channels)
                          : size_t{0};
    };
    std::vector<bool> used(probe.planes.size(), false);
    for (size_t plane = 0; plane < input_.planes(); ++plane) used[chosen(plane)] = true;
    const Expected expected = oracle_.evaluate(probe, used);
    input_.scatter({probe.planes, chosen}, place.input.data() + place.shift);
    for (size_t i = 0; i < operands_.size(); ++i) scatter_operand(i, probe, chosen, place);
    for (const int cells : {1, 0}) {
      execute(place, cells, {expected.indices, chosen, index_addend_});
      compare(probe.part, expected, chosen, place);
      if (!report_.failure.empty()) return false;
    }
    return true;
  }

  void scatter_operand(size_t number, const Probe& probe, const Chosen& chosen,
                       const CallBuffers& place) const {
    std::vector<Plane> planes;
    for (size_t i = 0; i < probe.planes.size(); ++i)
      planes.push_back(probe.operands.empty() ? neutral_[number] : probe.operands[i][number]);
    operands_[number].scatter({planes, chosen}, place.operands[number].data() + place.shift);
  }

  // cells: how many ranges the tasks are cut into; 0: as many as there are tasks, if they are not too many.
  void execute(const CallBuffers& place, int cells, const Lattice::Content& indices) {
    std::vector<int64_t> extents;
    int64_t tasks = 1;
    for (const ir::TaskDim& task : code_.info.tasks) {
      extents.push_back(task_count(task, nest_, batch_));
      tasks *= extents.back();
    }
    // Another pattern each time: what is not written must not pass for what was.
    const auto canary = static_cast<std::byte>(cells == 1 ? 0xa5 : 0x5a);
    std::ranges::fill(place.output.bytes(), canary);
    std::ranges::fill(place.indices.bytes(), canary);
    std::ranges::fill(place.scratch.bytes(), canary);
    if (reads_indices()) indices_->scatter(indices, place.indices.data() + place.shift);
    const Grid grid(extents, cells == 1 ? 1 : int(std::min(tasks, most_cells)));
    const Call call = place.call(batch_, nest_.indices.has_value());
    // All bits set, or none: a mask that was not made lets everything through, or nothing.
    const uint8_t registers = cells == 1 ? 0xff : 0;
    for (int64_t cell = grid.cells(); cell-- > 0;) bare_.run(call, grid.ranges(cell), registers);
    ++report_.runs;
  }

  void compare(Part part, const Expected& expected, const Chosen& chosen, const CallBuffers& place) {
    const auto describe = [&](std::string_view what, Extent extent, const Lattice::Difference& d) {
      report_.failure =
          fmt::format("{}: {} at n={} c={} [{}] is 0x{:x}, not 0x{:x}", info(part).text, what,
                      int64_t(d.plane) / nest_.channels, int64_t(d.plane) % nest_.channels,
                      fmt::join(unravel(int64_t(d.position), nest_.dims, extent), ","), d.found, d.wanted);
    };
    const ir::DType dtype = nest_.output.dtype;
    const bool any_zero = ir::shares_zeros_of_any_sign(nest_);
    const auto agrees = [&](const Lattice::Difference& d) {
      if (ir::is_nan_bits(dtype, d.wanted) || ir::is_nan_bits(dtype, d.found))
        return ir::is_nan_bits(dtype, d.wanted) && ir::is_nan_bits(dtype, d.found);
      if (any_zero && number_of(dtype, d.found) == 0 && number_of(dtype, d.wanted) == 0) return true;
      return !expected.bounds.empty() &&
             allows(expected.bounds[chosen(d.plane)][d.position], dtype, number_of(dtype, d.found));
    };
    if (const auto difference =
            output_.compare({expected.outputs, chosen}, agrees, place.output.data() + place.output_shift))
      return describe("the output", &ir::NestDim::output, *difference);
    if (!indices_) return;
    const auto never = [](const Lattice::Difference&) { return false; };
    if (const auto difference = indices_->compare({expected.indices, chosen, index_addend_}, never,
                                                  place.indices.data() + place.shift))
      describe("the index", index_extent(nest_), *difference);
  }

  // --- memory: addresses do not depend on data, so one input shows what any would

  ir::Result<void> check_memory() {
    Probe probe = random_probe(nest_, report_.rounds, 0);
    probe.part = Part::memory;
    const int64_t width = std::max(input_.width(), int64_t{1});
    for (const auto flush : {GuardedBuffer::Flush::first_byte, GuardedBuffer::Flush::last_byte})
      for (int64_t shift = 0; shift < width; ++shift) {
        // Against the page in front, only what is not shifted lies flush; behind, everything does.
        auto place = make_place(flush, shift);
        if (!place) return tl::unexpected(place.error());
        fill_gaps(*place);
        if (!passes(probe, *place)) return {};
        check_canaries(*place);
        if (!report_.failure.empty()) return {};
      }
    return {};
  }

  // Bytes between the elements of the input would win, or change every sum.
  void fill_gaps(const CallBuffers& place) const {
    fill(input_, nest_.input.dtype, place.input.data() + place.shift);
    const std::vector<ir::View> views = operand_views(nest_);
    for (size_t i = 0; i < operands_.size(); ++i)
      fill(operands_[i], views[i].dtype, place.operands[i].data() + place.shift);
  }

  void fill(const Lattice& lattice, ir::DType dtype, std::byte* first) const {
    const uint64_t bits = ir::is_float(dtype) ? ir::quiet_nan_bits(dtype)
                                              : ir::bits_of_integer(dtype, nest_.is_extreme() ? -1 : 77);
    for (int64_t i = 0; i < lattice.span(); ++i)
      std::memcpy(first + i * lattice.width(), &bits, size_t(lattice.width()));
  }

  void check_canaries(const CallBuffers& place) {
    check_canaries(output_, place.output, place.output_shift, "output");
    if (indices_) check_canaries(*indices_, place.indices, place.shift, "indices");
  }

  void check_canaries(const Lattice& lattice, const GuardedBuffer& memory, int64_t shift,
                      std::string_view what) {
    std::vector<char> owned(memory.size(), 0);
    lattice.for_each_stretch([&](int64_t element, int64_t elements) {
      std::fill_n(owned.begin() + shift + element * lattice.width(), elements * lattice.width(), 1);
    });
    for (size_t i = 0; i < owned.size() && report_.failure.empty(); ++i)
      if (owned[i] == 0 && memory.bytes()[i] != std::byte{0x5a})
        report_.failure = fmt::format("memory: byte {} of the {} belongs to no element and was written",
                                      int64_t(i) - shift, what);
  }

  const Code& code_;
  const BareCall& bare_;
  const ir::PoolNest& nest_;
  const Oracle oracle_;
  int64_t batch_;
  Lattice input_, output_;
  std::optional<Lattice> indices_;
  std::vector<Lattice> operands_;  // of the steps
  const std::vector<Plane> neutral_;
  std::vector<int64_t> index_addend_;
  ProbeReport report_;
};

}  // namespace

ir::Result<ProbeReport> probe(const Code& code, int64_t batch) {
  const auto bare = BareCall::make(code);
  if (!bare) return tl::unexpected(bare.error());
  return Prober(code, *bare, batch).run();
}

}  // namespace pooljit::runtime
