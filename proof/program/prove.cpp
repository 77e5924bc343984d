#include "proof/program/prove.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_set>

#include "ir/element_type.h"
#include "ir/window_taps.h"
#include "proof/program/linear.h"
#include "proof/program/products.h"
#include "proof/program/provenance.h"
#include "proof/program/stored_value.h"
#include "proof/program/symbolic_run.h"

namespace pooljit::ir {
namespace {

Unreadable wrong(std::string why) { return {std::move(why), false, true}; }

class Prover {
 public:
  Prover(const PoolNest& nest, int64_t batch, const StoredTerms& stored, TermGraph& graph, Isa isa,
         bool is_legal)
      : nest_(nest), batch_(batch), stored_(stored), graph_(graph), written_(isa, is_legal, graph) {}

  // Of these planes, or of all. Throws Unreadable.
  ProgramProof run(std::span<const PlaneIndex> planes) {
    WindowTaps taps(nest_);
    for_each_position(nest_.dims,
                      [&](const std::vector<int64_t>& position, const std::vector<Window>& windows) {
                        taps.move_to(windows);
                        for (const auto& [n, c] : planes) check({n, c, position, windows, taps});
                        for (int64_t n = 0; planes.empty() && n < batch_; ++n)
                          for (int64_t c = 0; c < nest_.channels; ++c) check({n, c, position, windows, taps});
                      });
    return {outputs_, graph_.size()};
  }

 private:
  struct OutputElement {
    int64_t n, c;
    const std::vector<int64_t>& position;
    const std::vector<Window>& windows;
    const WindowTaps& taps;
  };

  TermId stored(const Terms::Stored& all, const View& view, const OutputElement& place) {
    const int64_t element = plane_offset(view, place.n, place.c) + position_offset(view, place.position);
    const auto at = all.find(element * bytes(view.dtype));
    if (at == all.end()) throw wrong("nothing was stored");
    if (at->second == no_term) throw Unreadable{"it takes in elements of another plane", true};
    ++outputs_;
    return at->second;
  }

  void check(const OutputElement& place) {
    const auto where = [&](std::string_view what, const Unreadable& error) {
      return Unreadable{fmt::format("{} at n={} c={} [{}]: {}", what, place.n, place.c,
                                    fmt::join(place.position, ","), error.why),
                        error.is_unsupported, error.is_wrong};
    };
    try {
      const TermId value = stored(stored_.output, nest_.output, place);
      const TermId result = stored_value_.result(value, place.n, place.c, place.position, nothing());
      if (result == no_term) {
        if (!window(place).empty()) throw wrong("a constant is stored");
      } else {
        check_result(result, place);
      }
    } catch (const Unreadable& error) {
      throw where("output", error);
    }
    if (!nest_.indices) return;
    try {
      check_winner(stored(stored_.indices, *nest_.indices, place), place);
    } catch (const Unreadable& error) {
      throw where("index", error);
    }
  }

  void check_result(TermId id, const OutputElement& place) {
    switch (info(nest_.reduction).kind) {
      case ReductionKind::extreme:
        return check_joined(id, place);
      case ReductionKind::sum:
        return check_form(id, place);
      case ReductionKind::product:
        return check_product(id, place);
      case ReductionKind::norm:
        throw Unreadable{"a norm has no reading", true};
    }
  }

  // Offsets in bytes of the window's elements, row-major. Where a view repeats an element, so does this.
  std::vector<int64_t> window(const OutputElement& place) const {
    std::vector<int64_t> elements;
    const int64_t base = plane_offset(nest_.input, place.n, place.c) + place.taps.first.offset;
    for (const Tap& tap : place.taps.from_first)
      elements.push_back((base + tap.offset) * bytes(nest_.input.dtype));
    return elements;
  }

  // Each once: where it comes first, or sorted.
  static std::vector<int64_t> distinct(const std::vector<int64_t>& elements, bool in_order) {
    std::vector<int64_t> result;
    std::unordered_set<int64_t> seen;
    for (int64_t element : elements)
      if (seen.insert(element).second) result.push_back(element);
    if (!in_order) std::sort(result.begin(), result.end());
    return result;
  }

  static void expect_elements(const std::vector<int64_t>& all_found, const std::vector<int64_t>& all_wanted,
                              bool in_order) {
    const auto found = distinct(all_found, in_order), wanted = distinct(all_wanted, in_order);
    if (found != wanted)
      throw wrong(fmt::format("it is made of the elements at bytes [{}], its window has [{}]",
                              fmt::join(found, ","), fmt::join(wanted, ",")));
  }

  // Integers that are divided in integers, and bfloat16 rounded in integers, have no reading.
  bool may_be_open() const { return !is_float(nest_.input.dtype) || is_half(nest_.result_dtype()); }

  // The result of an empty window.
  double nothing() const {
    if (nest_.quantization) return static_cast<double>(nest_.quantization->output_zero_point);
    if (info(nest_.reduction).start == Start::one) return 1;
    if (!nest_.is_extreme())
      return !nest_.is_backward() && nest_.divisor_override.value_or(1) < 0 ? -0.0 : 0.0;
    const auto bits = static_cast<uint64_t>(identity_bits(nest_.input.dtype, nest_.is_maximum()));
    return with_element_type(nest_.input.dtype, [&]<typename T>(T element) {
      std::memcpy(&element, &bits, sizeof element);
      return static_cast<double>(element);
    });
  }

  // What elements are compared as: their own type, or one that holds all of its numbers.
  TermId before_conversion(TermId id) {
    const DType input = nest_.input.dtype;
    for (const DType from : {input, is_half(input) ? DType::f32 : bytes(input) < 4 ? DType::i32 : input})
      if (const TermId found = stored_value_.converted_from(id, from, nest_.result_dtype()); found != no_term)
        if (provenance().value(found).dtype == from) return found;
    throw Unreadable{"a conversion on store that has no reading", true};
  }

  bool is_float_nest() const { return is_float(nest_.input.dtype); }

  void expect_nans(Nans nans) const {
    if (!is_float_nest() || nans == (nest_.nan == NanRule::propagate ? Nans::win : Nans::never)) return;
    // One element or none may stay what it is, where NaNs propagate.
    if (nans == Nans::kept && nest_.nan == NanRule::propagate) return;
    throw wrong("NaNs are not treated as the nest says");
  }

  void check_joined(TermId id, const OutputElement& place) {
    const Joined& joined = provenance().value(before_conversion(id));
    // Equal integers have equal bits.
    const bool in_order = is_float_nest() && (nest_.indices || nest_.zeros == ZeroRule::first);
    const std::vector<int64_t> wanted = window(place);
    if (joined.key != KeyForm::none) throw Unreadable{"a key is stored"};
    if (in_order && joined.was_key && joined.elements.size() > 1)
      throw Unreadable{"keys do not say which of equal elements comes first"};
    expect_elements(joined.elements.copy(), wanted, in_order);
    if (!wanted.empty()) expect_nans(joined.nans);
  }

  void check_winner(TermId id, const OutputElement& place) {
    const Winner& winner = provenance().winner(id);
    const std::vector<int64_t> elements = window(place);
    const int64_t first = place.taps.first.index + place.n * rule_.batch + place.c * rule_.channel;
    // -1 as the index's dtype stores it: 255 in uint8.
    const int64_t nothing = nest_.indices->dtype == DType::u8 ? 255 : -1;
    const int64_t none = elements.empty() ? nothing : first;
    std::vector<int64_t> found;
    for (const Winner::Row& row : winner.rows) {
      if (row.element == -1) {
        if (&row != &winner.rows.front() || row.index != none)
          throw Unreadable{fmt::format("it is {} where no tap is larger than the lowest value", row.index)};
        continue;
      }
      found.push_back(row.element);
    }
    // A window of one tap needs no comparison, so its index is a constant.
    if (!(found.empty() && elements.size() == 1)) expect_elements(found, elements, true);
    if (found.size() > 1) expect_nans(winner.nans);
    size_t tap = 0;
    for (const Winner::Row& row : winner.rows) {
      if (row.element == -1) continue;
      const int64_t wanted = first + place.taps.from_first[tap++].index;
      if (row.index != wanted)
        throw wrong(fmt::format("tap {} is numbered {}, not {}", tap - 1, row.index, wanted));
    }
  }

  // Of scales; 1 where nothing is quantized.
  Rational ratio() const {
    const Quantization q = nest_.quantization.value_or(Quantization{});
    return Rational::meant(DType::f64, q.scale / q.output_scale);
  }
  // What zero points add to the sum of the stored integers.
  Rational added(const OutputElement& place) const {
    const Quantization q = nest_.quantization.value_or(Quantization{});
    const auto taps = static_cast<int64_t>(window(place).size());
    if (taps == 0 || !nest_.quantization) return {q.output_zero_point, 1};
    const Rational zeros =
        ratio() * Rational{q.zero_point * taps, 1} / Rational{divisor(nest_, place.windows), 1};
    return Rational{q.output_zero_point, 1} - zeros;
  }

  // By offset in bytes, what each element of the window weighs. Where a view repeats an element, these add
  // up. Backward each element is divided by its own window's divisor.
  std::map<int64_t, Rational> weights(const OutputElement& place) const {
    std::map<int64_t, Rational> result;
    std::vector<Window> windows = place.windows;
    for_each_tap(place.windows, [&](const std::vector<int64_t>& at) {
      for (size_t d = 0; nest_.is_backward() && d < at.size(); ++d)
        windows[d] = forward_.dims[d].window(at[d]);
      const int64_t count = divisor(forward_, windows);
      const int64_t element = plane_offset(nest_.input, place.n, place.c) + position_offset(nest_.input, at);
      Rational& weight = result[element * bytes(nest_.input.dtype)];
      weight = weight + ratio() / Rational{count, 1};
    });
    return result;
  }

  // Every position of a window.
  template <typename Visit>
  static void for_each_tap(const std::vector<Window>& windows, const Visit& visit) {
    std::vector<int64_t> taps(windows.size(), 0), at;
    for (const Window& window : windows) {
      if (window.taps == 0) return;
      at.push_back(window.first);
    }
    for (;;) {
      visit(at);
      size_t d = taps.size();
      for (; d > 0 && ++taps[d - 1] == windows[d - 1].taps; --d)
        taps[d - 1] = 0, at[d - 1] = windows[d - 1].first;
      if (d == 0) return;
      at[d - 1] += windows[d - 1].step;
    }
  }

  // Averages of integers that are rounded by what is read here; odd divisors make no ties.
  bool may_tie(const OutputElement& place) const {
    const bool is_rounded = nest_.divides() && !is_float(nest_.input.dtype) &&
                            !is_float(nest_.output.dtype) && nest_.epilogue.empty();
    return is_rounded && (nest_.quantization || divisor(nest_, place.windows) % 2 == 0);
  }

  void check_form(TermId id, const OutputElement& place) {
    if (!linear_) linear_.emplace(graph_, written_, nest_.input.dtype, nest_.result_dtype(), may_be_open());
    const LinearForm& form = linear_->read(id);
    const std::map<int64_t, Rational> wanted = weights(place);
    for (const auto& [element, weight, part] : form.weights) {
      if (part != LinearForm::Part::whole)
        throw Unreadable{fmt::format("a digit of the element at byte {} weighs by itself", element)};
      const auto right = wanted.find(element);
      const Rational should = right == wanted.end() ? Rational{} : right->second;
      if (weight != should)
        throw wrong(fmt::format("the element at byte {} weighs {}/{}, not {}/{}", element, weight.numerator,
                                weight.denominator, should.numerator, should.denominator));
    }
    if (form.weights.size() != wanted.size())
      throw wrong(
          fmt::format("it is made of {} elements, its window has {}", form.weights.size(), wanted.size()));
    if (form.constant != added(place)) throw wrong("another constant is added");
    if (may_tie(place) && form.ties && form.ties != nest_.rounding)
      throw wrong("ties are not rounded as the nest says");
  }

  void check_product(TermId id, const OutputElement& place) {
    const DType result = nest_.result_dtype(), input = nest_.input.dtype;
    const DType own = !is_float(input)      ? (is_float(result) ? DType::i64 : result)
                      : input == DType::f64 ? DType::f64
                                            : DType::f32;
    const bool keeps_bits = !is_float(own) && !is_float(result);
    const TermId product = keeps_bits ? id : stored_value_.converted_from(id, own, result);
    if (product == no_term) throw Unreadable{"a conversion on store that has no reading", true};
    if (!products_) products_.emplace(graph_, written_, may_be_open());
    const Factors& factors = products_->read(product);
    std::vector<int64_t> wanted = window(place);
    std::ranges::sort(wanted);
    if (factors.elements != wanted)
      throw wrong(fmt::format("it is the product of the elements at bytes [{}], its window has [{}]",
                              fmt::join(factors.elements, ","), fmt::join(wanted, ",")));
    if (!is_float(own) && factors.bits < product_bits(nest_))
      throw wrong(fmt::format("of the product it has {} bits", factors.bits));
  }

  Provenance& provenance() {
    if (!provenance_) provenance_.emplace(graph_, nest_.is_maximum(), nest_.input.dtype);
    return *provenance_;
  }

  const PoolNest& nest_;
  const PoolNest forward_ = nest_.is_backward() ? forward_of(nest_) : nest_;
  const IndexRule rule_ = index_rule(nest_);
  int64_t batch_;
  const StoredTerms& stored_;
  TermGraph& graph_;
  WrittenOut written_;
  const StoredValue stored_value_{graph_, written_, nest_};
  std::optional<Provenance> provenance_;
  std::optional<Linear> linear_;
  std::optional<Products> products_;
  int64_t outputs_ = 0;
};

}  // namespace

Result<void> has_reading(const PoolNest& nest) {
  const bool is_shared = nest.is_backward() && nest.is_sum();
  if (!is_shared && (nest.direction != Direction::forward || nest.is_norm()))
    return unsupported("prove.unsupported", "this reduction has no reading");
  for (size_t d = 0; d < nest.dims.size(); ++d)
    if (nest.indices && nest.input.strides[d] == 0)
      return unsupported("prove.unsupported", "equal elements of one window cannot be told apart by index");
  return {};
}

Result<ProgramProof> prove_stored(const StoredTerms& stored, TermGraph& graph, const PoolNest& nest,
                                  int64_t batch, Isa isa, bool is_legal, std::span<const PlaneIndex> planes) {
  if (const auto has = has_reading(nest); !has) return tl::unexpected(has.error());
  try {
    return Prover(nest, batch, stored, graph, isa, is_legal).run(planes);
  } catch (const Unreadable& error) {
    if (error.is_unsupported) return unsupported("prove.unsupported", error.why);
    return invalid(error.is_wrong ? "prove.wrong" : "prove.program", error.why);
  }
}

Result<ProgramProof> prove(const Program& program, const PoolNest& nest, int64_t batch, SizeWords sizes) {
  if (const auto has = has_reading(nest); !has) return tl::unexpected(has.error());
  TermGraph graph;
  Terms terms(program, graph);
  try {
    if (auto done = run_symbolically(program, nest, batch, terms, sizes); !done)
      return tl::unexpected(done.error());
  } catch (const Unreadable& error) {
    if (error.is_unsupported) return unsupported("prove.unsupported", error.why);
    return invalid("prove.program", error.why);
  }
  return prove_stored({terms.stored(Param::Role::output), terms.stored(Param::Role::indices)}, graph, nest,
                      batch, program.isa, program.stage == Stage::legal);
}

Result<bool> store_the_same(const Program& a, const Program& b, const PoolNest& nest, int64_t batch) {
  TermGraph graph;
  Terms of_a(a, graph), of_b(b, graph);
  try {
    if (auto done = run_symbolically(a, nest, batch, of_a); !done) return tl::unexpected(done.error());
    if (auto done = run_symbolically(b, nest, batch, of_b); !done) return tl::unexpected(done.error());
  } catch (const Unreadable& error) {
    return unsupported("prove.unsupported", error.why);
  }
  return of_a.stored(Param::Role::output) == of_b.stored(Param::Role::output) &&
         of_a.stored(Param::Role::indices) == of_b.stored(Param::Role::indices);
}

}  // namespace pooljit::ir
