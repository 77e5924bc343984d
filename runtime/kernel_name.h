// Readable names of kernels, for profilers and debuggers: "pooljit:max_pool2d_f32_64x112x112_k3s2p1_avx512".
#pragma once

#include <string>

#include "ir/isa.h"
#include "ir/nest.h"

namespace pooljit::runtime {

// What differs in nothing but layout, strides or how it is computed may share a name. No blanks.
std::string kernel_name(const ir::PoolNest& nest, ir::Isa isa);

}  // namespace pooljit::runtime
