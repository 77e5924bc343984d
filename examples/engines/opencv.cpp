// OpenCV's filters of images: windows of stride 1 in two dimensions. Maxima and minima by dilate() and
// erode(), averages by blur(), sums by boxFilter(). NCHW plane by plane, NHWC image by image.
#include <algorithm>
#include <limits>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "adapter.h"

namespace {

using adapter::Refusal;

std::optional<int> depth_of(std::string_view dtype) {
  if (dtype == "uint8") return CV_8U;
  if (dtype == "int16") return CV_16S;
  if (dtype == "int32") return CV_32S;
  if (dtype == "float32") return CV_32F;
  if (dtype == "float64") return CV_64F;
  return std::nullopt;
}

enum class Filter : uint8_t { dilate, erode, blur, box };

Filter filter_of(const pooljit_engine_layer& layer) {
  const std::string_view operation = layer.operation, dtype = layer.input.dtype;
  if (operation == "max" || operation == "min") {
    if (dtype == "int32") throw Refusal("has no maxima of int32");
    return operation == "max" ? Filter::dilate : Filter::erode;
  }
  if (operation == "sum") return Filter::box;
  if (operation != "avg" || layer.divisor_override != 0) throw Refusal("has no such operation");
  return Filter::blur;
}

// What a call needs of a layer. `size` is of the window with its gaps.
struct Images {
  Filter filter = Filter::dilate;
  cv::Mat taps = {};  // of dilate and erode
  cv::Size size = {};
  cv::Point anchor = {};
  std::vector<cv::Mat> inputs = {}, outputs = {};
};

// Outputs beyond the image would be windows that OpenCV has no pixel for; fewer than it has pixels are a part
// of it, behind which its filters see the rest.
void check(const pooljit_engine_layer& layer, Filter filter) {
  for (int d = 0; d < layer.spatial_rank; ++d) {
    const int64_t window = layer.dilation[d] * (layer.kernel[d] - 1) + 1;
    if (layer.stride[d] != 1) throw Refusal("filters with stride 1 only");
    if (layer.pad_begin[d] >= window) throw Refusal("has windows that hold their anchor");
    if (layer.output.dims[2 + d] > layer.input.dims[2 + d]) throw Refusal("has no more outputs than pixels");
    adapter::end_padding(layer, d);
    const bool is_mean = filter == Filter::blur || filter == Filter::box;
    if (is_mean && layer.dilation[d] != 1) throw Refusal("has no dilated averages");
    if (filter == Filter::blur && layer.count_exclude_pad &&
        layer.pad_begin[d] + std::max<int64_t>(adapter::end_padding(layer, d), 0) > 0)
      throw Refusal("counts the padding");
  }
}

// The taps of a window with gaps.
cv::Mat taps_of(const pooljit_engine_layer& layer, cv::Size size) {
  cv::Mat taps = cv::Mat::zeros(size, CV_8U);
  for (int y = 0; y < size.height; y += static_cast<int>(layer.dilation[0]))
    for (int x = 0; x < size.width; x += static_cast<int>(layer.dilation[1])) taps.at<uint8_t>(y, x) = 1;
  return taps;
}

// The planes or images of a tensor.
std::vector<cv::Mat> images_of(const pooljit_engine_tensor& tensor, void* memory, int depth) {
  const bool is_nhwc = std::string_view(tensor.layout) == "nhwc";
  if (is_nhwc && tensor.dims[1] > CV_CN_MAX) throw Refusal("has no more than 512 channels");
  const int type = CV_MAKETYPE(depth, is_nhwc ? static_cast<int>(tensor.dims[1]) : 1);
  const int height = static_cast<int>(tensor.dims[2]), width = static_cast<int>(tensor.dims[3]);
  const size_t bytes = static_cast<size_t>(height) * size_t(width) * size_t(CV_ELEM_SIZE(type));
  std::vector<cv::Mat> images;
  for (int64_t i = 0; i < tensor.dims[0] * (is_nhwc ? 1 : tensor.dims[1]); ++i)
    images.emplace_back(height, width, type, static_cast<std::byte*>(memory) + size_t(i) * bytes);
  return images;
}

void run(const Images& images) {
  for (size_t i = 0; i < images.inputs.size(); ++i) {
    const cv::Mat& from = images.inputs[i];
    cv::Mat to = images.outputs[i];  // of the size that is wanted: it stays where it is
    const auto* memory = to.data;
    switch (images.filter) {
      case Filter::dilate:
        cv::dilate(from, to, images.taps, images.anchor);
        break;
      case Filter::erode:
        cv::erode(from, to, images.taps, images.anchor);
        break;
      case Filter::blur:
        cv::blur(from, to, images.size, images.anchor, cv::BORDER_CONSTANT);
        break;
      case Filter::box:
        cv::boxFilter(from, to, -1, images.size, images.anchor, false, cv::BORDER_CONSTANT);
        break;
    }
    if (to.data != memory) throw Refusal("made an image of another size");
  }
}

}  // namespace

std::string adapter::version() { return "OpenCV " + cv::getVersionString() + ", its best ISA"; }

void adapter::start(int threads, bool /*only_avx2*/) {
  cv::setNumThreads(threads);
  cv::redirectError([](int, const char*, const char*, const char*, int, void*) { return 0; });
}

std::function<void()> adapter::prepare(const pooljit_engine_layer& layer, const Buffers& buffers) {
  const std::string_view layout = layer.input.layout;
  const std::optional<int> depth = depth_of(layer.input.dtype);
  if (layer.spatial_rank != 2 || layer.adaptive || layer.indices.rank != 0)
    throw Refusal("filters images, without indices");
  if ((layout != "nchw" && layout != "nhwc") || layout != layer.output.layout)
    throw Refusal("takes packed tensors of NCHW and NHWC");
  if (!depth || std::string_view(layer.input.dtype) != layer.output.dtype) throw Refusal("has no such type");
  Images images = {.filter = filter_of(layer)};
  check(layer, images.filter);
  const auto window = [&](int d) { return static_cast<int>(layer.dilation[d] * (layer.kernel[d] - 1) + 1); };
  images.size = {window(1), window(0)};
  images.taps = taps_of(layer, images.size);
  images.anchor = {static_cast<int>(layer.pad_begin[1]), static_cast<int>(layer.pad_begin[0])};
  images.outputs = images_of(layer.output, buffers.output, *depth);
  for (const cv::Mat& image : images_of(layer.input, const_cast<void*>(buffers.input), *depth))
    images.inputs.push_back(image(cv::Rect(cv::Point(), images.outputs.front().size())));
  return [images] { run(images); };
}
