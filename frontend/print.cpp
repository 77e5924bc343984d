// Canonical text. What equals its default is left out, so that one spec has one text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "frontend/pool_spec.h"
#include "ir/check.h"

namespace pooljit::frontend {

namespace {

constexpr std::string_view reduction_names[] = {
#define REDUCTION(name, text, note) text,
#include "ir/reductions.def"
#undef REDUCTION
};

// Appends to one fixed buffer: a signature is made for each lookup in the kernel cache. The longest spec has
// about 50 numbers of 20 characters.
class Printer {
 public:
  Printer& text(std::string_view text) {
    POOLJIT_CHECK(text.size() <= out_.size() - size_, text);
    std::copy(text.begin(), text.end(), out_.begin() + size_);
    size_ += text.size();
    return *this;
  }
  Printer& number(int64_t value) {
    const fmt::format_int digits(value);
    return text({digits.data(), digits.size()});
  }

  void list(const std::vector<int64_t>& values) {
    for (size_t i = 0; i < values.size(); ++i) text(i == 0 ? "[" : ",").number(values[i]);
    text("]");
  }

  // One number if all dims have it.
  void per_dim(const std::vector<SpecDim>& dims, int64_t SpecDim::*member) {
    if (all(dims, member, dims[0].*member)) {
      number(dims[0].*member);
      return;
    }
    for (size_t i = 0; i < dims.size(); ++i) text(i == 0 ? "[" : ",").number(dims[i].*member);
    text("]");
  }

  void padding(const std::vector<SpecDim>& dims) {
    const bool is_symmetric = std::all_of(dims.begin(), dims.end(),
                                          [](const SpecDim& dim) { return dim.pad_begin == dim.pad_end; });
    if (is_symmetric) return per_dim(dims, &SpecDim::pad_begin);
    for (size_t i = 0; i < dims.size(); ++i) text(i == 0 ? "[" : ",").number(dims[i].pad_begin);
    for (const SpecDim& dim : dims) text(",").number(dim.pad_end);
    text("]");
  }

  static bool all(const std::vector<SpecDim>& dims, int64_t SpecDim::*member, int64_t value) {
    return std::all_of(dims.begin(), dims.end(), [&](const SpecDim& dim) { return dim.*member == value; });
  }

  std::string result() const { return {out_.data(), size_}; }

 private:
  std::array<char, 2048> out_;
  size_t size_ = 0;
};

void print_tensor(Printer& out, const PoolSpec& spec, std::string_view batch) {
  out.text(ir::info(spec.dtype).spec_name).text("[");
  if (!batch.empty()) out.text(batch).text(",");
  out.number(spec.channels);
  for (const SpecDim& dim : spec.dims) out.text(",").number(dim.input);
  out.text(spec.layout == Layout::nhwc ? "]:nhwc" : "]");
}

void print_window(Printer& out, const std::vector<SpecDim>& dims) {
  out.text(", kernel_size=").per_dim(dims, &SpecDim::kernel);
  if (std::any_of(dims.begin(), dims.end(), [](const SpecDim& dim) { return dim.stride != dim.kernel; }))
    out.text(", stride=").per_dim(dims, &SpecDim::stride);
  if (!Printer::all(dims, &SpecDim::pad_begin, 0) || !Printer::all(dims, &SpecDim::pad_end, 0))
    out.text(", padding=").padding(dims);
  if (!Printer::all(dims, &SpecDim::dilation, 1)) out.text(", dilation=").per_dim(dims, &SpecDim::dilation);
}

void print_options(Printer& out, const PoolSpec& spec) {
  if (spec.ceil_mode) out.text(", ceil_mode=True");
  if (spec.return_indices) out.text(", return_indices=True");
  if (!spec.count_include_pad) out.text(", count_include_pad=False");
  if (spec.divisor_override) out.text(", divisor_override=").number(*spec.divisor_override);
  if (spec.nan == ir::NanRule::ignore) out.text(", nan=ignore");
  if (spec.zeros == ir::ZeroRule::first) out.text(", zeros=first");
  if (!spec.strides.empty()) out.text(", strides=").list(spec.strides);
  if (!spec.output_strides.empty()) out.text(", output_strides=").list(spec.output_strides);
}

std::string print_with_batch(const PoolSpec& spec, std::string_view batch) {
  Printer out;
  out.text(reduction_names[static_cast<int>(spec.reduction)]).text("_pool");
  out.number(static_cast<int64_t>(spec.dims.size())).text("d(");
  print_tensor(out, spec, batch);
  print_window(out, spec.dims);
  print_options(out, spec);
  return out.text(")").result();
}

}  // namespace

std::string print(const PoolSpec& spec) {
  if (!spec.batch) return print_with_batch(spec, "");
  const fmt::format_int batch(*spec.batch);
  return print_with_batch(spec, {batch.data(), batch.size()});
}

std::string signature(const PoolSpec& spec) {
  // Packed and unbatched, it is the kernel of a batch. With explicit strides only the number of strides
  // tells.
  const bool is_packed = spec.strides.empty() && spec.output_strides.empty();
  return print_with_batch(spec, spec.batch || is_packed ? "N" : "");
}

}  // namespace pooljit::frontend
