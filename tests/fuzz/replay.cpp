// Runs a fuzz target on files, and on all files of folders: how corpora are replayed without clang. With
// --random N also on N inputs of random bytes.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

using Bytes = std::vector<uint8_t>;

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void run(const Bytes& bytes) { LLVMFuzzerTestOneInput(bytes.data(), bytes.size()); }

size_t run_all(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return run(read(path)), 1;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) files += run_all(entry.path());
  return files;
}

void run_random(size_t count) {
  std::mt19937 random(1);
  for (size_t i = 0; i < count; ++i) {
    Bytes bytes(random() % 400);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    run(bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--random") == 0 && i + 1 < argc) {
      const size_t count = std::strtoul(argv[++i], nullptr, 10);
      run_random(count);
      inputs += count;
    } else {
      inputs += run_all(argv[i]);
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;
}
