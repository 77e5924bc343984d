// Pictures of the demo: 8-bit RGB in memory, read and written through stb, put together from parts with a
// caption each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace demo {

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // row-major, three bytes per pixel: NHWC with N = 1

  Picture() = default;
  Picture(int w, int h, uint8_t grey = 255) : width(w), height(h), rgb(size_t(3) * w * h, grey) {}
  uint8_t* at(int x, int y) { return rgb.data() + size_t(3) * (size_t(y) * width + x); }
  const uint8_t* at(int x, int y) const { return rgb.data() + size_t(3) * (size_t(y) * width + x); }
};

std::optional<Picture> read_picture(const std::string& path);
bool write_png(const std::string& path, const Picture& picture);

// Each pixel becomes factor x factor.
Picture enlarge(const Picture& picture, int factor);

// One plane as grey, black at 0, white at `white`.
Picture grey(const float* plane, int width, int height, float white);

void paste(Picture& onto, const Picture& part, int left, int top);

// Small black letters (about 6x12 pixels each) with their upper left corner at (left, top).
void write_text(Picture& onto, const std::string& text, int left, int top);

}  // namespace demo
