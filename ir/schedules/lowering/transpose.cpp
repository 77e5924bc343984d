#include "ir/schedules/lowering/transpose.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "ir/schedules/lanes/lane_gather.h"
#include "ir/schedules/windows/position.h"

namespace pooljit::ir {
namespace {

constexpr int64_t part_bytes = 16;  // of a vector; unpacking moves elements inside such a part

int64_t floor_power(int64_t count) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count)));
}

// Of a tile: those of a part, but that 16 registers do not hold as many rows of bytes.
int64_t columns_of_tile(Isa isa, int64_t element_bytes) {
  const int64_t columns = part_bytes / element_bytes;
  return info(isa).vector_registers > part_bytes ? columns : std::min(columns, part_bytes / 2);
}

// Elements of two vectors in turns, `unit` of them at a time. Of vectors of several parts, or of whole ones,
// each part gives its lower half, or its upper one.
enum class Half : uint8_t { lower, upper, both };

Value unpack(Builder& b, Value first, Value second, int64_t unit, Half half) {
  const Type type = b.type(first);
  const int64_t part = std::min<int64_t>(type.lanes, part_bytes / bytes(type.dtype));
  const int64_t begin = half == Half::upper ? part / 2 : 0, end = half == Half::lower ? part / 2 : part;
  LaneList lanes;
  for (int64_t from = 0; from < type.lanes; from += part)
    for (int64_t at = begin; at < end; at += unit)
      for (const int64_t operand : {int64_t{0}, int64_t{type.lanes}})
        for (int64_t i = 0; i < unit; ++i) lanes.push_back(operand + from + at + i);
  return b.shuffle(first, second, lanes);
}

// One tile: so many rows of so many columns, both powers of two.
class TransposedTile {
 public:
  using Load = std::function<Value(int64_t row)>;                     // the row's columns
  using Store = std::function<void(int64_t column, Value elements)>;  // the column's rows

  TransposedTile(Builder& builder, int64_t rows, int64_t columns, int64_t element_bytes)
      : b_(builder), rows_(rows), columns_(columns), in_part_(part_bytes / element_bytes) {}

  void emit(const Load& load, const Store& store) {
    const int64_t parts = std::max<int64_t>(1, rows_ / in_part_), rows_of_part = rows_ / parts;
    const int64_t merged = std::min(rows_of_part, std::max<int64_t>(1, in_part_ / columns_));
    std::vector<Value> vectors;
    for (int64_t i = 0; i < rows_of_part; i += merged)
      vectors.push_back(join_parts(load, i, merged, rows_of_part, parts));
    store_columns(vectors, merged, 0, columns_, store);
  }

 private:
  // Rows, their elements in turns.
  Value merge(const Load& load, int64_t first, int64_t count) {
    if (count == 1) return load(first);
    const Value low = merge(load, first, count / 2);
    const Value high = merge(load, first + count / 2, count / 2);
    return unpack(b_, low, high, count / 2, Half::both);
  }

  // Part i holds `count` rows, from `first + i * rows_of_part` on.
  Value join_parts(const Load& load, int64_t first, int64_t count, int64_t rows_of_part, int64_t parts) {
    if (parts == 1) return merge(load, first, count);
    const Value low = join_parts(load, first, count, rows_of_part, parts / 2);
    const Value high = join_parts(load, first + parts / 2 * rows_of_part, count, rows_of_part, parts / 2);
    return b_.shuffle(low, high, lanes_from(0, 2 * b_.type(low).lanes));
  }

  // The vectors have columns [first, first + count), each as `unit` elements of rows that follow each other.
  void store_columns(const std::vector<Value>& vectors, int64_t unit, int64_t first, int64_t count,
                     const Store& store) {
    if (vectors.size() == 1) {
      for (int64_t i = 0; i < count; ++i)
        store(first + i, count == 1
                             ? vectors[0]
                             : following_lanes(b_, vectors[0], no_value, i * unit, static_cast<int>(unit)));
      return;
    }
    std::vector<Value> lower, upper;  // both at once: then a pair takes no more registers than before
    for (size_t i = 0; i < vectors.size(); i += 2) {
      lower.push_back(unpack(b_, vectors[i], vectors[i + 1], unit, Half::lower));
      upper.push_back(unpack(b_, vectors[i], vectors[i + 1], unit, Half::upper));
    }
    store_columns(lower, 2 * unit, first, count / 2, store);
    store_columns(upper, 2 * unit, first + count / 2, count / 2, store);
  }

  Builder& b_;
  const int64_t rows_, columns_, in_part_;
};

class Matrix {
 public:
  Matrix(Builder& builder, const Transposition& matrix)
      : b_(builder), matrix_(matrix), element_(bytes(matrix.dtype)) {}

  void emit() {
    walk(matrix_.columns, floor_power(std::min(matrix_.columns, columns_of_tile(b_.isa(), element_))),
         [&](const Position& column, int64_t columns) { emit_columns(column, columns); });
  }

 private:
  // Calls body for positions [0, count), `step` of them at a time. The last ones are done twice.
  using Body = std::function<void(const Position& first, int64_t count)>;
  void walk(int64_t count, int64_t step, const Body& body) {
    const int64_t whole = count / step;
    if (whole > 1) {
      body(Position{}.further(b_.begin_loop(b_.iconst(whole)).iv, step), step);
      b_.end_loop();
    } else {
      body({}, step);
    }
    if (count % step != 0) body({count - step}, step);
  }

  void emit_columns(const Position& column, int64_t columns) {
    const Address from = at(matrix_.from, column, element_),
                  to = at(matrix_.to, column, matrix_.column_bytes);
    const int64_t blocks = matrix_.rows / matrix_.block, rest = matrix_.rows % matrix_.block;
    const int64_t block_rows_bytes = matrix_.block * matrix_.row_bytes;
    if (blocks > 0)
      walk(blocks, 1, [&](const Position& block, int64_t) {
        emit_block(at(from, block, block_rows_bytes), at(to, block, matrix_.block_bytes), matrix_.block,
                   columns);
      });
    if (rest > 0)
      emit_block(plus(from, blocks * block_rows_bytes), plus(to, blocks * matrix_.block_bytes), rest,
                 columns);
  }

  void emit_block(const Address& from, const Address& to, int64_t rows, int64_t columns) {
    const int64_t most = info(b_.isa()).vector_bytes / element_;
    const Type type = Type::vec(matrix_.dtype, static_cast<int>(columns));
    walk(rows, floor_power(std::min(rows, most)), [&](const Position& row, int64_t rows_of_tile) {
      const Address first = at(from, row, matrix_.row_bytes), stored = at(to, row, element_);
      TransposedTile(b_, rows_of_tile, columns, element_)
          .emit([&](int64_t number) { return b_.load(type, plus(first, number * matrix_.row_bytes)); },
                [&](int64_t number, Value elements) {
                  b_.store(plus(stored, number * matrix_.column_bytes), elements);
                });
    });
  }

  Builder& b_;
  const Transposition& matrix_;
  const int64_t element_;
};

}  // namespace

int64_t transpose_registers(Isa isa, DType dtype) {
  constexpr int64_t of_pair = 2;  // unpacked
  return columns_of_tile(isa, bytes(dtype)) + of_pair;
}

void transpose(Builder& builder, const Transposition& matrix) { Matrix(builder, matrix).emit(); }

}  // namespace pooljit::ir
