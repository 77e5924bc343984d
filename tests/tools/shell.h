// Runs a line of shell and gives back what it said and how it ended.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tools/temp_folder.h"

namespace pooljit::test {

struct Outcome {
  int exit = -1;  // 128 + signal, as the shell counts
  std::string out, err;
};

// $P is the `pooljit` command, by a path without blanks; $T the folder that the line may use.
inline Outcome shell(const std::string& line, const TempFolder& folder) {
  const TempFolder output;
  std::filesystem::create_symlink(POOLJIT_COMMAND, output / "pooljit");
  setenv("P", (output / "pooljit").c_str(), 1);
  setenv("T", folder.path().c_str(), 1);
  write_file(output / "script", line + "\n");
  const std::string command =
      "sh " + (output / "script") + " >" + (output / "out") + " 2>" + (output / "err") + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(output / "out"),
          read_file(output / "err")};
}

// The same of a command that is sent SIGINT as soon as it catches it: SigCgt has the bits of SIGTERM and
// SIGINT.
inline Outcome interrupted(const std::string& command, const TempFolder& folder) {
  return shell(command +
                   " & pid=$!\n"
                   "until grep -q 'SigCgt:.*[4-7c-f]..[2367abef]$' /proc/$pid/status; do sleep 0.1; done\n"
                   "kill -INT $pid; wait $pid",
               folder);
}

}  // namespace pooljit::test
