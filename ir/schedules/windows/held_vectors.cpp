#include "ir/schedules/windows/held_vectors.h"

namespace pooljit::ir {

Column StateColumns::column(const States& states) const {
  Column column;
  for (const State& state : states) {
    const State held = reducer_.held(state, as_keys_);
    column.insert(column.end(), held.begin(), held.end());
  }
  return column;
}

StateColumns::States StateColumns::states(const Column& column, size_t count) const {
  const size_t each = column.size() / count;
  States states;
  for (const Value* held = column.data(); states.size() < count; held += each)
    states.push_back(reducer_.from_held(State(held, held + each), as_keys_));
  return states;
}

Address ScratchLine::further(Address address, size_t vectors) const {
  address.offset += static_cast<int64_t>(vectors) * type_.vector_bytes();
  return address;
}

Column ScratchLine::load(const Place& place, int64_t bytes) const {
  Column column;
  const Address begin = at(first_, place, bytes);
  for (size_t i = 0; i < vectors_; ++i) column.push_back(b_.load(type_, further(begin, i)));
  return column;
}

void ScratchLine::store(const Place& place, int64_t bytes, const Column& column) const {
  const Address begin = at(first_, place, bytes);
  for (size_t i = 0; i < vectors_; ++i) b_.store(further(begin, i), column[i]);
}

}  // namespace pooljit::ir
