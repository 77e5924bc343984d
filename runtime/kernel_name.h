// Readable names of kernels, for profilers, debuggers and listings:
// "pooljit:max_pool2d_f32_nchw_64x112x112_k3s2p1_avx512",
// "pooljit:resnet/pool1:max_pool2d_f32_nchw_64x112x112_k3s2p1_avx512".
#pragma once

#include <string>
#include <string_view>

#include "ir/isa.h"
#include "ir/nest.h"
#include "jit/backend.h"

namespace pooljit::runtime {

// Code for all extents says "any" for these, and for windows that follow them. Kernels that differ only in
// strides, or in how they are computed, may share a name. No blanks. label: the user's name for the layer;
// empty: none.
std::string kernel_name(const ir::PoolNest& nest, ir::Isa isa, std::string_view label = {});

// jit::listing() under a line with the kernel's name and back end.
std::string named_listing(const ir::PoolNest& nest, std::string_view label, std::string_view backend,
                          const jit::CodeBlob& blob, const ir::Program& program);

}  // namespace pooljit::runtime
