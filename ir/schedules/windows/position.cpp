#include "ir/schedules/windows/position.h"

namespace pooljit::ir {

Address plus(Address address, int64_t bytes) {
  address.offset += bytes;
  return address;
}

Address plus(Address address, Value iv, int64_t bytes) {
  if (bytes != 0) address.terms.push_back({iv, bytes});
  return address;
}

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

}  // namespace pooljit::ir
