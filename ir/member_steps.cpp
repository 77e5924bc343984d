#include "ir/member_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace pooljit::ir {
namespace {

// Each tap is a position of the tensor, one next to the other, and no window is empty.
bool is_dense(const NestDim& dim) {
  return dim.kind == DimKind::pool && dim.stride == 1 && dim.dilation == 1 && dim.pad_begin >= 0 &&
         dim.pad_end >= 0 && std::max(dim.pad_begin, dim.pad_end) < dim.kernel &&
         dim.output == dim.input + dim.pad_begin + dim.pad_end - dim.kernel + 1;
}

// far: of taps as far apart as they may be; else side by side.
std::optional<NestDim> made_of(const NestDim& larger, const NestDim& smaller, bool far) {
  if (!is_dense(larger) || !is_dense(smaller)) return std::nullopt;
  const int64_t more = larger.kernel - smaller.kernel;
  const int64_t before = larger.pad_begin - smaller.pad_begin, after = larger.pad_end - smaller.pad_end;
  if (more < 0 || std::min(before, after) < 0 || std::max(before, after) > more) return std::nullopt;
  constexpr int64_t most_apart = 4096;  // a divisor is sought from there
  int64_t apart = std::min(smaller.kernel, most_apart);
  if (before > 0) apart = std::min(apart, smaller.pad_begin + 1);
  if (after > 0) apart = std::min(apart, smaller.pad_end + 1);
  // Not all of them before and behind.
  if (before > 0 && after > 0) apart = std::min(apart, smaller.output);
  apart = std::min(apart, std::max<int64_t>(more, 1));
  if (!far) apart = 1;
  while (more % apart != 0) --apart;
  return NestDim{.input = smaller.output,
                 .output = larger.output,
                 .kernel = more / apart + 1,
                 .dilation = apart,
                 .pad_begin = before,
                 .pad_end = after};
}

// A maximum or minimum that is nothing else: its results are elements of the tensor.
bool is_plain(const PoolNest& nest) {
  return nest.is_extreme() && nest.direction == Direction::forward && !nest.indices &&
         nest.zeros == ZeroRule::any;
}

// Packed, in the order that the dimensions of `like` have.
View packed(const View& like, DType dtype, int64_t channels, const std::vector<NestDim>& dims) {
  View view;
  view.dtype = dtype;
  view.channel_block = like.channel_block;
  view.strides.resize(dims.size());
  const bool is_innermost = like.channel_block == 1 && like.channel_stride == 1;
  int64_t step = is_innermost ? channels : like.channel_block;
  for (size_t d = dims.size(); d-- > 0;) {
    view.strides[d] = step;
    step *= dims[d].output;
  }
  view.channel_stride = is_innermost ? 1 : step;
  return view;
}

int64_t bytes_of(const PoolNest& nest) {
  int64_t elements =
      (nest.channels + nest.output.channel_block - 1) / nest.output.channel_block * nest.output.channel_block;
  for (const NestDim& dim : nest.dims) elements *= dim.output;
  return elements * bytes(nest.output.dtype);
}

// From a room to the output: the largest of one. Where both are packed alike, in one row.
PoolNest copy_of(const PoolNest& made, const View& output) {
  PoolNest copy = made;
  copy.input = made.output, copy.output = output;
  copy.input.dtype = made.output.dtype;
  int64_t elements = made.channels;
  for (NestDim& dim : copy.dims) {
    dim = {.input = dim.output, .output = dim.output};
    elements *= dim.output;
  }
  View alike = output;
  alike.dtype = copy.input.dtype, alike.batch_stride = copy.input.batch_stride;
  const View row = packed(output, copy.input.dtype, made.channels, copy.dims);
  if (alike != copy.input || alike != row || made.channels % output.channel_block != 0) return copy;
  copy.channels = 1;
  copy.dims = {{.input = elements, .output = elements}};
  for (View* view : {&copy.input, &copy.output})
    view->channel_block = 1, view->channel_stride = elements, view->strides = {1};
  return copy;
}

tl::unexpected<Error> not_made(size_t member, int from) {
  return invalid("schedule.from", fmt::format("member {} cannot be made of member {}", member, from),
                 "a maximum or minimum without indices, of a smaller one of dense windows; -1 is the input");
}

}  // namespace

int64_t combinations(const PoolNest& nest) {
  double taps = 1;
  int64_t shared = 0;
  bool is_shared = true;
  for (const NestDim& dim : nest.dims) {
    taps *= static_cast<double>(dim.kernel);
    shared += static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(dim.kernel - 1)));
    is_shared = is_shared && dim.dilation == 1;
  }
  constexpr double most = 1e18;
  return is_shared ? shared : static_cast<int64_t>(std::min(taps - 1, most));
}

std::optional<PoolNest> made_of(const PoolNest& larger, const PoolNest& smaller) {
  if (!is_plain(larger) || !is_plain(smaller) || larger.reduction != smaller.reduction ||
      larger.nan != smaller.nan || larger.input != smaller.input || !smaller.epilogue.empty() ||
      smaller.output.dtype != smaller.input.dtype)
    return std::nullopt;
  std::optional<PoolNest> best;
  for (const bool far : {false, true}) {
    PoolNest made = larger;
    for (size_t d = 0; d < made.dims.size(); ++d) {
      const auto dim = made_of(larger.dims[d], smaller.dims[d], far);
      if (!dim) return std::nullopt;
      made.dims[d] = *dim;
    }
    if (!best || combinations(made) < combinations(*best)) best = std::move(made);
  }
  return best;
}

Result<MemberSteps> member_steps(const PoolNest& nest, std::span<const int> from, int64_t channels) {
  const size_t count = nest.members.size();
  if (channels < 1 || nest.channels % channels != 0 || channels % nest.input.channel_block != 0)
    return invalid("schedule.members",
                   fmt::format("{} channels at a time are no equal parts of {}", channels, nest.channels));
  for (const PoolNest& member : nest.members)
    if (member.indices && member.index_scope != IndexScope::plane && member.index_scope != IndexScope::window)
      return unsupported("schedule.members", "indices that count channels need these all at a time");
  MemberSteps all{.channels = channels, .steps = {}, .rooms = std::vector<int64_t>(count)};
  std::vector<PoolNest> made(count);  // that has been; channels = 0: not yet
  for (PoolNest& each : made) each.channels = 0;
  const auto is_made = [&](int member) { return made[static_cast<size_t>(member)].channels != 0; };
  while (std::ranges::any_of(made, [](const PoolNest& each) { return each.channels == 0; })) {
    const size_t before = all.steps.size();
    for (size_t i = 0; i < count; ++i) {
      const int source = from[i];
      if (source >= static_cast<int>(count) || source == static_cast<int>(i)) return not_made(i, source);
      if (made[i].channels != 0 || (source >= 0 && !is_made(source))) continue;
      const PoolNest& member = nest.members[i];
      made[i] = member;
      if (source >= 0) {
        const auto smaller = made_of(member, nest.members[static_cast<size_t>(source)]);
        if (!smaller) return not_made(i, source);
        made[i] = *smaller;
        made[i].input = made[static_cast<size_t>(source)].output;
      }
      made[i].channels = channels;
      const int number = static_cast<int>(i);
      if (std::ranges::find(from, number) == from.end()) {
        all.steps.push_back({made[i], number, source, -1});
        continue;
      }
      made[i].output = packed(nest.input, member.output.dtype, channels, made[i].dims);
      all.rooms[i] = bytes_of(made[i]);
      all.steps.push_back({made[i], number, source, number});
      all.steps.push_back({copy_of(made[i], member.output), number, number, -1});
    }
    if (all.steps.size() == before) return not_made(0, from[0]);  // in a circle
  }
  return all;
}

}  // namespace pooljit::ir
