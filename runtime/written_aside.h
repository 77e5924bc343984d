// A file that appears whole or not at all. It is written beside its place, flushed to the disk, then renamed
// over the old file. It takes that file's mode, and its owner if the system allows that. A file that is not
// put in place is removed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "ir/error.h"

namespace pooljit::runtime {

// The file behind links, also where it is not there yet, so that a rename replaces the file and not a link.
std::string resolved(const std::string& path);

// "cannot WRITE PATH: why", as errno says.
std::string cannot(const char* verb, const std::string& path);

// An open file; closed with the object, and a lock on it goes with it.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode = 0666);
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  // False: what was written may not have arrived; errno says why.
  bool close();

 private:
  int number_;
};

class WrittenAside {
 public:
  // Its name meanwhile. any: `.FILE.PROCESS.NUMBER`, so that several may write the same file; one:
  // `FILE.new`, under a lock of the caller's, so that it replaces what a dead process left.
  enum class Name : uint8_t { any, one };

  // `target` is resolved(). Errors: "file.create".
  static ir::Result<WrittenAside> create(const std::string& target, Name name);
  WrittenAside(WrittenAside&& other) noexcept = default;
  WrittenAside& operator=(WrittenAside&&) = delete;
  ~WrittenAside();

  const std::string& target() const { return target_; }
  // Appends. Errors: "file.write".
  ir::Result<void> write(std::span<const std::byte> bytes);
  // Nothing more is written, and what was is on the disk. Errors: "file.write".
  ir::Result<void> complete();
  // Renames it, complete. Errors: "file.rename".
  ir::Result<void> put_in_place();
  bool is_in_place() const { return is_in_place_; }

 private:
  WrittenAside(std::string target, std::string path, Descriptor file)
      : target_(std::move(target)), path_(std::move(path)), file_(std::move(file)) {}

  std::string target_;
  std::string path_;  // moved from: empty
  Descriptor file_;
  bool is_in_place_ = false;
};

}  // namespace pooljit::runtime
