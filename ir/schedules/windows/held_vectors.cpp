#include "ir/schedules/windows/held_vectors.h"

namespace pooljit::ir {

Bundle HeldStates::bundle(const States& states) const {
  Bundle bundle;
  for (const State& state : states) {
    const State held = reducer_.held(state, as_keys_);
    bundle.insert(bundle.end(), held.begin(), held.end());
  }
  return bundle;
}

HeldStates::States HeldStates::states(const Bundle& bundle, size_t count) const {
  const size_t each = bundle.size() / count;
  States states;
  for (const Value* held = bundle.data(); states.size() < count; held += each)
    states.push_back(reducer_.from_held(State(held, held + each), as_keys_));
  return states;
}

Address ScratchLine::further(Address address, size_t vectors) const {
  address.offset += static_cast<int64_t>(vectors) * type_.vector_bytes();
  return address;
}

Bundle ScratchLine::load(const Position& position, int64_t bytes) const {
  Bundle bundle;
  const Address begin = at(first_, position, bytes);
  for (size_t i = 0; i < vectors_; ++i) bundle.push_back(b_.load(type_, further(begin, i)));
  return bundle;
}

void ScratchLine::store(const Position& position, int64_t bytes, const Bundle& bundle) const {
  const Address begin = at(first_, position, bytes);
  for (size_t i = 0; i < vectors_; ++i) b_.store(further(begin, i), bundle[i]);
}

}  // namespace pooljit::ir
