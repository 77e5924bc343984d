// A file of rows of samples (tools/sample_row.h), a JSON object a line: locked by the process that writes it,
// read to go on where it ends, and repaired where its last line was cut off.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ir/error.h"
#include "ir/schedule.h"
#include "runtime/written_aside.h"

namespace pooljit::tools {

// Tells of each row that is no refusal. Returns how many bytes of the file are whole lines: behind them is a
// line that was cut off. Errors: "file.open", "tune.samples" (a line is no row).
ir::Result<size_t> read_rows(const std::string& path,
                             const std::function<void(nlohmann::ordered_json)>& take);

class SampleFile {
 public:
  // Makes it if it is not there. Errors: "file.create", "file.kind", "tune.locked", and those of read_rows.
  static ir::Result<SampleFile> open(const std::string& path);

  // Bytes that a process which died left of a line, and that are gone.
  size_t cut_bytes() const { return cut_bytes_; }

  // The row is on its way to the disk when this returns. Errors: "file.write".
  ir::Result<void> append(const nlohmann::ordered_json& row);

  // Of rows that were there, or were appended. about: RowMaker::about().
  std::optional<double> ratio(const nlohmann::ordered_json& about, const ir::Schedule& schedule) const;
  // As many schedules as the sweep has were measured.
  bool is_complete(const nlohmann::ordered_json& about) const;

 private:
  struct Group {
    std::map<std::string, double> ratios;  // by schedule
    size_t space = 0;
  };
  explicit SampleFile(std::string path, runtime::Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  void take(const nlohmann::ordered_json& row);
  ir::Result<void> repair(size_t whole_bytes);

  std::string path_;
  runtime::Descriptor file_;
  std::map<std::string, Group> groups_;  // by group_of
  size_t cut_bytes_ = 0;
};

}  // namespace pooljit::tools
