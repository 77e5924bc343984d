// `pooljit bench --file`: every layer of a file beside the peers, as a table, a page and data.
#pragma once

#include "tools/bench/comparison.h"
#include "tools/command.h"
#include "tools/problem_file.h"

namespace pooljit::tools {

inline constexpr const char* usual_family =
    "max_pool2d(float32[1,64,56,56], kernel_size=3, stride=1, padding=1)";

struct SessionArguments {
  std::vector<Problem> problems;
  std::string layout, dtype;  // instead of the layers' own; empty: theirs
  std::vector<std::string> peers = {"all"}, peer_folders;
  ComparisonOptions comparison;
  std::string family = usual_family;              // "none": no families
  std::string report, json_file, benchmark_file;  // empty: not written
  bool json = false;                              // on stdout, instead of the table
};

// Ctrl-C keeps what it has. Errors: those of the files, "bench.peers", "bench.dtype", "bench.family".
ir::Result<Exit> compare_layers(SessionArguments arguments);

}  // namespace pooljit::tools
