#include "examples/demo/picture.h"

#include <algorithm>
#include <array>

// stb is code in headers, written to its own rules.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_easy_font.h>
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace demo {

std::optional<Picture> read_picture(const std::string& path) {
  int width = 0, height = 0, channels = 0;
  uint8_t* pixels = stbi_load(path.c_str(), &width, &height, &channels, 3);
  if (pixels == nullptr) return std::nullopt;
  Picture picture(width, height);
  std::copy_n(pixels, picture.rgb.size(), picture.rgb.begin());
  stbi_image_free(pixels);
  return picture;
}

bool write_png(const std::string& path, const Picture& picture) {
  return stbi_write_png(path.c_str(), picture.width, picture.height, 3, picture.rgb.data(),
                        3 * picture.width) != 0;
}

Picture enlarge(const Picture& picture, int factor) {
  Picture result(picture.width * factor, picture.height * factor);
  for (int y = 0; y < result.height; ++y)
    for (int x = 0; x < result.width; ++x)
      std::copy_n(picture.at(x / factor, y / factor), 3, result.at(x, y));
  return result;
}

Picture grey(const float* plane, int width, int height, float white) {
  Picture result(width, height);
  for (int i = 0; i < width * height; ++i) {
    const float share = std::clamp(plane[i] / white, 0.0F, 1.0F);
    std::fill_n(result.rgb.data() + size_t(3) * i, 3, uint8_t(255.0F * share));
  }
  return result;
}

void paste(Picture& onto, const Picture& part, int left, int top) {
  for (int y = 0; y < part.height; ++y)
    std::copy_n(part.at(0, y), size_t(3) * part.width, onto.at(left, top + y));
}

void write_text(Picture& onto, const std::string& text, int left, int top) {
  struct Corner {
    float x, y, z;
    std::array<uint8_t, 4> colour;
  };
  std::string copy = text;                            // stb wants a char*
  std::vector<Corner> corners(copy.size() * 4 * 20);  // four per box, and no letter has more than 20 boxes
  const int boxes = stb_easy_font_print(float(left), float(top), copy.data(), nullptr, corners.data(),
                                        int(corners.size() * sizeof(Corner)));
  for (int box = 0; box < boxes; ++box) {
    const Corner &first = corners[size_t(4) * box], &last = corners[size_t(4) * box + 2];
    for (int y = std::max(0, int(first.y)); y < std::min(onto.height, int(last.y)); ++y)
      for (int x = std::max(0, int(first.x)); x < std::min(onto.width, int(last.x)); ++x)
        std::fill_n(onto.at(x, y), 3, uint8_t(0));
  }
}

}  // namespace demo
