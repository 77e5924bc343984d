// Lowering of backward passes: which taps a window of gradients chooses, and their divisors.
#include <algorithm>

#include "ir/lane_list.h"
#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {

std::optional<View> view_beside(const PoolNest& nest) {
  if (nest.is_norm_gradient()) return operand_views(nest)[1];
  return nest.is_backward() ? nest.indices : std::nullopt;
}

std::vector<View> operands_like_output(const PoolNest& nest) {
  std::vector<View> views = operand_views(nest);
  if (nest.is_norm_gradient()) views.resize(1);
  return views;
}

// ----------------------------------------------------------------------------------------------- gaps

// Windows of a stride larger than they are: between them lie positions that no window has.
bool Lowering::leave_gaps(size_t dim) const {
  const NestDim& gather = nest_.dims[dim];
  return gather.kind == DimKind::gather && gather.stride > (gather.kernel - 1) * gather.dilation + 1 &&
         !plans_[dim].one_run && !nest_.has_any_size() && !nest_.is_norm_gradient();
}

// With the cursor at a run: does all rows of dims [0, dims) of it, if it has no windows. The code that
// follows skips them.
void Lowering::do_gap(Cursor& cursor, size_t dims, const Body& body) {
  const Value any = b_.imin(b_.iconst(1), cursor.windows.back().taps);
  b_.begin_loop(add_product(b_.iconst(1), any, -1));
  Cursor at = cursor;
  int loops = 1 + open_outputs(at);
  while (at.windows.size() < dims) {
    const size_t dim = at.windows.size();
    iterate_output(at, dim, b_.begin_loop(b_.iconst(nest_.dims[dim].output)).iv, 1);
    at.windows.push_back(usual_window(dim));
    ++loops;
  }
  body(at);
  close(loops);
  cursor.windows.back().periods = b_.imul(cursor.windows.back().periods, any);
}

// ------------------------------------------------------------------------------------------- divisors

// Where each dimension's divisors are listed, at the first tap of the window that the cursor stands at. No
// address: all are the common one. Of code for all sizes they are in usual windows, whose divisor is
// constant.
std::vector<Address> Lowering::divisor_tables(const Cursor& cursor, size_t dims) {
  std::vector<Address> tables(dims);
  for (size_t i = 0; divides() && i < dims; ++i) {
    Address table;
    if (!nest_.has_any_size() && !plans_[i].divisors.empty())
      table.base = b_.param(Param::Role::table, divisor_table(i));
    else if (counts_gathered(nest_) && nest_.has_any_size() && !b_.constant(cursor.windows[i].divisor_taps))
      table.base =
          b_.ptradd({b_.param(Param::Role::size), {}, 0}, word(layout_.of_dim(i, SizeLayout::gathered)));
    else
      continue;
    const Value bytes = b_.imul(cursor.windows[i].first, b_.iconst(table_entry));
    tables[i] = Address{b_.ptradd(table, bytes), {}, 0};
  }
  return tables;
}

int Lowering::divisor_table(size_t dim) {
  divisor_tables_.resize(plans_.size(), -1);
  int& number = divisor_tables_[dim];
  if (number < 0) number = b_.add_table(plans_[dim].divisors);
  return number;
}

Value Lowering::divisor_here(const TapAt& at, size_t dim) {
  const bool is_common = at.divisors.base == no_value;
  return b_.imul(at.divisor, is_common ? b_.iconst(plans_[dim].common_divisor) : b_.iload(at.divisors));
}

// -------------------------------------------------------------------------------------------- indices

Value Lowering::own_index(const Cursor& cursor, const Lanes& lanes) {
  Value index = lanes.origin == no_value ? cursor.index : b_.iadd(cursor.index, lanes.origin);
  for (size_t i = 0; i < cursor.windows.size(); ++i) {
    const Value position = rule_.of_window ? cursor.windows[i].first_tap : cursor.windows[i].output;
    index = b_.iadd(index, b_.imul(position, index_weight(i)));
  }
  const Type type = Type::vec(reducer_.facts().offset_dtype, lanes.count);
  const Value all = b_.splat(type, index);
  return lanes.ramp.empty() ? all : b_.binary(Op::add, all, b_.vconst(type, lanes.ramp));
}

Value Lowering::load_indices(const Address& address, int64_t stride, int lanes,
                             const std::vector<int64_t>& wanted) {
  const int chunk = lanes_of_indices(lanes);
  const Type type = Type::vec(nest_.indices->dtype, chunk);
  return joined_indices(lanes, [&](int begin) {
    const Address at = plus(address, begin * stride * bytes(type.dtype));
    const std::vector<int64_t> mask(wanted.begin() + (wanted.empty() ? 0 : begin),
                                    wanted.begin() + (wanted.empty() ? 0 : begin + chunk));
    const bool all = std::find(mask.begin(), mask.end(), 0) == mask.end();
    return load_lanes(b_, type, at, stride, all ? std::span<const int64_t>() : std::span(mask), 0);
  });
}

int Lowering::lanes_of_indices(int lanes) const {
  return std::min(lanes, info(b_.isa()).vector_bytes / bytes(nest_.indices->dtype));
}

// The low halves of all lanes of two vectors: one shuffle, where a conversion of each and what joins them
// take two to five.
Value Lowering::low_halves(DType to, Value a, Value b) {
  const int lanes = 2 * b_.type(a).lanes;
  const Type type = Type::vec(to, lanes);
  LaneList low;
  for (int64_t lane = 0; lane < lanes; ++lane) low.push_back(2 * lane);
  return b_.shuffle(b_.bitcast(type, a), b_.bitcast(type, b), low);
}

Value Lowering::joined_indices(int lanes, const std::function<Value(int begin)>& load) {
  const DType wanted = reducer_.facts().offset_dtype;
  const int chunk = lanes_of_indices(lanes);
  std::vector<Value> parts;
  for (int begin = 0; begin < lanes; begin += chunk) {
    const Value part = load(begin);
    if (begin + chunk < lanes && bytes(nest_.indices->dtype) == 2 * bytes(wanted)) {
      begin += chunk;
      parts.push_back(low_halves(wanted, part, load(begin)));
    } else {
      parts.push_back(b_.cvt(wanted, part));
    }
  }
  while (parts.size() > 1) {
    std::vector<Value> joined;
    for (size_t i = 0; i < parts.size(); i += 2) {
      joined.push_back(following_lanes(b_, parts[i], parts[i + 1], 0, 2 * b_.type(parts[i]).lanes));
    }
    parts = joined;
  }
  return parts[0];
}

TapOffset Lowering::choose(const TapOffset& tap, Value indices, Value own) {
  TapOffset chosen = tap;
  Value wanted = own;
  if (rule_.of_window && tap.constant != 0)
    wanted = b_.binary(Op::add, wanted, b_.vconst_splat(b_.type(own), tap.constant));
  if (rule_.of_window && tap.vec != no_value) wanted = b_.binary(Op::add, wanted, tap.vec);
  chosen.chosen = b_.cmp(Predicate::eq, indices, wanted);
  return chosen;
}

}  // namespace pooljit::ir
