// The results as lines of a terminal.
#pragma once

#include "tools/bench/results.h"

namespace pooljit::tools {

void print_head();
void print_layer(const LayerResult& layer);     // a line per peer
void print_left_out(const LayerResult& layer);  // on stderr
void print_summaries(const std::vector<Summary>& summaries);

}  // namespace pooljit::tools
