// The main job on real input: pools a photograph, and a feature map made from it, by every engine; compares
// the results bit for bit; writes pictures of before and after; prints times against the plain loop.
//
//   demo PHOTO OUTPUT_FOLDER
//
// Exits with 1 if engines disagree or a kernel that this machine should run does not compile.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "examples/demo/picture.h"
#include "examples/demo/stem.h"
#include "pooljit.hpp"
#include "tools/measure.h"
#include "tools/plain_loop.h"

namespace {

using demo::Picture;
using pooljit::tools::PlainPool;

struct Engine {
  const char* name;
  const char* options;
  bool fast;  // machine code: timed in turns with the plain loop; else once
};
constexpr Engine engines[] = {
    {"reference", "backend=reference", false},
    {"interpreter, avx2", "backend=interpreter isa=avx2", false},
    {"interpreter, avx512", "backend=interpreter isa=avx512", false},
    {"xbyak, avx2", "backend=xbyak isa=avx2 threads=1", true},
    {"xbyak, avx512", "backend=xbyak isa=avx512 threads=1", true},
    {"llvm, avx2", "backend=llvm isa=avx2 threads=1", true},
    {"llvm, avx512", "backend=llvm isa=avx512 threads=1", true},
};

struct Job {
  std::string title, spec;
  const void* input;
  void* output;  // holds the reference's result afterwards
  size_t output_bytes;
  PlainPool plain;
};

using Kernel = std::unique_ptr<pooljit_kernel, decltype(&pooljit_release)>;

Kernel compile(const std::string& spec, const char* words) {
  const pooljit::Options options = pooljit::options_read(words);
  const pooljit_options c_options = options.c_options();
  pooljit_kernel* kernel = nullptr;
  pooljit_compile(spec.c_str(), &c_options, &kernel);
  return {kernel, pooljit_release};
}

double seconds_of(const std::function<void()>& call) {
  const pooljit::tools::MeasureOptions once{
      .sample_seconds = 0, .budget_seconds = 0, .fewest_samples = 1, .most_samples = 1, .settle_seconds = 0};
  return pooljit::tools::measure({&call, 1}, once)[0].median;
}

// What one engine made of the job.
struct Row {
  std::string name, verdict;
  std::vector<uint8_t> output;
  Kernel kernel{nullptr, pooljit_release};
  double seconds = 0;
};

Row run_engine(const Engine& engine, const Job& job) {
  Row row;
  row.name = engine.name;
  row.kernel = compile(job.spec, engine.options);
  if (!row.kernel) {
    row.verdict = pooljit_last_error();
    return row;
  }
  // A byte that no result consists of, so that an output that was not written shows.
  row.output.assign(job.output_bytes, 0xA5);
  if (pooljit_run(row.kernel.get(), job.input, row.output.data(), nullptr) != 0)
    row.verdict = pooljit_last_error();
  return row;
}

std::vector<Row> run_engines(const Job& job) {
  std::vector<Row> rows;
  for (const Engine& engine : engines) {
    rows.push_back(run_engine(engine, job));
    Row& row = rows.back();
    if (!row.verdict.empty()) continue;
    const std::vector<uint8_t>& expected = rows.front().output;
    row.verdict = &row == &rows.front() ? "the definition" : row.output == expected ? "equal" : "DIFFERENT";
  }
  return rows;
}

// Fills in the rows' times; returns the plain loop's.
double measure_rows(const Job& job, std::vector<Row>& rows) {
  std::vector<uint8_t> output(job.output_bytes);
  std::vector<std::function<void()>> contenders = {
      [&] { run_plain(job.plain, job.input, output.data(), nullptr, 0, plain_tasks(job.plain)); }};
  std::vector<Row*> timed;
  for (size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    if (row.output.empty()) continue;
    auto call = [&job, &row] { pooljit_run(row.kernel.get(), job.input, row.output.data(), nullptr); };
    if (!engines[i].fast) {
      row.seconds = seconds_of(call);
      continue;
    }
    contenders.emplace_back(call);
    timed.push_back(&row);
  }
  const auto timings = pooljit::tools::measure(contenders);
  for (size_t i = 0; i < timed.size(); ++i) timed[i]->seconds = timings[i + 1].median;
  return timings[0].median;
}

void print_table(const Job& job, const std::vector<Row>& rows, double plain_seconds) {
  fmt::print("\n{}\n  {}\n", job.title, job.spec);
  fmt::print("  {:<20} {:>12} {:>14}   {}\n", "engine", "time [us]", "plain / this", "result");
  fmt::print("  {:<20} {:>12.1f} {:>13.1f}x   {}\n", "plain loop (-O3)", plain_seconds * 1e6, 1.0, "");
  for (const Row& row : rows)
    if (row.output.empty())
      fmt::print("  {:<20} {:>12} {:>14}   {}\n", row.name, "-", "-", row.verdict);
    else
      fmt::print("  {:<20} {:>12.1f} {:>13.2f}x   {}\n", row.name, row.seconds * 1e6,
                 plain_seconds / row.seconds, row.verdict);
}

// Runs, compares, measures and prints; the job's output is the definition's. False if an engine disagrees.
bool run_job(const Job& job) {
  std::vector<Row> rows = run_engines(job);
  const double plain_seconds = measure_rows(job, rows);
  print_table(job, rows, plain_seconds);
  if (rows.front().output.empty()) return false;
  std::memcpy(job.output, rows.front().output.data(), job.output_bytes);
  for (const Row& row : rows)
    if (row.verdict == "DIFFERENT") return false;
  return true;
}

// A square window without dilation over square or oblong planes, packed.
PlainPool plain_pool(int height, int width, int channels, int kernel, int stride, int padding) {
  const auto dim = [&](int64_t size) {
    return pooljit::tools::PlainDim{
        size, (size + 2 * padding - kernel) / stride + 1, kernel, stride, 1, padding, size, size + padding};
  };
  PlainPool pool;
  pool.channels = channels;
  pool.dims[0] = {1, 1, 1, 1, 1, 0, 1, 1};
  pool.dims[1] = dim(height);
  pool.dims[2] = dim(width);
  return pool;
}

constexpr int margin = 16, text_height = 14;

// The photo, its maxima and its averages side by side.
bool pool_photo(const Picture& photo, const std::string& file) {
  constexpr int block = 8;
  Picture maxima(photo.width, photo.height), averages(photo.width / block, photo.height / block);
  Job job{.title = "The photograph, maxima of 7x7 pixels around each pixel",
          .spec = fmt::format("max_pool2d(uint8[1,3,{},{}]:nhwc, kernel_size=7, stride=1, padding=3)",
                              photo.height, photo.width),
          .input = photo.rgb.data(),
          .output = maxima.rgb.data(),
          .output_bytes = maxima.rgb.size(),
          .plain = plain_pool(photo.height, photo.width, 3, 7, 1, 3)};
  job.plain.type = pooljit::tools::PlainType::u8;
  job.plain.channels_last = true;
  bool agree = run_job(job);

  job.title = "The photograph, averages of blocks of 8x8 pixels";
  job.spec =
      fmt::format("avg_pool2d(uint8[1,3,{},{}]:nhwc, kernel_size={})", photo.height, photo.width, block);
  job.output = averages.rgb.data();
  job.output_bytes = averages.rgb.size();
  job.plain = plain_pool(photo.height, photo.width, 3, block, block, 0);
  job.plain.type = pooljit::tools::PlainType::u8;
  job.plain.reduction = pooljit::tools::PlainReduction::avg;
  job.plain.channels_last = true;
  agree = run_job(job) && agree;

  const Picture blocks = enlarge(averages, block);
  Picture sheet(3 * photo.width + 4 * margin, photo.height + 2 * margin + text_height);
  const auto add = [&](int column, const Picture& picture, const char* caption) {
    const int left = margin + column * (photo.width + margin);
    write_text(sheet, caption, left, margin);
    paste(sheet, picture, left, margin + text_height);
  };
  add(0, photo, "before: the photograph");
  add(1, maxima, "after max_pool2d, kernel_size=7, stride=1, padding=3");
  add(2, blocks, "after avg_pool2d, kernel_size=8 (each pixel drawn 8x8)");
  return write_png(file, sheet) && agree;
}

// Maps of the stem, every fourth of the 64, before and after; both in the same greys, and the same size.
bool draw_maps(const std::vector<float>& before, const std::vector<float>& after, const std::string& file) {
  constexpr int columns = 4, rows = 4, cell = demo::stem_size + 4, pooled = demo::stem_size / 2;
  Picture sheet(2 * columns * cell + 3 * margin, rows * cell + 2 * margin + text_height);
  const int right = 2 * margin + columns * cell;
  write_text(sheet, "before: 16 of 64 feature maps, 112x112", margin, margin);
  write_text(sheet, "after max_pool2d, kernel_size=3, stride=2, padding=1: 56x56, drawn twice as large",
             right, margin);
  for (int i = 0; i < columns * rows; ++i) {
    const int map = i * demo::stem_maps / (columns * rows);
    const float* wide = before.data() + size_t(map) * demo::stem_size * demo::stem_size;
    const float white = *std::max_element(wide, wide + demo::stem_size * demo::stem_size);
    const int x = margin + i % columns * cell, y = margin + text_height + i / columns * cell;
    paste(sheet, demo::grey(wide, demo::stem_size, demo::stem_size, white), x, y);
    const Picture small = demo::grey(after.data() + size_t(map) * pooled * pooled, pooled, pooled, white);
    paste(sheet, demo::enlarge(small, 2), x - margin + right, y);
  }
  return write_png(file, sheet);
}

bool pool_stem(const Picture& photo, const std::string& file) {
  const std::vector<float> before = demo::stem_features(photo);
  std::vector<float> after(before.size() / 4);
  const Job job{.title = "ResNet-50's stem: 64 feature maps of the photograph",
                .spec = "max_pool2d(float32[1,64,112,112], kernel_size=3, stride=2, padding=1)",
                .input = before.data(),
                .output = after.data(),
                .output_bytes = after.size() * sizeof(float),
                .plain = plain_pool(demo::stem_size, demo::stem_size, demo::stem_maps, 3, 2, 1)};
  const bool agree = run_job(job);
  return draw_maps(before, after, file) && agree;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: demo PHOTO OUTPUT_FOLDER\n");
    return 2;
  }
  const std::optional<Picture> photo = demo::read_picture(argv[1]);
  if (!photo || photo->width < demo::stem_crop || photo->height < demo::stem_crop) {
    fmt::print(stderr, "demo: {} is not a picture of at least {} pixels each way\n", argv[1],
               demo::stem_crop);
    return 2;
  }
  fmt::print("pooljit {}: {} ({}x{})\n", pooljit_version(), argv[1], photo->width, photo->height);
  const std::string folder = std::string(argv[2]) + "/", photo_png = folder + "photo.png",
                    maps_png = folder + "features.png";
  const bool photo_done = pool_photo(*photo, photo_png);
  const bool maps_done = pool_stem(*photo, maps_png);
  fmt::print("\npictures of before and after:\n  {}\n  {}\n", photo_png, maps_png);
  if (photo_done && maps_done) return 0;
  fmt::print(stderr, "demo: engines disagree, or a picture could not be written\n");
  return 1;
}
