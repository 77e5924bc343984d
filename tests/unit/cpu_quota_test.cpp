// What control groups allow, read from texts and from folders that look like a system's.
#include "runtime/cpu_quota.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace pooljit::runtime {
namespace {

namespace fs = std::filesystem;

TEST(CpuQuota, OfTheFilesTexts) {
  EXPECT_EQ(quota_v2("150000 100000\n"), 1.5);
  EXPECT_EQ(quota_v2("1000 100000"), 0.01);
  for (const char* text : {"max 100000\n", "", "\n", "100000", "100000 ", "100000 0\n", "-1 100000\n",
                           "0 100000\n", "1e5 100000\n", "100000 100000 1\n", "99999999999999999999 1\n"})
    EXPECT_EQ(quota_v2(text), 0) << text;
  EXPECT_EQ(quota_v1("400000\n", "100000\n"), 4);
  EXPECT_EQ(quota_v1("-1\n", "100000\n"), 0);
  EXPECT_EQ(quota_v1("400000\n", ""), 0);
  EXPECT_EQ(quota_v1("", "100000\n"), 0);
  EXPECT_EQ(quota_v1("400000\n", "0\n"), 0);
}

constexpr const char* v2_mount =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* v1_mounts =
    "33 32 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "34 32 0:31 / /sys/fs/cgroup/cpuset rw,nosuid shared:10 - cgroup cgroup rw,cpuset\n";

using Groups = std::vector<CpuGroup>;

TEST(CpuGroups, AreFoundWhereTheyAreMounted) {
  EXPECT_EQ(cpu_groups("0::/user.slice/a.scope\n", v2_mount),
            (Groups{{"/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/a.scope", true}}));
  EXPECT_EQ(cpu_groups("0::/\n", v2_mount), (Groups{{"/sys/fs/cgroup", "/sys/fs/cgroup", true}}));
  EXPECT_EQ(cpu_groups("5:cpuset:/other\n4:cpuacct,cpu:/docker/12\n", v1_mounts),
            (Groups{{"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/docker/12", false}}));
  // Both at once, as systemd's hybrid mode has them.
  EXPECT_EQ(cpu_groups("4:cpu,cpuacct:/a\n0::/b\n", std::string(v1_mounts) + v2_mount),
            (Groups{{"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/a", false},
                    {"/sys/fs/cgroup", "/sys/fs/cgroup/b", true}}));
}

TEST(CpuGroups, OfAContainerWhoseGroupIsMountedAsTheRoot) {
  constexpr const char* mount =
      "33 32 0:30 /docker/12 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n";
  const Groups root = {{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu", false}};
  EXPECT_EQ(cpu_groups("4:cpu,cpuacct:/docker/12\n", mount), root);
  EXPECT_EQ(cpu_groups("4:cpu,cpuacct:/docker/123\n", mount), root);
  EXPECT_EQ(cpu_groups("4:cpu,cpuacct:/../..\n", mount), root);
  EXPECT_EQ(cpu_groups("4:cpu,cpuacct:/docker/12/a\n", mount),
            (Groups{{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu/a", false}}));
}

TEST(CpuGroups, MountPointsAreUnescaped) {
  EXPECT_EQ(cpu_groups("0::/a\n", R"(30 23 0:26 / /my\040groups\134 rw - cgroup2 none rw)"),
            (Groups{{"/my groups\\", "/my groups\\/a", true}}));
}

TEST(CpuGroups, WhatIsMalformedIsLeftOut) {
  for (const char* cgroup : {"", "\n", ":", "::", "0", "0:", "0:/a", "4:cpuset:/a", "4:cpus:/a"})
    EXPECT_EQ(cpu_groups(cgroup, v1_mounts), Groups()) << cgroup;
  for (const char* mounts : {"", "\n", " - ", "30 23 - cgroup2 x rw", "30 23 0:26 / /a rw - cgroup2",
                             "30 23 0:26 / /a rw - tmpfs x rw", "30 23 0:26 / /a rw cgroup2 x rw"})
    EXPECT_EQ(cpu_groups("0::/a\n4:cpu:/a\n", mounts), Groups()) << mounts;
}

// A system of files in a folder of its own.
class FakeRoot : public testing::Test {
 protected:
  FakeRoot() { fs::remove_all(root_); }
  ~FakeRoot() override { fs::remove_all(root_); }
  int quota_with(const std::map<std::string, std::string>& files) const {
    fs::remove_all(root_);
    for (const auto& [path, text] : files) {
      const fs::path file = root_ + path;
      fs::create_directories(file.parent_path());
      std::ofstream(file) << text;
    }
    return cpu_quota(root_);
  }
  const std::string root_ = fs::temp_directory_path() / ("pooljit_quota_" + std::to_string(getpid()));
};

TEST_F(FakeRoot, TheLeastOfAGroupAndItsParentsCounts) {
  std::map<std::string, std::string> files = {{"/proc/self/cgroup", "0::/a/b\n"},
                                              {"/proc/self/mountinfo", v2_mount},
                                              {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                                              {"/sys/fs/cgroup/a/cpu.max", "250000 100000\n"}};
  EXPECT_EQ(quota_with(files), 3);
  files["/sys/fs/cgroup/a/b/cpu.max"] = "50000 100000\n";
  EXPECT_EQ(quota_with(files), 1);
  files["/sys/fs/cgroup/a/b/cpu.max"] = "800000 100000\n";
  EXPECT_EQ(quota_with(files), 3);
  files["/sys/fs/cgroup/a/cpu.max"] = "max 100000\n";
  EXPECT_EQ(quota_with(files), 8);
  files.erase("/sys/fs/cgroup/a/cpu.max");
  files["/sys/fs/cgroup/cpu.max"] = "600000 100000\n";  // of the root: inside a container with its own view
  EXPECT_EQ(quota_with(files), 6);
  files["/sys/cpu.max"] = "100000 100000\n";  // above the mount: no group
  EXPECT_EQ(quota_with(files), 6);
}

TEST_F(FakeRoot, VersionOneHasTwoFiles) {
  const std::string own = "/sys/fs/cgroup/cpu,cpuacct/docker/12";
  std::map<std::string, std::string> files = {{"/proc/self/cgroup", "4:cpu,cpuacct:/docker/12\n"},
                                              {"/proc/self/mountinfo", v1_mounts},
                                              {own + "/cpu.cfs_quota_us", "200000\n"},
                                              {own + "/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(quota_with(files), 2);
  files[own + "/cpu.cfs_quota_us"] = "-1\n";
  EXPECT_EQ(quota_with(files), 0);
}

TEST_F(FakeRoot, NothingIsNoLimit) {
  EXPECT_EQ(quota_with({}), 0);
  EXPECT_EQ(quota_with({{"/proc/self/cgroup", "0::/a\n"}, {"/proc/self/mountinfo", v2_mount}}), 0);
}

}  // namespace
}  // namespace pooljit::runtime
