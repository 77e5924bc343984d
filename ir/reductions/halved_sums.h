// Sums and averages of 8-bit integers and bfloat16 in sums of twice the width: by their even and odd lanes
// (ir/reductions/halves.h) for lanes that stay where they are, or are all joined in the end.
#pragma once

#include "ir/reductions/reducer.h"

namespace pooljit::ir {

// Whether the nest's sums may be made so: the result has the input's dtype, and sums of integers fit 16 bits.
bool can_halve_sums(const PoolNest& nest);

// ordinary: the nest's reducer, which ends each sum. Vectors of few lanes are not halved.
ReductionFacts halved_sums_facts(const PoolNest& nest, const ReductionFacts& ordinary);
std::unique_ptr<Reducer> make_halved_sums(const PoolNest& nest, Builder& builder, const ReductionFacts& facts,
                                          std::unique_ptr<Reducer> ordinary);

// The same for lanes that move: each lane is widened by itself. Averages of integers by divisors by which 16
// bits divide (ir/reductions/short_average.h): others would be divided in 32 bits, half of the lanes at a
// time. Not where taps are shuffled to their lanes for more than that spares: long windows that move by
// several columns, and with AVX2, which moves four bytes across a vector by one instruction and two by
// several, short rows of them unless one product divides them all.
bool can_widen_sums(const PoolNest& nest, Isa isa);
ReductionFacts widened_sums_facts(const PoolNest& nest, const ReductionFacts& ordinary);
std::unique_ptr<Reducer> make_widened_sums(const PoolNest& nest, Builder& builder,
                                           const ReductionFacts& facts, std::unique_ptr<Reducer> ordinary);

// The same for lanes that are joined: neighbours are added first, so that a sum is one vector of half as many
// lanes.
ReductionFacts paired_sums_facts(const PoolNest& nest, const ReductionFacts& ordinary);
std::unique_ptr<Reducer> make_paired_sums(const PoolNest& nest, Builder& builder, const ReductionFacts& facts,
                                          std::unique_ptr<Reducer> ordinary);

}  // namespace pooljit::ir
