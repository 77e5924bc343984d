#include "tools/output_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace pooljit::tools {
namespace {

namespace fs = std::filesystem;

// The path with links resolved, so that a rename replaces the file and not a link to it.
std::string resolved(const std::string& path) {
  std::error_code ignored;
  const fs::path full = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  return full.empty() ? path : full.string();
}

// mkstemp makes files that only the owner reads; what we write has the permissions of any new file.
void set_usual_permissions(int fd) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd, 0666 & ~mask);
}

}  // namespace

OutputFiles::~OutputFiles() {
  for (const Pending& file : files_) {
    if (file.fd >= 0) ::close(file.fd);
    if (!committed_) ::unlink(file.renamed ? file.target.c_str() : file.aside.c_str());
  }
}

ir::Result<size_t> OutputFiles::add(const std::string& path) {
  Pending file;
  file.target = resolved(path);
  struct stat info = {};
  if (::stat(file.target.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return ir::system_error("file.kind", fmt::format("{} is not a regular file", path),
                            "name a file that can be replaced");
  for (const Pending& other : files_)
    if (other.target == file.target)
      return ir::invalid("file.same", fmt::format("{} is named for two outputs", path), "name two files");

  const fs::path target(file.target);
  file.aside = (target.parent_path() / ("." + target.filename().string() + ".XXXXXX")).string();
  file.fd = ::mkstemp(file.aside.data());
  if (file.fd < 0)
    return ir::system_error("file.create", fmt::format("cannot write {}: {}", path, std::strerror(errno)),
                            "does the folder exist, and may you write there?");
  set_usual_permissions(file.fd);
  files_.push_back(std::move(file));
  return files_.size() - 1;
}

ir::Result<void> OutputFiles::write(size_t file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(files_[file].fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0)
      return ir::system_error("file.write",
                              fmt::format("cannot write {}: {}", files_[file].target, std::strerror(errno)));
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

ir::Result<void> OutputFiles::commit() {
  for (Pending& file : files_) {
    // A delayed error (a full or remote disk) shows here at the latest.
    const int error = ::fsync(file.fd) != 0 && errno != EINVAL ? errno : 0;
    const bool closed = ::close(file.fd) == 0;
    file.fd = -1;
    if (error != 0 || !closed)
      return ir::system_error("file.write", fmt::format("cannot write {}: {}", file.target,
                                                        std::strerror(error != 0 ? error : errno)));
  }
  for (Pending& file : files_) {
    if (std::rename(file.aside.c_str(), file.target.c_str()) != 0)
      return ir::system_error("file.rename",
                              fmt::format("cannot replace {}: {}", file.target, std::strerror(errno)));
    file.renamed = true;
  }
  committed_ = true;
  return {};
}

}  // namespace pooljit::tools
