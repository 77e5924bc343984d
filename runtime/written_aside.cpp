#include "runtime/written_aside.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace pooljit::runtime {
namespace {

namespace fs = std::filesystem;

// Owner and mode of another file. A process that may not give files away keeps its own.
bool take_owner_and_mode(const Descriptor& file, const struct stat& other) {
  const bool is_given = ::fchown(file.number(), uid_t(-1), other.st_gid) == 0 &&
                        ::fchown(file.number(), other.st_uid, gid_t(-1)) == 0;
  return (is_given || errno == EPERM || errno == EINVAL) &&
         ::fchmod(file.number(), other.st_mode & 0777) == 0;
}

// Some file systems have no such thing.
bool flush(const Descriptor& file) { return ::fsync(file.number()) == 0 || errno == EINVAL; }

}  // namespace

std::string cannot(const char* verb, const std::string& path) {
  return fmt::format("cannot {} {}: {}", verb, path, std::strerror(errno));
}

std::string resolved(const std::string& path) {
  constexpr int most_links = 40;  // as many as the system follows
  std::error_code error;
  fs::path target = fs::absolute(path, error);
  for (int links = 0; links < most_links && fs::is_symlink(target, error); ++links)
    target = target.parent_path() / fs::read_symlink(target, error);
  const fs::path whole = fs::weakly_canonical(target, error);
  return error ? target.string() : whole.string();
}

Descriptor::Descriptor(const std::string& path, int flags, mode_t mode)
    : number_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}

bool Descriptor::close() { return !is_open() || ::close(std::exchange(number_, -1)) == 0; }

ir::Result<WrittenAside> WrittenAside::create(const std::string& target, Name name) {
  struct stat old = {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  const mode_t mode = replaces ? old.st_mode & 0777 : 0666;
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL;
  constexpr int most_numbers = 1000;
  const fs::path place(target);
  for (int number = 0; number < most_numbers; ++number) {
    std::string path = target + ".new";
    if (name == Name::one)
      ::unlink(path.c_str());  // not opened: a link or a pipe of that name leads elsewhere
    else
      path = place.parent_path() / fmt::format(".{}.{}.{}", place.filename().string(), ::getpid(), number);
    Descriptor file(path, flags, mode);
    if (!file.is_open() && errno == EEXIST) continue;
    if (!file.is_open()) break;
    WrittenAside made(target, path, std::move(file));
    if (replaces && !take_owner_and_mode(made.file_, old)) break;
    return made;
  }
  return ir::system_error("file.create", cannot("write", target),
                          "does the folder exist, and may you write there?");
}

WrittenAside::~WrittenAside() {
  if (!path_.empty() && !is_in_place_) ::unlink(path_.c_str());
}

ir::Result<void> WrittenAside::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file_.number(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return ir::system_error("file.write", cannot("write", target_));
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

ir::Result<void> WrittenAside::complete() {
  // A delayed error (a full or remote disk) shows here at the latest.
  if (!flush(file_) || !file_.close()) return ir::system_error("file.write", cannot("write", target_));
  return {};
}

ir::Result<void> WrittenAside::put_in_place() {
  if (::rename(path_.c_str(), target_.c_str()) != 0)
    return ir::system_error("file.rename", cannot("replace", target_));
  is_in_place_ = true;
  const Descriptor folder(fs::path(target_).parent_path().string(), O_RDONLY | O_DIRECTORY);
  if (folder.is_open()) (void)flush(folder);
  return {};
}

}  // namespace pooljit::runtime
