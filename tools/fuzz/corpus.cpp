#include "tools/fuzz/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tools/output_files.h"

namespace pooljit::fuzz {
namespace {

namespace fs = std::filesystem;

tl::unexpected<ir::Error> unreadable(const std::string& path, int line) {
  return ir::invalid("fuzz.corpus",
                     fmt::format("{}:{} is not what `pooljit fuzz --corpus` writes", path, line),
                     "name another folder, or remove that file");
}

}  // namespace

ir::Result<Corpus> Corpus::open(const std::string& folder) {
  Corpus corpus;
  corpus.folder_ = folder;
  const std::string state = folder + "/campaign.json", cases = folder + "/cases.jsonl";
  if (std::ifstream file(state); file) try {
      const auto json = nlohmann::json::parse(file);
      corpus.seed_ = json.at("seed").get<uint64_t>();
      corpus.next_ = json.at("next").get<int64_t>();
      corpus.covered_ = json.at("covered").get<Coverage>();
    } catch (const nlohmann::json::exception&) {
      return unreadable(state, 1);
    }
  std::ifstream file(cases);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) try {
      corpus.cases_.push_back(nlohmann::json::parse(line).get<FuzzCase>());
    } catch (const nlohmann::json::exception&) {
      return unreadable(cases, number);
    }
  return corpus;
}

void Corpus::continue_in(CampaignOptions& options) {
  options.count_axes = true;
  options.again = cases_;
  options.covered = covered_;
  if (seed_ == options.seed) options.first = next_;
}

ir::Result<void> Corpus::keep(const CampaignOptions& options, const CampaignReport& report) const {
  std::vector<FuzzCase> all = cases_;
  all.insert(all.end(), report.kept.begin(), report.kept.end());
  for (const Finding& finding : report.failures) all.push_back(finding.smallest);
  std::string cases;
  for (size_t i = 0; i < all.size(); ++i)
    if (std::find(all.begin(), all.begin() + std::ptrdiff_t(i), all[i]) == all.begin() + std::ptrdiff_t(i))
      cases += nlohmann::json(all[i]).dump() + "\n";
  const nlohmann::ordered_json state = {
      {"seed", options.seed}, {"next", report.next}, {"covered", nlohmann::json(report.coverage)}};
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    return ir::system_error("file.create", fmt::format("cannot make {}: {}", folder_, error.message()));
  tools::OutputFiles files;
  for (const auto& [name, content] :
       {std::pair("/cases.jsonl", cases), std::pair("/campaign.json", state.dump() + "\n")}) {
    const auto number = files.add(folder_ + name);
    if (!number) return tl::unexpected(number.error());
    if (auto done = files.write(*number, std::as_bytes(std::span(content))); !done) return done;
  }
  return files.commit();
}

}  // namespace pooljit::fuzz
