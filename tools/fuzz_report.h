// Report of a campaign of `pooljit fuzz`, for people and as JSON lines.
#pragma once

#include <string>

#include "tools/fuzz/campaign.h"

namespace pooljit::tools {

// against: the other library, or empty. saved: the folder that keeps it, or empty.
std::string finding_text(const fuzz::Finding& finding, const std::string& against,
                         const std::string& saved = {});
nlohmann::ordered_json finding_json(const fuzz::Finding& finding, const std::string& against,
                                    const std::string& saved = {});

std::string summary_text(const fuzz::CampaignReport& report, const fuzz::CampaignOptions& options,
                         const std::string& against);
nlohmann::ordered_json summary_json(const fuzz::CampaignReport& report, const fuzz::CampaignOptions& options,
                                    const std::string& against);

// What a difference is called, in words: the divergences' meanings, or the failure's.
std::string meaning_of(const fuzz::Outcome& outcome);

}  // namespace pooljit::tools
