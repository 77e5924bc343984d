#include "tools/sample_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "ir/schedule_text.h"
#include "tools/sample_row.h"

namespace pooljit::tools {
namespace {

using Json = nlohmann::ordered_json;

bool write_all(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) return false;
    done += count > 0 ? static_cast<size_t>(count) : 0;
  }
  return true;
}

}  // namespace

ir::Result<size_t> read_rows(const std::string& path, const std::function<void(Json)>& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return ir::system_error("file.open", fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  size_t whole_bytes = 0;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const bool is_whole = !file.eof();
    Json row = Json::parse(line, nullptr, false);
    const bool is_known = is_row(row) || is_refusal(row);
    if (!is_known && !is_whole) break;
    if (!is_known)
      return ir::invalid("tune.samples", fmt::format("{}:{}: it is no row of samples", path, number),
                         "a file that `pooljit tune SPEC --samples FILE` wrote");
    whole_bytes += line.size() + (is_whole ? 1 : 0);
    if (!is_refusal(row)) take(std::move(row));
  }
  return whole_bytes;
}

ir::Result<SampleFile> SampleFile::open(const std::string& path) {
  SampleFile made(path, runtime::Descriptor(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK));
  if (!made.file_.is_open()) return ir::system_error("file.create", runtime::cannot("write", path));
  struct stat status = {};
  if (::fstat(made.file_.number(), &status) != 0 || !S_ISREG(status.st_mode))
    return ir::system_error("file.kind", fmt::format("{} is no file", path),
                            "name a file that rows can be appended to");
  if (::flock(made.file_.number(), LOCK_EX | LOCK_NB) != 0)
    return ir::system_error("tune.locked", fmt::format("another process writes {}", path),
                            "wait for it, or name another file: they can be joined later");
  const auto whole_bytes = read_rows(path, [&](const Json& row) { made.take(row); });
  if (!whole_bytes) return tl::unexpected(whole_bytes.error());
  if (auto repaired = made.repair(*whole_bytes); !repaired) return tl::unexpected(repaired.error());
  return made;
}

ir::Result<void> SampleFile::repair(size_t whole_bytes) {
  struct stat status = {};
  ::fstat(file_.number(), &status);
  cut_bytes_ = static_cast<size_t>(status.st_size) - whole_bytes;
  char last = '\n';
  const bool has_end =
      whole_bytes == 0 || (::pread(file_.number(), &last, 1, off_t(whole_bytes) - 1) == 1 && last == '\n');
  if ((cut_bytes_ > 0 && ::ftruncate(file_.number(), off_t(whole_bytes)) != 0) ||
      (!has_end && !write_all(file_.number(), "\n")))
    return ir::system_error("file.write", runtime::cannot("write", path_));
  return {};
}

ir::Result<void> SampleFile::append(const Json& row) {
  if (!write_all(file_.number(), row.dump() + "\n"))
    return ir::system_error("file.write", runtime::cannot("write", path_), "is the disk full?");
  take(row);
  return {};
}

void SampleFile::take(const Json& row) {
  Group& group = groups_[group_of(row)];
  group.ratios[row["schedule"].get<std::string>()] = row["ratio"].get<double>();
  group.space = std::max(group.space, row.value("space", size_t{0}));
}

std::optional<double> SampleFile::ratio(const Json& about, const ir::Schedule& schedule) const {
  const auto group = groups_.find(group_of(about));
  if (group == groups_.end()) return std::nullopt;
  const auto found = group->second.ratios.find(ir::print(schedule));
  return found == group->second.ratios.end() ? std::nullopt : std::optional(found->second);
}

bool SampleFile::is_complete(const Json& about) const {
  const auto group = groups_.find(group_of(about));
  return group != groups_.end() && group->second.space > 0 &&
         group->second.ratios.size() >= group->second.space;
}

}  // namespace pooljit::tools
