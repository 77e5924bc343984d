// The tuning database where the file system refuses: each error has its id, and what is there stays whole.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <functional>

#include "lab/tuner.h"
#include "runtime/compile.h"
#include "runtime/tuning/store.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

namespace fs = std::filesystem;
using test::Outcome;
using test::read_file;
using test::shell;
using test::TempFolder;
using test::write_file;

constexpr const char* spec = "max_pool1d(float32[1,3,40], kernel_size=2)";
constexpr uid_t nobody = 65534;

runtime::TuneEntry some_entry() {
  runtime::TuneEntry entry = *runtime::tune_key(spec, {.threads = 1});
  entry.schedule = "channels_last(lanes=1, scan=windows, tap_code=straight, tail=mask)";
  entry.proof = "default";
  return entry;
}

// Permissions do not bind root: it becomes somebody else.
bool become_ordinary() {
  return ::geteuid() != 0 || (::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
                              ::setresuid(nobody, nobody, nobody) == 0);
}

class TunePermissions : public testing::Test {
 protected:
  // Runs expectations in a child whom permissions bind, and who owns the folder.
  void as_ordinary_user(const std::function<void()>& expectations) const {
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown(folder_.path().c_str(), nobody, nobody), 0) << std::strerror(errno);
    }
    const pid_t child = fork();
    if (child == 0) {
      EXPECT_TRUE(become_ordinary()) << std::strerror(errno);
      expect_permissions_bind();
      if (!HasFailure()) expectations();
      std::fflush(nullptr);
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "see above for what failed in the child";
  }

  void expect_permissions_bind() const {
    const std::string closed = folder_ / "closed";
    write_file(closed, "");
    EXPECT_EQ(::chmod(closed.c_str(), 0), 0);
    EXPECT_LT(::open(closed.c_str(), O_RDONLY | O_CLOEXEC), 0) << "permissions bind nobody here";
    fs::remove(closed);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found = folder_.names();
    std::ranges::sort(found);
    return found;
  }

  const TempFolder folder_;
  const std::string path_ = folder_ / "db";
};

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

std::string stored(const std::string& path) {
  const auto done = runtime::store_entries(path, {some_entry()});
  return done ? "" : done.error().id;
}
std::string loaded(const std::string& path) {
  const auto database = runtime::load_entries(path);
  return database ? "" : database.error().id;
}
std::string compiled(const std::string& path) {
  runtime::Options options = {.threads = 1};
  options.tune_db = path;
  const auto kernel = runtime::compile_uncached(spec, options);
  return kernel ? "" : kernel.error().id;
}

const std::string whole = std::string(runtime::tune_header) + "\n";

// What the folder's or the file's mode refuses.
TEST_F(TunePermissions, ModesRefuse) {
  const struct {
    mode_t folder, file;
    const char *store, *load;  // the ids
  } table[] = {
      {0755, 0000, "tune.open", "tune.open"},                                  // cannot be read
      {0755, 0200, "tune.open", "tune.open"}, {0755, 0400, "file.write", ""},  // cannot be written
      {0555, 0600, "file.create", ""},  // nothing can be put into the folder
      {0000, 0600, "tune.open", "tune.open"}, {0444, 0600, "tune.open", "tune.open"},
  };
  for (const auto& row : table)
    as_ordinary_user([&] {
      write_file(path_, whole);
      EXPECT_EQ(::chmod(path_.c_str(), row.file), 0);
      EXPECT_EQ(::chmod(folder_.path().c_str(), row.folder), 0);
      const std::string ids[] = {stored(path_), loaded(path_), compiled(path_)};
      const auto storable = runtime::check_storable(path_);
      setenv("POOLJIT_TUNE_DB", path_.c_str(), 1);
      const auto kernel = runtime::compile(spec, {.threads = 1});
      EXPECT_EQ(::chmod(folder_.path().c_str(), 0755), 0);

      EXPECT_EQ(ids[0], row.store);
      EXPECT_EQ(ids[1], row.load);
      EXPECT_EQ(ids[2], row.load);
      EXPECT_EQ(storable ? "" : storable.error().id, row.store);
      // Whom nobody asked for the file has a kernel, and the reason.
      ASSERT_TRUE(kernel);
      EXPECT_EQ((*kernel)->schedule_origin().find("cannot open") != std::string::npos, *row.load != 0)
          << (*kernel)->schedule_origin();
      EXPECT_EQ(mode_of(path_), row.file);
      EXPECT_EQ(::chmod(path_.c_str(), 0600), 0);
      EXPECT_EQ(read_file(path_), whole);
      fs::remove(path_ + ".lock");
      EXPECT_EQ(names(), std::vector<std::string>{"db"});
      fs::remove(path_);
    });
}

TEST_F(TunePermissions, AFolderThatIsNotListedTakesFiles) {
  as_ordinary_user([&] {
    EXPECT_EQ(::chmod(folder_.path().c_str(), 0333), 0);
    EXPECT_EQ(stored(path_), "");
    EXPECT_EQ(loaded(path_), "");
    EXPECT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  });
}

TEST_F(TunePermissions, TheFileKeepsItsModeAndOwner) {
  for (const mode_t mode : {0600, 0640, 0666}) {
    write_file(path_, whole);
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    const bool is_root = ::geteuid() == 0;
    if (is_root) {
      ASSERT_EQ(::chown(path_.c_str(), nobody, nobody), 0);
    }
    EXPECT_EQ(stored(path_), "");
    struct stat status = {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
    EXPECT_EQ(status.st_uid, is_root ? nobody : ::geteuid());
    EXPECT_EQ(runtime::read_tune_database(path_)->entries.size(), 1U);
  }
}

// --- other things than files of that name

TEST_F(TunePermissions, AFolderIsLeftAlone) {
  fs::create_directory(path_);
  EXPECT_EQ(stored(path_), "tune.format");
  EXPECT_EQ(loaded(path_), "tune.format");
  EXPECT_EQ(compiled(path_), "tune.format");
  EXPECT_EQ(names(), std::vector<std::string>{"db"});
}

TEST_F(TunePermissions, LinksInACircleLeadNowhere) {
  fs::create_symlink("other", path_);
  fs::create_symlink("db", folder_ / "other");
  EXPECT_EQ(stored(path_), "tune.open");
  EXPECT_EQ(loaded(path_), "tune.open");
  EXPECT_EQ(compiled(path_), "tune.open");
  EXPECT_EQ(names(), (std::vector<std::string>{"db", "other"}));
}

TEST_F(TunePermissions, ALinkToWhatIsNotThereYetStaysOne) {
  fs::create_directory(folder_ / "shared");
  fs::create_symlink("shared/real", path_);
  EXPECT_EQ(loaded(path_), "");
  EXPECT_EQ(stored(path_), "");
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(runtime::read_tune_database(folder_ / "shared/real")->entries.size(), 1U);
}

TEST_F(TunePermissions, AFileThatIsTakenForAFolder) {
  write_file(path_, whole);
  EXPECT_EQ(compiled(path_ + "/db"), "tune.open");
  EXPECT_EQ(stored(path_ + "/db"), "file.create");
  EXPECT_EQ(read_file(path_), whole);
}

// What lies where the database is written aside is not written through.
TEST_F(TunePermissions, NothingIsWrittenThroughWhatLiesAside) {
  write_file(folder_ / "precious", "precious\n");
  fs::create_symlink("precious", path_ + ".new");
  EXPECT_EQ(stored(path_), "");
  EXPECT_EQ(read_file(folder_ / "precious"), "precious\n");
  EXPECT_FALSE(fs::is_symlink(path_));

  ASSERT_EQ(::mkfifo((path_ + ".new").c_str(), 0600), 0);  // whoever opens it waits for a reader
  ::alarm(20);
  EXPECT_EQ(stored(path_), "");
  ::alarm(0);
  EXPECT_EQ(names(), (std::vector<std::string>{"db", "db.lock", "precious"}));

  const std::string before = read_file(path_);
  fs::create_directory(path_ + ".new");
  EXPECT_EQ(stored(path_), "file.create");
  EXPECT_EQ(read_file(path_), before);
}

// A link in the lock's place would make a file somewhere else; a pipe is as good a lock as a file.
TEST_F(TunePermissions, ALockThatLeadsElsewhere) {
  fs::create_symlink("elsewhere", path_ + ".lock");
  EXPECT_EQ(stored(path_), "file.create");
  EXPECT_EQ(names(), (std::vector<std::string>{"db.lock"}));
  fs::remove(path_ + ".lock");
  ASSERT_EQ(::mkfifo((path_ + ".lock").c_str(), 0600), 0);
  ::alarm(20);
  EXPECT_EQ(stored(path_), "");
  ::alarm(0);
}

TEST_F(TunePermissions, ALockThatIsNone) {
  write_file(path_, whole);
  fs::create_directory(path_ + ".lock");
  EXPECT_EQ(stored(path_), "file.create");
  EXPECT_EQ(read_file(path_), whole);
  EXPECT_EQ(names(), (std::vector<std::string>{"db", "db.lock"}));
}

// --- refused half-way

// `forbid` makes the system refuse something in a child, for good.
std::string stored_in_child(const std::string& path, const std::function<bool()>& forbid) {
  const TempFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    write_file(folder / "id", forbid() ? "" : "not forbidden");
    const std::string id = stored(path);
    ::signal(SIGXFSZ, SIG_IGN);
    write_file(folder / "said", id);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return read_file(folder / "id") + read_file(folder / "said");
}

TEST_F(TunePermissions, AFullDiskLeavesTheOldDatabase) {
  ASSERT_EQ(stored(path_), "");
  const std::string before = read_file(path_);
  EXPECT_EQ(stored_in_child(path_,
                            [] {
                              const rlimit most = {20, 20};
                              return ::signal(SIGXFSZ, SIG_IGN) != SIG_ERR &&
                                     ::setrlimit(RLIMIT_FSIZE, &most) == 0;
                            }),
            "file.write");
  EXPECT_EQ(read_file(path_), before);
  EXPECT_EQ(names(), (std::vector<std::string>{"db", "db.lock"}));
}

// As in a sticky folder, where only the owner of a file may replace it.
bool forbid_rename() {
  std::array filter = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rename, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(TunePermissions, ARefusedRenameLeavesTheOldDatabase) {
  ASSERT_EQ(stored(path_), "");
  const std::string before = read_file(path_);
  EXPECT_EQ(stored_in_child(path_, forbid_rename), "file.rename");
  EXPECT_EQ(read_file(path_), before);
  EXPECT_EQ(names(), (std::vector<std::string>{"db", "db.lock"}));
}

// --- the command

// Nothing is measured that could not be kept.
TEST_F(TunePermissions, TheCommandAsksFirst) {
  write_file(folder_ / "specs.txt", "wrong\tmax_pool1d(float32[1,3,9], kernel_size=0)\n");
  const Outcome outcome = shell("$P tune --file $T/specs.txt --db $T/no/such/db", folder_);
  EXPECT_EQ(outcome.exit, 5) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("file.create"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace pooljit::tools
