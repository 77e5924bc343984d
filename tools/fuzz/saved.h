// A finding as a folder, for people who do not have pooljit at hand, and for the next campaign:
//
//   finding.json     all that `pooljit fuzz --json` says of it
//   spec.txt         the layer, for `pooljit check --file`
//   model.onnx       the layer as a node, where ONNX has words for it
//   inputs.npz       x, and operand0 ... of an epilogue, indices of a backward pooling; in logical order: N,
//   C,
//                    spatial
//   expected.npz     y, and indices: what the oracle makes of it
//   repro.py         the same for PyTorch: runs its layer and compares
#pragma once

#include <string>
#include <vector>

#include "tools/fuzz/campaign.h"

namespace pooljit::fuzz {

// Writes DIR/KIND-HASH, of the kind of failure and the smallest case; all files or none. What is there
// already stays. Returns the folder. `said` is for finding.json. Errors: "file.create", "file.write",
// "file.rename", those of the spec.
ir::Result<std::string> save_finding(const std::string& folder, const Finding& finding,
                                     const std::string& said);

struct SavedCase {
  std::string path;  // of its folder
  FuzzCase one;
  std::string label;  // what it differed as
};
// Of every finding.json in the folder or below, in the order of their paths. Errors: "fuzz.saved" (there is
// none, or one is not readable).
ir::Result<std::vector<SavedCase>> read_saved(const std::string& folder);

}  // namespace pooljit::fuzz
