// Rows transferred between a worker's table and parameter servers. Each function makes one pass: gather reads
// rows, scatter overwrites them, change computes their changes, and add adds changes.
#pragma once
#include <cstdint>

namespace tfw2v {

// A table [rows, stride]. The first `size` floats of each row are in use.
struct RowTable {
  float* rows;
  int64_t stride, size;
};

// Fractions of each row's change that are pushed: one for each of kDirections directions, and one for the
// component of the change that is orthogonal to all directions.
struct Share {
  static constexpr int64_t kDirections = 16;
  const float* shares;    // [levels, 1 + kDirections] fractions: orthogonal component, then each direction
  const int32_t* levels;  // [rows] index in `shares` for each table row; null: changes are pushed whole
  const float* basis;     // [kDirections, size] orthonormal directions; rows of 0 if there are fewer
};

// Types of transferred rows. An int8 row [size] is followed by a float, its scale s: element d is s q[d].
enum class Wire { kFloat, kBfloat16, kInt8 };

// Functions on the rows `ids` [count] of a table. Transferred rows are [count, size], all of one type.
struct RowKernel {
  // to[i] = table[ids[i]]
  void (*gather)(RowTable table, const int32_t* ids, int64_t count, void* to);
  // table[ids[i]] = rows[i], with zeros from `size` to `stride`
  void (*scatter)(RowTable table, const int32_t* ids, int64_t count, const void* rows);
  // to[i] = table[ids[i]] - known[i], reduced to the fractions `share`. For int8, elements are rounded up or
  // down at random, so that their expectation is exact. `key` and ids[i] seed the random numbers.
  void (*change)(RowTable table, const int32_t* ids, int64_t count, const void* known, const Share& share,
                 uint64_t key, void* to);
  // table[ids[i]] += changes[i]
  void (*add)(RowTable table, const int32_t* ids, int64_t count, const void* changes);
};

// Returns the functions for this processor.
const RowKernel& row_kernel(Wire wire);

}  // namespace tfw2v
