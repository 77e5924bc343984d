// Appends text to one fixed buffer: a signature is made for each lookup in the kernel cache. The longest spec
// has about 80 numbers of 20 characters.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pool_spec.h"
#include "ir/check.h"

namespace pooljit::frontend {

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
  // The shortest text that reads back as this value.
  Printer& number(double value);

  // A spatial extent, as it stands in a tensor.
  Printer& extent(const PoolSpec& spec, size_t dim) {
    if (!spec.dims[dim].is_free) return number(spec.dims[dim].input);
    const char letter = dim_letter(spec.dims.size(), dim);
    return text({&letter, 1});
  }

  void list(const std::vector<int64_t>& values) {
    for (size_t i = 0; i < values.size(); ++i) text(i == 0 ? "[" : ",").number(values[i]);
    text("]");
  }

  // One number if all dims have it.
  void per_dim(const std::vector<SpecDim>& dims, int64_t SpecDim::*member) {
    const int64_t first = dims[0].*member;
    if (std::all_of(dims.begin(), dims.end(), [&](const SpecDim& dim) { return dim.*member == first; })) {
      number(first);
      return;
    }
    for (size_t i = 0; i < dims.size(); ++i) text(i == 0 ? "[" : ",").number(dims[i].*member);
    text("]");
  }

  // As per_dim if both ends are the same; else the begins of all dims and then their ends.
  void padding(const std::vector<SpecDim>& dims) {
    const bool is_symmetric = std::all_of(dims.begin(), dims.end(),
                                          [](const SpecDim& dim) { return dim.pad_begin == dim.pad_end; });
    if (is_symmetric) return per_dim(dims, &SpecDim::pad_begin);
    for (size_t i = 0; i < dims.size(); ++i) text(i == 0 ? "[" : ",").number(dims[i].pad_begin);
    for (const SpecDim& dim : dims) text(",").number(dim.pad_end);
    text("]");
  }

  std::string result() const { return {out_.data(), size_}; }

 private:
  std::array<char, 4096> out_;
  size_t size_ = 0;
};

}  // namespace pooljit::frontend
