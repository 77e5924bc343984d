#include "tools/output_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace pooljit::tools {

OutputFiles::~OutputFiles() {
  for (const runtime::WrittenAside& file : files_)
    if (!committed_ && file.is_in_place()) ::unlink(file.target().c_str());
}

ir::Result<size_t> OutputFiles::add(const std::string& path) {
  const std::string target = runtime::resolved(path);
  struct stat info = {};
  if (::stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return ir::system_error("file.kind", fmt::format("{} is not a regular file", path),
                            "name a file that can be replaced");
  if (std::ranges::find(files_, target, &runtime::WrittenAside::target) != files_.end())
    return ir::invalid("file.same", fmt::format("{} is named for two outputs", path), "name two files");
  auto file = runtime::WrittenAside::create(target, runtime::WrittenAside::Name::any);
  if (!file) return tl::unexpected(file.error());
  files_.push_back(std::move(*file));
  return files_.size() - 1;
}

ir::Result<void> OutputFiles::commit() {
  for (runtime::WrittenAside& file : files_)
    if (auto done = file.complete(); !done) return done;
  for (runtime::WrittenAside& file : files_)
    if (auto done = file.put_in_place(); !done) return done;
  committed_ = true;
  return {};
}

}  // namespace pooljit::tools
