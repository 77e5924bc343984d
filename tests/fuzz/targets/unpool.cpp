// Bytes choose an unpool or its gradient, its values and its indices, some of which name no place: what the
// library makes is what a plain loop makes that looks each index up in the list of all places, or else an
// error and an untouched output.
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/offsets.h"
#include "pooljit.h"
#include "runtime/memory_view.h"
#include "tests/c_words.h"
#include "tests/fuzz/target.h"
#include "tools/fuzz/draw.h"

using namespace pooljit;

namespace {

using Position = std::vector<int64_t>;

frontend::PoolSpec random_unpool(fuzz::Draw& draw) {
  constexpr ir::DType index_dtypes[] = {ir::DType::i64, ir::DType::i32, ir::DType::u8};
  frontend::PoolSpec spec;
  spec.direction = ir::Direction::unpool;
  spec.dtype = ir::dtype_table[draw.below(std::size(ir::dtype_table))].dtype;
  if (!draw.one_in(4)) spec.batch = draw.between(0, 3);
  spec.channels = draw.between(1, 20);
  spec.dims.resize(1 + draw.below(frontend::max_rank));
  for (frontend::SpecDim& dim : spec.dims) {
    dim.input = draw.between(1, 5);
    dim.kernel = draw.between(1, 4);
    dim.stride = draw.between(1, 5);
    dim.pad_begin = dim.pad_end = draw.between(0, dim.kernel / 2);
  }
  if (draw.one_in(3)) spec.dims[0].unpool_output = draw.between(1, 24);
  if (draw.one_in(3)) {
    spec.direction = ir::Direction::backward;
    spec.unpool_gradient = true;
  }
  spec.layout = static_cast<frontend::Layout>(draw.below(4));
  if (draw.one_in(4)) spec.output_layout = static_cast<frontend::Layout>(draw.below(4));
  spec.index_dtype = index_dtypes[draw.below(std::size(index_dtypes))];
  spec.index_scope = static_cast<ir::IndexScope>(draw.below(5));
  spec.storage_order = draw.one_in(6);
  if (draw.one_in(4)) {
    spec.layout = frontend::Layout::nchw;
    spec.strides = input_strides(spec);
    for (int64_t& stride : spec.strides) stride += draw.between(0, 9);
  }
  if (draw.one_in(4)) {  // rows and planes with gaps between them
    const std::vector<int64_t> shape = output_shape(spec);
    spec.output_layout = frontend::Layout::nchw;
    spec.output_strides.assign(shape.size(), draw.between(1, 2));
    for (size_t d = shape.size() - 1; d-- > 0;)
      spec.output_strides[d] = spec.output_strides[d + 1] * (shape[d + 1] + draw.between(0, 2));
  }
  return spec;
}

// All positions below the extents, in row-major order.
std::vector<Position> positions(const Position& extents) {
  std::vector<Position> all = {{}};
  for (const int64_t extent : extents) {
    std::vector<Position> longer;
    for (const Position& outer : all)
      for (int64_t i = 0; i < extent; ++i) {
        longer.push_back(outer);
        longer.back().push_back(i);
      }
    all = std::move(longer);
  }
  return all;
}

class Expected {
 public:
  Expected(const frontend::PoolSpec& spec, fuzz::Draw& draw)
      : spec_(spec), nest_(make_nest(spec)), batch_(spec.batch.value_or(1)), draw_(draw) {
    for (const ir::NestDim& dim : nest_.dims) {
      extents_.push_back(spec.unpool_gradient ? dim.input : dim.output);
      windows_.push_back(spec.unpool_gradient ? dim.output : dim.input);
      kernel_.push_back(dim.kernel);
    }
    const auto resize = [](auto& buffer, const runtime::MemoryView& view) {
      buffer.resize(static_cast<size_t>(view.span_bytes()), untouched);
    };
    resize(input, runtime::input_view(nest_, batch_));
    resize(output, runtime::output_view(nest_, batch_));
    resize(indices, runtime::indices_view(nest_, batch_));
    for (std::byte& byte : input) byte = std::byte(draw.below(256));
    fill();
  }

  static constexpr std::byte untouched{0xa5};
  std::vector<std::byte> input, output, indices;
  bool is_refused = false;

 private:
  // Where the indices of one window lead: every number that means a place.
  std::map<int64_t, Position> places(int64_t n, int64_t c, const Position& window) const {
    std::map<int64_t, Position> known;
    int64_t plane = 1;
    for (const int64_t extent : extents_) plane *= extent;
    if (spec_.index_scope == ir::IndexScope::window) {
      int64_t number = 0;
      for (Position place : positions(kernel_)) {
        bool is_inside = true;
        for (size_t d = 0; d < place.size(); ++d) {
          place[d] += window[d] * nest_.dims[d].stride - nest_.dims[d].pad_begin;
          is_inside = is_inside && place[d] >= 0 && place[d] < extents_[d];
        }
        if (is_inside) known[number] = place;
        ++number;
      }
      return known;
    }
    const bool by_columns = spec_.storage_order == 1;
    int64_t number = 0;
    for (Position place : positions(by_columns ? Position(extents_.rbegin(), extents_.rend()) : extents_)) {
      if (by_columns) place = Position(place.rbegin(), place.rend());
      known[numbered(number++, n, c, plane)] = place;
    }
    return known;
  }
  int64_t numbered(int64_t in_plane, int64_t n, int64_t c, int64_t plane) const {
    switch (spec_.index_scope) {
      case ir::IndexScope::tensor:
        return (n * spec_.channels + c) * plane + in_plane;
      case ir::IndexScope::nhwc:
        return in_plane * spec_.channels + c;
      case ir::IndexScope::nhwc_batch:
        return (n * plane + in_plane) * spec_.channels + c;
      default:
        return in_plane;
    }
  }

  // Mostly one that leads somewhere, and always where the bytes are used up.
  int64_t draw_index(const std::map<int64_t, Position>& known) {
    using Limits = std::numeric_limits<int64_t>;
    if (!known.empty() && draw_.below(200) < 199)
      return std::next(known.begin(), std::ptrdiff_t(draw_.below(known.size())))->first;
    const int64_t hostile[] = {-1, Limits::min(), Limits::max(), draw_.between(-300, 300)};
    return hostile[draw_.below(std::size(hostile))];
  }

  // Calls visit(n, c, window, where its index lies, what its indices lead to).
  template <typename Visit>
  void for_each_window(const Visit& visit) {
    const std::vector<Position> windows = positions(windows_);
    for (int64_t n = 0; n < batch_; ++n)
      for (int64_t c = 0; c < spec_.channels; ++c) {
        auto known = places(n, c, windows.front());
        for (const Position& window : windows) {
          if (spec_.index_scope == ir::IndexScope::window) known = places(n, c, window);
          const int64_t at = ir::plane_offset(*nest_.indices, n, c);
          visit(n, c, window, at + ir::position_offset(*nest_.indices, window), known);
        }
      }
  }

  // Strides may make windows share an element, and so an index: all are drawn before one is looked at.
  void fill() {
    const ir::DType dtype = nest_.indices->dtype;
    for_each_window([&](int64_t, int64_t, const Position&, int64_t at, const auto& known) {
      ir::store_index(dtype, indices.data(), at, draw_index(known));
    });
    const std::vector<std::byte> before = output;
    const std::vector<Position> all = positions(extents_);
    for (int64_t n = 0; n < batch_; ++n)
      for (int64_t c = 0; c < spec_.channels; ++c)
        for (const Position& place : all)
          if (!spec_.unpool_gradient) put(n, c, place, nullptr);
    for_each_window([&](int64_t n, int64_t c, const Position& window, int64_t at, const auto& known) {
      const auto place = known.find(ir::load_index(dtype, indices.data(), at));
      is_refused = is_refused || place == known.end();
      if (is_refused) return;
      const Position& source = spec_.unpool_gradient ? place->second : window;
      const int64_t from = ir::plane_offset(nest_.input, n, c) + ir::position_offset(nest_.input, source);
      put(n, c, spec_.unpool_gradient ? window : place->second, &input[width() * static_cast<size_t>(from)]);
    });
    if (is_refused) output = before;
  }
  size_t width() const { return static_cast<size_t>(ir::bytes(spec_.dtype)); }
  void put(int64_t n, int64_t c, const Position& place, const std::byte* value) {
    const int64_t at = ir::plane_offset(nest_.output, n, c) + ir::position_offset(nest_.output, place);
    std::byte* const to = &output[width() * static_cast<size_t>(at)];
    value ? std::memcpy(to, value, width()) : std::memset(to, 0, width());
  }

  const frontend::PoolSpec& spec_;
  const ir::PoolNest nest_;
  const int64_t batch_;
  fuzz::Draw& draw_;
  Position extents_, windows_, kernel_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Draw draw(std::span(data, size));
  const std::string text = print(random_unpool(draw));
  const char* const options = draw.one_in(2) ? "threads=1" : "threads=2";
  pooljit_kernel* kernel = nullptr;
  const int code = tests::compile_words(text.c_str(), options, &kernel);
  const auto spec = frontend::parse_spec(text);
  fuzz::demand((code == POOLJIT_OK) == spec.has_value(), "what parses does not compile", text);
  if (!spec) return 0;
  Expected expected(*spec, draw);
  std::vector<std::byte> output(expected.output.size(), Expected::untouched);
  const int ran = pooljit_run(kernel, expected.input.data(), output.data(), expected.indices.data());
  const std::string error = ran == POOLJIT_OK ? "" : pooljit_last_error();
  pooljit_release(kernel);
  fuzz::demand(expected.is_refused == (ran == POOLJIT_INVALID && error.starts_with("run.index_range")),
               "an index is judged differently", text + "\n" + error);
  fuzz::demand(expected.is_refused || ran == POOLJIT_OK, "it does not run", text + "\n" + error);
  fuzz::demand(output == expected.output, "the output is another one", text);
  return 0;
}
