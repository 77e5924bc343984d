// How much processor time the control groups of this process allow (a container's --cpus=2, a pod's limit):
// beside the affinity, what the number of threads depends on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pooljit::runtime {

// Where a hierarchy of control groups that may limit processor time is mounted, and the folder of this
// process in it: itself, or, where it lies outside of what is mounted, the mounted root.
struct CpuGroup {
  std::string mount, folder;  // the folder begins with the mount
  bool is_v2 = false;
  bool operator==(const CpuGroup&) const = default;
};

// From the texts of /proc/self/cgroup and /proc/self/mountinfo. Malformed lines are skipped.
std::vector<CpuGroup> cpu_groups(std::string_view cgroup, std::string_view mountinfo);

// Processors' worth of time, of cpu.max ("150000 100000": 1.5) and of cpu.cfs_quota_us and
// cpu.cfs_period_us; 0: no limit, or a text that is none.
double quota_v2(std::string_view max);
double quota_v1(std::string_view quota, std::string_view period);

// The least that the groups of this process and their parents allow, in whole processors, rounded up: at
// least 1; 0: no limit, or the system does not say. root: before /proc and the mounts, "" but in tests.
int cpu_quota(const std::string& root);

}  // namespace pooljit::runtime
