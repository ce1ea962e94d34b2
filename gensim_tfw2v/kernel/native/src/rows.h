// Rows transferred between a worker's table and parameter servers: gather, scatter, change and add, in
// one pass each.
#pragma once
#include <cstdint>

namespace tfw2v {

// A table [rows, stride]. The first `size` floats of each row are in use.
struct RowTable {
  float* rows;
  int64_t stride, size;
};

// Fraction of each row's change that is pushed: one along each of kDirections directions, and one for
// the component orthogonal to all of them.
struct Share {
  static constexpr int64_t kDirections = 16;
  const float* shares;    // [levels, 1 + kDirections] of the orthogonal component, and of each direction
  const int32_t* levels;  // [rows] row of `shares` of each table row; null: changes are pushed whole
  const float* basis;     // [kDirections, size] the directions: orthonormal, or 0 where there are fewer
};

// Types of transferred rows. An int8 row [size] is followed by a float, its scale s: element d is s q[d].
enum class Wire { kFloat, kBfloat16, kInt8 };

// Functions on the rows `ids` [count] of a table. Transferred rows are [count, size], all of one type.
struct RowKernel {
  // to[i] = table[ids[i]]
  void (*gather)(RowTable table, const int32_t* ids, int64_t count, void* to);
  // table[ids[i]] = rows[i], and zeros from `size` to `stride`
  void (*scatter)(RowTable table, const int32_t* ids, int64_t count, const void* rows);
  // to[i] = the fractions `share` of table[ids[i]] - known[i]. To int8, elements are rounded up or down
  // at random, by `key` and ids[i], so that their expectation is exact.
  void (*change)(RowTable table, const int32_t* ids, int64_t count, const void* known,
                 const Share& share, uint64_t key, void* to);
  // table[ids[i]] += changes[i]
  void (*add)(RowTable table, const int32_t* ids, int64_t count, const void* changes);
};

// Returns the functions for this processor.
const RowKernel& row_kernel(Wire wire);

}  // namespace tfw2v
