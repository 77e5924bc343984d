#include "ir/schedules/lanes/lanes_apart.h"

#include <algorithm>
#include <vector>

#include "ir/lane_list.h"
#include "ir/passes/legal.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lane_gather.h"

namespace pooljit::ir {
namespace {

Address elements_behind(Address from, const Type& type, int64_t elements) {
  from.offset += elements * bytes(type.dtype);
  return from;
}

bool is_wanted(std::span<const int64_t> wanted, int64_t lane) {
  return wanted.empty() || wanted[static_cast<size_t>(lane)] != 0;
}

// Vectors of as many elements as there are lanes that the lanes lie in.
int64_t vectors_of(int lanes, int64_t stride) { return ((lanes - 1) * stride + lanes) / lanes; }

// Masked vectors have several lanes each, and a shuffle takes all of them.
bool serve_vectors(Isa isa, DType dtype, int lanes, int64_t stride) {
  return stride > 0 && has_masked_access(isa, dtype) && 2 * vectors_of(lanes, stride) <= lanes;
}

// Lanes one by one, each from its address; those that are not wanted have the bits `otherwise`. Halves after
// each other, so that few are held at once.
class LoadOneByOne {
 public:
  LoadOneByOne(Builder& builder, DType dtype, std::span<const int64_t> wanted, int64_t otherwise,
               const AddressOfLane& at)
      : b_(builder), dtype_(dtype), wanted_(wanted), otherwise_(otherwise), at_(at) {}

  // Lanes begin .. begin + count - 1.
  Value load(int64_t begin, int count) {
    const Type type = Type::vec(dtype_, count);
    bool any = false;
    for (int64_t lane = begin; lane < begin + count; ++lane) any = any || is_wanted(wanted_, lane);
    if (!any) return b_.vconst_splat(type, otherwise_);
    if (count == 1) return b_.load(type, at_(begin));
    const Value low = load(begin, count / 2), high = load(begin + count / 2, count / 2);
    return b_.shuffle(low, high, lanes_from(0, count));
  }

 private:
  Builder& b_;
  const DType dtype_;
  const std::span<const int64_t> wanted_;
  const int64_t otherwise_;
  const AddressOfLane& at_;
};

class LoadLanes {
 public:
  LoadLanes(Builder& builder, const Type& type, const Address& from, int64_t stride,
            std::span<const int64_t> wanted, int64_t otherwise)
      : b_(builder), type_(type), from_(from), stride_(stride), wanted_(wanted), otherwise_(otherwise) {}

  // Whole vectors without what lies between the lanes.
  Value by_vectors() {
    std::vector<Value> vectors;
    std::vector<LaneSource> sources(static_cast<size_t>(type_.lanes));
    for (int64_t i = 0; i < vectors_of(type_.lanes, stride_); ++i) {
      std::vector<int64_t> mask(static_cast<size_t>(type_.lanes), 0);
      for (int64_t lane = 0; lane < type_.lanes; ++lane) {
        const int64_t place = lane * stride_ - i * type_.lanes;
        if (place < 0 || place >= type_.lanes || !is_wanted(wanted_, lane)) continue;
        mask[static_cast<size_t>(place)] = 1;
        sources[static_cast<size_t>(lane)] = {vectors.size(), place};
      }
      if (std::ranges::find(mask, 1) == mask.end()) continue;
      vectors.push_back(
          b_.load(type_, at(i * type_.lanes), b_.vmask(type_.mask_of(), mask), b_.vconst_splat(type_, 0)));
    }
    if (vectors.empty()) return b_.vconst_splat(type_, otherwise_);
    return where_wanted(gather_lanes(b_, vectors, type_.lanes, sources));
  }

  // All lanes are one element.
  Value repeated() {
    const Value one = b_.load(Type::vec(type_.dtype, 1), from_);
    return where_wanted(b_.shuffle(one, no_value, LaneList(static_cast<size_t>(type_.lanes), 0)));
  }

 private:
  Address at(int64_t element) const { return elements_behind(from_, type_, element); }

  Value where_wanted(Value x) {
    if (std::ranges::find(wanted_, 0) == wanted_.end()) return x;
    const Value mask = b_.vmask(type_.mask_of(), {wanted_.begin(), wanted_.end()});
    return b_.select(mask, x, b_.vconst_splat(type_, otherwise_));
  }

  Builder& b_;
  const Type type_;
  const Address from_;
  const int64_t stride_;
  const std::span<const int64_t> wanted_;
  const int64_t otherwise_;
};

}  // namespace

bool reads_adjacent_columns(const PoolNest& nest) {
  const int64_t columns = nest.dims.back().input;
  const auto adjacent = [&](const View& view) { return view.strides.back() == 1 || columns == 1; };
  return nest.input.channel_block == 1 && adjacent(nest.input) &&
         (!nest.indices || !nest.is_backward() || adjacent(*nest.indices));
}

int64_t vector_channels(const PoolNest& nest) {
  const int64_t adjacent = adjacent_channels_read(nest);
  if (nest.has_any_size() || (reads_adjacent_columns(nest) && nest.dims.back().output > 1)) return adjacent;
  return std::max(adjacent, even_channels(nest));
}

bool has_vector_columns(const PoolNest& nest) {
  return reads_adjacent_columns(nest) || (adjacent_channels_read(nest) == 1 && !nest.has_any_size());
}

bool holds_lanes_apart(const PoolNest& nest, const Schedule& schedule) {
  if (schedule.lanes == 1) return false;
  if (schedule.family() == Family::channels_first) return !reads_adjacent_columns(nest);
  if (schedule.family() == Family::window_rows)
    return !reads_adjacent_columns(nest) || nest.dims.back().tap_step() != 1;
  return schedule.family() == Family::channels_last &&
         adjacent_channels_read(nest) < std::min<int64_t>(schedule.lanes, nest.channels);
}

bool fills_one_lane(const PoolNest& nest, const Schedule& schedule) {
  if (schedule.lanes == 1) return true;
  switch (schedule.family()) {
    case Family::channels_last:
    case Family::separable:
    case Family::whole_pixels:
      return nest.channels == 1;
    case Family::row_passes:
      return nest.dims.back().output == 1 && adjacent_channels_read(nest) == 1;
    case Family::channels_first:
      return nest.dims.back().output == 1;
    default:
      return false;
  }
}

int64_t channel_stride(const View& view) { return view.channel_block > 1 ? 1 : view.channel_stride; }

Value load_lanes(Builder& builder, const Type& type, const Address& from, int64_t stride,
                 std::span<const int64_t> wanted, int64_t otherwise) {
  if (stride == 1 || type.lanes == 1) {
    if (wanted.empty()) return builder.load(type, from);
    const Value mask = builder.vmask(type.mask_of(), {wanted.begin(), wanted.end()});
    return builder.load(type, from, mask, builder.vconst_splat(type, otherwise));
  }
  LoadLanes lanes(builder, type, from, stride, wanted, otherwise);
  if (stride == 0) return lanes.repeated();
  if (serve_vectors(builder.isa(), type.dtype, type.lanes, stride)) return lanes.by_vectors();
  return load_apart(builder, type, wanted, otherwise,
                    [&](int64_t lane) { return elements_behind(from, type, lane * stride); });
}

Value load_apart(Builder& builder, const Type& type, std::span<const int64_t> wanted, int64_t otherwise,
                 const AddressOfLane& at) {
  return LoadOneByOne(builder, type.dtype, wanted, otherwise, at).load(0, type.lanes);
}

// One by one, out of parts in which a lane is taken by one instruction.
void store_apart(Builder& builder, Value value, std::span<const int64_t> stored, const AddressOfLane& at) {
  constexpr int part_bytes = 16;
  const Type type = builder.type(value);
  const int part = std::min(type.lanes, part_bytes / bytes(type.dtype));
  for (int begin = 0; begin < type.lanes; begin += part) {
    Value some = no_value;
    for (int lane = begin; lane < begin + part; ++lane) {
      if (!is_wanted(stored, lane)) continue;
      if (some == no_value)
        some = part == type.lanes ? value : following_lanes(builder, value, no_value, begin, part);
      builder.store(at(lane), following_lanes(builder, some, no_value, lane - begin, 1));
    }
  }
}

}  // namespace pooljit::ir
