// A feature map to pool: what the first layer of a ResNet-50 gives its max pool, [1, 64, 112, 112], made from
// a real photograph by 64 fixed filters (7x7, stride 2, padding 3) with ReLU. The filters are Gabor
// functions: oriented edges and lines in brightness and in colour, which is what the first layer of a trained
// network looks like.
#pragma once

#include <vector>

#include "examples/demo/picture.h"

namespace demo {

inline constexpr int stem_maps = 64;
inline constexpr int stem_crop = 224;  // pixels of the photograph's middle that are looked at
inline constexpr int stem_size = 112;

// Row-major [64][112][112]. The photo must be at least 224x224.
std::vector<float> stem_features(const Picture& photo);

}  // namespace demo
