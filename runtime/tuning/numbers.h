// Numbers that kernels of one layer are compared on, bit for bit, before they are timed. Made in a block that
// is repeated: filling costs what copying does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/dtype.h"
#include "ir/nest.h"

namespace pooljit::runtime {

// Numbers of [1, 2) with so few bits that the sum of a window is exact: in whatever order a kernel adds, its
// results have the same bits, if they are right. Any integers.
void fill_with_exact_sums(const ir::PoolNest& nest, uint64_t seed, ir::DType dtype,
                          std::span<std::byte> bytes);

// Numbers whose results depend on the order of a kernel's operations, where they may. Of sums: large ones of
// both signs, which take the small ones that were added before with them. Of maxima and minima: zeros of both
// signs and NaNs of different payloads. Any integers.
void fill_telling_orders(const ir::PoolNest& nest, uint64_t seed, ir::DType dtype,
                         std::span<std::byte> bytes);

}  // namespace pooljit::runtime
