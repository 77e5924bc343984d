// The runtime's clock under the command's name, for those who see tools/ only.
#pragma once

#include "runtime/measure.h"

namespace pooljit::tools {

using runtime::call_quantile;
using runtime::measure;
using runtime::measure_samples;
using runtime::MeasureOptions;
using runtime::Samples;
using runtime::summarize;
using runtime::Timing;

}  // namespace pooljit::tools
