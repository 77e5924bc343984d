#include "runtime/cpu_quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

#include "ir/parse_number.h"
#include "ir/split.h"

namespace pooljit::runtime {
namespace {

bool has(std::string_view list, std::string_view word) {
  const auto words = ir::split(list, ',');
  return std::ranges::find(words, word) != words.end();
}

// "\040" is a blank: mountinfo writes blanks, tabs, newlines and backslashes so.
std::string unescaped(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(std::min(i + 1, text.size()), 3);
    if (text[i] == '\\' && digits.size() == 3 && std::ranges::all_of(digits, is_octal)) {
      plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The group of this process: of version 2 in the line "0::PATH", else in "N:...,cpu,...:PATH".
std::optional<std::string> path_of(std::string_view cgroup, bool is_v2) {
  for (const std::string_view line : ir::split(cgroup, '\n')) {
    const size_t first = line.find(':'), second = line.find(':', std::min(first, line.size() - 1) + 1);
    if (line.empty() || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (is_v2 ? line.substr(0, first) == "0" && controllers.empty() : has(controllers, "cpu"))
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

struct Mount {
  std::string root, point, options;
  bool is_v2 = false;
};

// "36 35 0:30 ROOT POINT rw,noatime shared:1 - cgroup2 cgroup rw,cpu": any number of fields before the dash.
std::optional<Mount> read_mount(std::string_view line) {
  const size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const auto before = ir::split(line.substr(0, dash), ' '), after = ir::split(line.substr(dash + 3), ' ');
  if (before.size() < 6 || after.size() < 3) return std::nullopt;
  if (after[0] != "cgroup" && after[0] != "cgroup2") return std::nullopt;
  return Mount{unescaped(before[3]), unescaped(before[4]), std::string(after[2]), after[0] == "cgroup2"};
}

// Where the path of a group lies below the mount. A container often has its own group mounted as the root.
std::string folder_of(const Mount& mount, std::string_view path) {
  const std::string_view root = mount.root == "/" ? "" : std::string_view(mount.root);
  const bool is_below = path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/') &&
                        path.find("/..") == std::string_view::npos;
  const std::string_view rest = is_below ? path.substr(root.size()) : "";
  return mount.point + std::string(rest == "/" ? "" : rest);
}

std::optional<double> number(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return ir::parse_number<int64_t>(text);
}

double quota(std::optional<double> time, std::optional<double> period) {
  return time && period && *time > 0 && *period > 0 ? *time / *period : 0;
}

// Empty where there is none.
std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

double quota_of(const std::string& folder, bool is_v2) {
  if (is_v2) return quota_v2(read(folder + "/cpu.max"));
  return quota_v1(read(folder + "/cpu.cfs_quota_us"), read(folder + "/cpu.cfs_period_us"));
}

}  // namespace

std::vector<CpuGroup> cpu_groups(std::string_view cgroup, std::string_view mountinfo) {
  std::vector<CpuGroup> groups;
  for (const std::string_view line : ir::split(mountinfo, '\n')) {
    const auto mount = read_mount(line);
    if (!mount || (!mount->is_v2 && !has(mount->options, "cpu"))) continue;
    if (const auto path = path_of(cgroup, mount->is_v2))
      groups.push_back({mount->point, folder_of(*mount, *path), mount->is_v2});
  }
  return groups;
}

double quota_v2(std::string_view max) {
  const size_t blank = max.find(' ');
  if (blank == std::string_view::npos) return 0;
  return quota(number(max.substr(0, blank)), number(max.substr(blank + 1)));
}

double quota_v1(std::string_view time, std::string_view period) {
  return quota(number(time), number(period));
}

int cpu_quota(const std::string& root) {
  double least = 0;
  for (const CpuGroup& group :
       cpu_groups(read(root + "/proc/self/cgroup"), read(root + "/proc/self/mountinfo")))
    for (std::string folder = group.folder; folder.size() >= group.mount.size();
         folder.resize(std::min(folder.rfind('/'), folder.size()))) {
      const double here = quota_of(root + folder, group.is_v2);
      if (here > 0 && (least == 0 || here < least)) least = here;
      if (folder.empty() || folder == "/") break;
    }
  constexpr double most = 1 << 20;
  return static_cast<int>(std::ceil(std::min(least, most)));
}

}  // namespace pooljit::runtime
