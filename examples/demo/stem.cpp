#include "examples/demo/stem.h"

#include <array>
#include <cmath>
#include <numbers>

namespace demo {
namespace {

constexpr float pi = std::numbers::pi_v<float>;
constexpr int taps = 7, stride = 2, padding = 3, orientations = 8, phases = 2;

struct Bank {
  std::array<float, 3> colour;  // weight of red, green, blue
  float wavelength;             // pixels from line to line
};
constexpr Bank banks[] = {
    {{0.333F, 0.333F, 0.333F}, 3.5F},  // fine edges
    {{0.333F, 0.333F, 0.333F}, 7.0F},  // broad edges
    {{0.5F, -0.5F, 0.0F}, 7.0F},       // red against green
    {{-0.25F, -0.25F, 0.5F}, 7.0F},    // blue against yellow
};
static_assert(std::size(banks) * orientations * phases == stem_maps);

using Filter = std::array<std::array<float, taps>, taps>;

// A wave under a Gaussian window, without its mean: a flat patch gives zero.
Filter gabor(int orientation, int phase, float wavelength) {
  const float angle = pi * float(orientation) / orientations;
  const float shift = phase == 0 ? 0.0F : pi / 2;
  Filter filter;
  float mean = 0;
  for (int y = 0; y < taps; ++y)
    for (int x = 0; x < taps; ++x) {
      const float dx = float(x - padding), dy = float(y - padding);
      const float along = dx * std::cos(angle) + dy * std::sin(angle);
      filter[y][x] = std::exp(-(dx * dx + dy * dy) / 9.0F) * std::cos(2 * pi * along / wavelength + shift);
      mean += filter[y][x] / (taps * taps);
    }
  for (auto& row : filter)
    for (float& weight : row) weight -= mean;
  return filter;
}

// One colour-weighted plane of the photo's middle in -0.5 .. 0.5, with the filter's zero padding around it.
constexpr int plane_size = stem_crop + 2 * padding;
std::vector<float> plane(const Picture& photo, const std::array<float, 3>& colour) {
  const int left = (photo.width - stem_crop) / 2, top = (photo.height - stem_crop) / 2;
  std::vector<float> result(size_t(plane_size) * plane_size, 0.0F);
  for (int y = 0; y < stem_crop; ++y)
    for (int x = 0; x < stem_crop; ++x) {
      float& sum = result[size_t(y + padding) * plane_size + x + padding];
      for (int c = 0; c < 3; ++c) sum += colour[c] * (float(photo.at(left + x, top + y)[c]) / 255.0F - 0.5F);
    }
  return result;
}

void filter_plane(const std::vector<float>& plane, const Filter& filter, float* map) {
  for (int y = 0; y < stem_size; ++y)
    for (int x = 0; x < stem_size; ++x) {
      float sum = 0;
      for (int ky = 0; ky < taps; ++ky)
        for (int kx = 0; kx < taps; ++kx)
          sum += filter[ky][kx] * plane[size_t(y * stride + ky) * plane_size + x * stride + kx];
      map[y * stem_size + x] = sum > 0 ? sum : 0.0F;  // ReLU
    }
}

}  // namespace

std::vector<float> stem_features(const Picture& photo) {
  std::vector<float> features(size_t(stem_maps) * stem_size * stem_size);
  float* map = features.data();
  for (const Bank& bank : banks) {
    const std::vector<float> seen = plane(photo, bank.colour);
    for (int orientation = 0; orientation < orientations; ++orientation)
      for (int phase = 0; phase < phases; ++phase, map += stem_size * stem_size)
        filter_plane(seen, gabor(orientation, phase, bank.wavelength), map);
  }
  return features;
}

}  // namespace demo
