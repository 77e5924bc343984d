// Runs a fuzz target on files, and on all files of folders: how corpora are replayed without clang.
//   --random N   also on N inputs of random bytes
//   --mutate N   also on N mutations of the files read so far; POOLJIT_FUZZ_SEED draws others
// An input that stops the process is left in the file `finding`, to be replayed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
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

// What runs now, for keep_input().
const Bytes* running = nullptr;

void keep_input(int signal) {
  const int file = ::open("finding", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  const char* const said = ::write(file, running->data(), running->size()) < 0
                               ? "no room for the file\n"
                               : "kept in the file: finding\n";
  if (::write(STDERR_FILENO, said, std::strlen(said)) < 0) ::_exit(1);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void run(const Bytes& bytes) {
  running = &bytes;
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::vector<Bytes> corpus;

size_t run_all(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    corpus.push_back(read(path));
    return run(corpus.back()), 1;
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) files += run_all(entry.path());
  return files;
}

void run_random(std::mt19937& random, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Bytes bytes(random() % 400);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    run(bytes);
  }
}

// One to four times: a byte changed, a stretch left out, or one of another file put in.
Bytes mutated(std::mt19937& random) {
  Bytes bytes = corpus[random() % corpus.size()];
  for (size_t left = 1 + random() % 4; left > 0 && !bytes.empty(); --left) {
    const auto at = bytes.begin() + std::ptrdiff_t(random() % bytes.size());
    const size_t length = 1 + random() % 8;
    switch (random() % 3) {
      case 0:
        *at = random() % 2 == 0 ? static_cast<uint8_t>(random())
                                : static_cast<uint8_t>(*at ^ 1U << random() % 8);
        break;
      case 1:
        bytes.erase(at, at + std::min(std::ptrdiff_t(length), bytes.end() - at));
        break;
      default: {
        const Bytes& other = corpus[random() % corpus.size()];
        const size_t from = other.empty() ? 0 : random() % other.size();
        bytes.insert(at, other.begin() + std::ptrdiff_t(from),
                     other.begin() + std::ptrdiff_t(std::min(from + length, other.size())));
      }
    }
  }
  return bytes;
}

void run_mutated(std::mt19937& random, size_t count) {
  for (size_t i = 0; i < count && !corpus.empty(); ++i) run(mutated(random));
}

}  // namespace

int main(int argc, char** argv) {
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) ::signal(signal, keep_input);
  const char* const seed = std::getenv("POOLJIT_FUZZ_SEED");
  std::mt19937 random(seed ? static_cast<uint32_t>(std::strtoul(seed, nullptr, 10)) : 1);
  size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    const bool is_random = std::strcmp(argv[i], "--random") == 0;
    if ((!is_random && std::strcmp(argv[i], "--mutate") != 0) || i + 1 == argc) {
      inputs += run_all(argv[i]);
      continue;
    }
    const size_t count = std::strtoul(argv[++i], nullptr, 10);
    is_random ? run_random(random, count) : run_mutated(random, count);
    inputs += count;
  }
  std::printf("%zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;
}
