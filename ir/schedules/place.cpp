#include "ir/schedules/place.h"

#include "ir/schedules/lowering.h"

namespace pooljit::ir {

Place Place::further(int64_t positions) const {
  Place place = *this;
  place.first += positions;
  return place;
}

Place Place::further(Value iv, int64_t positions) const {
  Place place = *this;
  place.steps.push_back({iv, positions});
  return place;
}

Address at(Address address, const Place& place, int64_t bytes) {
  address = plus(std::move(address), place.first * bytes);
  for (const Place::Step& step : place.steps) address = plus(address, step.iv, step.positions * bytes);
  return address;
}

Divisors::Divisors(const PoolNest& nest, const NestDim& dim, Interior asked, Builder& builder)
    : nest_(nest), dim_(dim), b_(builder) {
  bool differ = false, found = false;
  for (const Run& run : runs(dim)) {
    if (run.end <= asked.begin || run.begin >= asked.end) continue;
    const int64_t divisor = divisor_taps(nest, run.window);
    if (!found) common_ = divisor;
    differ = differ || divisor != common_;
    found = true;
  }
  if (!differ) return;
  std::vector<int64_t> divisors;
  for (int64_t output = 0; output < dim.output; ++output)
    divisors.push_back(divisor_taps(nest, dim.window(output)));
  table_ = b_.add_table(std::move(divisors));
}

Value Divisors::operator()(const Place& output) const {
  if (output.steps.empty()) return b_.iconst(divisor_taps(nest_, dim_.window(output.first)));
  if (table_ < 0) return b_.iconst(common_);
  return b_.iload(at({b_.param(Param::Role::table, table_), {}, 0}, output, int64_t{sizeof(int64_t)}));
}

}  // namespace pooljit::ir
