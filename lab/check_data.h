// Kinds of data that check() puts into inputs: each shows other mistakes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "ir/nest.h"
#include "runtime/memory_view.h"

namespace pooljit::runtime {

enum class DataKind : uint8_t {
  plain,    // all different: random numbers over the whole range of small ones
  ties,     // few different ones, so that most windows have ties; signed zeros
  special,  // floats: NaNs with distinct payloads, infinities, zeros, denormals and the largest numbers among
            // plain ones; integers: the ends of the range
  range,    // numbers from tiny to huge: sums that lose digits
};
std::string_view name(DataKind kind);
std::optional<DataKind> find_data_kind(std::string_view name);

// The kinds that mean something for the nest: integers have no `range`.
std::span<const DataKind> data_kinds(const ir::PoolNest& nest);

// Fills the view's elements; gaps between them get values that would show if they were read. The same seed
// gives the same data.
void fill_input(const MemoryView& view, ir::DType dtype, DataKind kind, uint64_t seed,
                std::span<std::byte> memory);

// Overwrites the view's elements with these bits, in logical order, from the first again when they are used
// up.
void put_elements(const MemoryView& view, ir::DType dtype, std::span<const uint64_t> elements,
                  std::span<std::byte> memory);

// Calls visit with each element's offset in bytes, in logical order.
void for_each_element(const MemoryView& view, const std::function<void(int64_t offset)>& visit);

}  // namespace pooljit::runtime
