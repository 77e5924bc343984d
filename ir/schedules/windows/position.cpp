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

Position Position::further(int64_t positions) const {
  Position position = *this;
  position.first += positions;
  return position;
}

Position Position::further(Value iv, int64_t positions) const {
  Position position = *this;
  position.steps.push_back({iv, positions});
  return position;
}

Value as_index(Builder& b, const Position& position) {
  Value number = b.iconst(position.first);
  for (const Position::Step& step : position.steps)
    number = b.iadd(number, b.imul(step.iv, b.iconst(step.positions)));
  return number;
}

Address at(Address address, const Position& position, int64_t bytes) {
  address = plus(std::move(address), position.first * bytes);
  for (const Position::Step& step : position.steps) address = plus(address, step.iv, step.positions * bytes);
  return address;
}

}  // namespace pooljit::ir
