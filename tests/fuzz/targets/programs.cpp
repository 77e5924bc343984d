// Bytes choose a valid Program: loads, arithmetic, masks, shuffles, conversions and loops over carried
// values. Passes keep what it means, and both back ends do what the interpreter does, bit for bit.
#include <gtest/gtest.h>

#include "tests/programs/op_cases.h"

#include "tests/all_isas.h"
#include "tests/fuzz/target.h"
#include "tools/fuzz/draw.h"

using namespace pooljit;
using namespace pooljit::test;

namespace {

// Which NaN an arithmetic op makes is open: what may hold one is not to be looked at as bits.
struct Made {
  Value value;
  bool any_nan;
};

class RandomProgram {
 public:
  RandomProgram(std::span<const uint8_t> bytes)
      : draw_(bytes), isa_(ir::all_isas[draw_.below(std::size(ir::all_isas))]), bundle_("random", isa_) {}

  Case make() {
    add_operand();
    for (int steps = 0; steps < 50 && !draw_.is_used_up(); ++steps) step();
    while (!loops_.empty()) end_loop();
    for (const Made& made : pool_)
      if (draw_.one_in(2) || &made == &pool_.back()) store(made);
    return bundle_.finish();
  }

 private:
  struct OpenLoop {
    size_t known;  // values of the pool that are seen outside of it
    std::vector<Made> carried;
  };

  Builder& b() { return bundle_.builder(); }
  const Type& type(const Made& made) { return b().type(made.value); }
  bool is_number(const Made& made) { return !ir::is_half(type(made).dtype); }

  Type any_type() {
    const ir::DTypeInfo& row = ir::dtype_table[draw_.below(std::size(ir::dtype_table))];
    const std::vector<int> counts = lane_counts(isa_, row.dtype);
    return Type::vec(row.dtype, counts[counts.size() - 1 - draw_.below(counts.size())]);
  }

  const Made& any() { return pool_[draw_.below(pool_.size())]; }
  // A value of the same type: the last one that there is, from a place on.
  const Made& like(const Made& one) {
    const size_t from = draw_.below(pool_.size());
    for (size_t i = 0; i < pool_.size(); ++i) {
      const Made& other = pool_[(from + i) % pool_.size()];
      if (type(other) == type(one)) return other;
    }
    return one;
  }

  void add(Value value, bool any_nan) {
    pool_.push_back({value, any_nan && ir::is_float(b().type(value).dtype)});
  }
  void store(const Made& made) {
    if (++stored_ < 100) bundle_.result("value " + std::to_string(stored_), made.value, made.any_nan);
  }

  void add_operand() {
    if (++operands_ < 60) add(bundle_.operand(any_type()), false);
  }

  void binary() {
    const Made x = any(), y = like(x);
    if (!is_number(x)) return;
    constexpr Op ops[] = {Op::add,  Op::sub, Op::mul,       Op::div,  Op::min, Op::max,
                          Op::and_, Op::or_, Op::propagate, Op::mulh, Op::mull};
    const Op op = ops[draw_.below(std::size(ops))];
    const bool is_float = ir::is_float(type(x).dtype), is_bits = op == Op::and_ || op == Op::or_;
    const bool computes = !is_bits && op != Op::min && op != Op::max && op != Op::propagate;
    const bool is_of_floats = op == Op::div || op == Op::propagate;
    if (op == Op::mull && type(x).dtype != ir::DType::u64) return;
    if (op == Op::mulh && (is_float || ir::info(type(x).dtype).bits != 16)) return;
    if ((is_of_floats && !is_float) || (is_bits && (x.any_nan || y.any_nan))) return;
    add(b().binary(op, x.value, y.value), computes || x.any_nan || y.any_nan);
  }

  void unary() {
    const Made x = any();
    if (!is_number(x)) return;
    if (ir::is_float(type(x).dtype)) {
      if (draw_.one_in(2)) return add(b().sqrt(x.value), true);
      return add(b().fma(x.value, like(x).value, like(x).value), true);
    }
    const auto bits = draw_.below(static_cast<uint64_t>(ir::info(type(x).dtype).bits));
    add(b().shift(draw_.one_in(2) ? Op::shl : Op::shr, x.value, static_cast<int64_t>(bits)), false);
  }

  void choose() {
    const Made x = any(), y = like(x), p = any(), q = like(p);
    if (!is_number(p) || type(p).lanes != type(x).lanes ||
        ir::bytes(type(p).dtype) != ir::bytes(type(x).dtype))
      return;
    Value mask = b().cmp(static_cast<ir::Predicate>(draw_.below(7)), p.value, q.value);
    if (draw_.one_in(3))
      mask = b().binary(draw_.one_in(2) ? Op::and_ : Op::or_, mask, constant_mask(type(x)));
    add(b().select(mask, x.value, y.value), x.any_nan || y.any_nan);
  }

  Value constant_mask(const Type& type) {
    std::vector<int64_t> lanes;
    for (int i = 0; i < type.lanes; ++i) lanes.push_back(static_cast<int64_t>(draw_.below(2)));
    return b().vmask(type.mask_of(), lanes);
  }

  void masked_access() {
    const Made x = any();
    const Type vec = type(x);
    const Value mask = constant_mask(vec);
    if (draw_.one_in(2) && ++operands_ < 60)
      return add(b().load(vec, bundle_.raw_operand(vec), mask, x.value), x.any_nan);
    if (++stored_ < 100)
      b().store(bundle_.result_place("masked " + std::to_string(stored_), vec, x.any_nan), x.value, mask);
  }

  void shuffle() {
    const Made x = any(), y = like(x);
    const bool is_one = draw_.one_in(2);
    const std::vector<int> counts = lane_counts(isa_, type(x).dtype);
    const int count = counts[draw_.below(counts.size())];
    const auto all = static_cast<uint64_t>(type(x).lanes) * (is_one ? 1 : 2);
    std::vector<int64_t> lanes;
    const uint64_t first = draw_.below(all), stride = draw_.below(4);
    const bool is_regular = !draw_.one_in(3);
    for (int i = 0; i < count; ++i)
      lanes.push_back(static_cast<int64_t>(is_regular ? (first + stride * static_cast<uint64_t>(i)) % all
                                                      : draw_.below(all)));
    add(b().shuffle(x.value, is_one ? ir::no_value : y.value, lanes), x.any_nan || (!is_one && y.any_nan));
  }

  void convert() {
    const Made x = any();
    const DType from = type(x).dtype, to = ir::dtype_table[draw_.below(std::size(ir::dtype_table))].dtype;
    const bool fits = type(x).lanes * ir::bytes(to) <= ir::info(isa_).vector_bytes;
    // A float that no integer holds would be an error; which NaN becomes a half would show.
    if (!fits || !may_convert(from, to) || (ir::is_float(from) && !ir::is_float(to)) ||
        (ir::is_half(to) && x.any_nan))
      return;
    const bool narrows = !ir::is_float(from) && !ir::is_float(to) && ir::bytes(to) < ir::bytes(from);
    const bool is_exact = ir::is_half(from) || ir::is_half(to);
    add(b().cvt(to, x.value, narrows && draw_.one_in(2)), !is_exact);
  }

  void bitcast() {
    const Made x = any();
    const DType to = ir::dtype_table[draw_.below(std::size(ir::dtype_table))].dtype;
    const int lanes = type(x).vector_bytes() / ir::bytes(to);
    if (!x.any_nan && lanes > 0) add(b().bitcast(Type::vec(to, lanes), x.value), false);
  }

  void constant() {
    const Type vec = any_type();
    std::vector<int64_t> bits;
    for (int i = 0; i < vec.lanes; ++i)
      bits.push_back(
          ir::lane_bits(vec.dtype, static_cast<int64_t>(draw_.below(1 << 16) << 48 | draw_.below(1 << 16))));
    add(draw_.one_in(2) ? b().vconst(vec, bits) : b().vconst_splat(vec, bits[0]), false);
  }

  void begin_loop() {
    if (loops_.size() == 3) return;
    OpenLoop loop = {pool_.size(), {}};
    ir::Values init;
    for (uint64_t count = 1 + draw_.below(3); count > 0; --count) {
      loop.carried.push_back(any());
      init.push_back(loop.carried.back().value);
    }
    const Builder::Loop opened = b().begin_loop(b().iconst(draw_.between(0, 3)), init);
    // What an iteration hands on may hold any NaN.
    for (const Value value : opened.carried) add(value, true);
    loops_.push_back(std::move(loop));
  }

  void end_loop() {
    const OpenLoop loop = std::move(loops_.back());
    loops_.pop_back();
    ir::Values next;
    for (const Made& made : loop.carried) next.push_back(like(made).value);
    const ir::Values finals = b().end_loop(next);
    pool_.resize(loop.known);
    for (const Value value : finals) add(value, true);
  }

  void step() {
    switch (draw_.below(12)) {
      case 0:
        return add_operand();
      case 1:
        return unary();
      case 2:
        return choose();
      case 3:
        return shuffle();
      case 4:
        return convert();
      case 5:
        return bitcast();
      case 6:
        return constant();
      case 7:
        return masked_access();
      case 8:
        return begin_loop();
      case 9:
        return loops_.empty() ? store(any()) : end_loop();
      default:
        return binary();
    }
  }

  fuzz::Draw draw_;
  Isa isa_;
  Bundle bundle_;
  std::vector<Made> pool_;
  std::vector<OpenLoop> loops_;
  int operands_ = 0, stored_ = 0;
};

// What a back end may say of a Program that nobody's schedule made.
bool may_refuse(const std::string& id) { return id == "legal.mask" || id == "schedule.registers"; }

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Case one = RandomProgram(std::span(data, size)).make();
  const std::string text = print(one.program);
  const std::vector<Run> runs = run_everywhere(one);
  fuzz::demand(runs[0].result.has_value(), runs[0].result ? "" : to_string(runs[0].result.error()), text);
  for (const Run& run : runs) {
    if (!run.result && may_refuse(run.result.error().id)) continue;
    fuzz::demand(run.result.has_value(), run.result ? "" : run.engine + ": " + to_string(run.result.error()),
                 text);
    const std::string wrong = difference(one, *runs[0].result, *run.result);
    fuzz::demand(wrong.empty(), run.engine + ": " + wrong, text);
  }
  return 0;
}
