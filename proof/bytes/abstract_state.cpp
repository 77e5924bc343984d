#include "proof/bytes/abstract_state.h"

#include <algorithm>

namespace pooljit::jit {
bool AbstractWord::has_base() const {
  return is_mixed || std::any_of(times.begin(), times.end(), [](int8_t factor) { return factor != 0; });
}

bool AbstractWord::has_left(int bits) const {
  return (is_left && clean_bits < bits) ||
         std::any_of(&times[base_saved], &times[base_param], [](int8_t factor) { return factor != 0; });
}

size_t AbstractWord::base() const {
  size_t found = bases;
  for (size_t i = 0; i < bases && !is_mixed; ++i) {
    if (times[i] == 0) continue;
    if (times[i] != 1 || found != bases) return bases;
    found = i;
  }
  return found;
}

AbstractWord plus(const AbstractWord& a, const AbstractWord& b, int64_t factor) {
  if (a.is_data || b.is_data) return AbstractWord::data();
  if (a.has_left(word_bits) || b.has_left(word_bits)) return AbstractWord::left();
  if (a.is_mixed || b.is_mixed) return AbstractWord::mixed();
  AbstractWord sum;
  for (size_t i = 0; i < bases; ++i) {
    const int64_t times = a.times[i] + factor * b.times[i];
    if (times < -64 || times > 64) return AbstractWord::mixed();
    sum.times[i] = static_cast<int8_t>(times);
  }
  sum.is_exact = a.is_exact && b.is_exact;
  if (sum.is_exact) sum.offset = a.offset + factor * b.offset;
  return sum;
}

AbstractWord either(const AbstractWord& a, const AbstractWord& b) {
  if (a == b) return a;
  if (a.is_data || b.is_data) {
    AbstractWord word = AbstractWord::data();
    if (a.is_data && b.is_data)
      word.clean_bits = std::min(a.clean_bits, b.clean_bits);
    else
      word.clean_bits = a.is_data ? a.clean_bits : b.clean_bits;
    return word;
  }
  if (a.has_left(word_bits) || b.has_left(word_bits)) {
    const auto clean = [](const AbstractWord& word) {
      return word.has_left(word_bits) ? word.clean_bits : AbstractState::mask_bits;
    };
    AbstractWord word = AbstractWord::left();
    word.clean_bits = std::min(clean(a), clean(b));
    return word;
  }
  if (a.is_mixed || b.is_mixed || a.times != b.times) return AbstractWord::mixed();
  AbstractWord word = a;
  word.is_exact = false;
  word.offset = 0;
  return word;
}

bool AbstractState::join(const AbstractState& other) {
  const AbstractState before = *this;
  for (size_t i = 0; i < words.size(); ++i) words[i] = either(words[i], other.words[i]);
  for (size_t i = 0; i < vectors.size(); ++i) vectors[i] |= other.vectors[i];
  for (size_t i = 0; i < masks.size(); ++i) masks[i] = std::min(masks[i], other.masks[i]);
  flags |= other.flags;
  is_fenced = is_fenced && other.is_fenced;
  // A slot that one of the two has not written is read by nobody; if it is, it is not known.
  std::erase_if(stack, [&](const auto& slot) { return !other.stack.contains(slot.first); });
  for (auto& [at, slot] : stack) {
    slot.word = either(slot.word, other.stack.at(at).word);
    slot.data_bytes |= other.stack.at(at).data_bytes;
  }
  return *this != before;
}

}  // namespace pooljit::jit
