// Rows that travel between a table and a worker: gathered, changed and added in one pass each.
#pragma once
#include <cstdint>

namespace tfw2v {

// A table [rows, stride], of which each row's first `size` numbers are in use.
struct RowTable {
  float* rows;
  int64_t stride, size;
};

// What share of the changes of rows counts, along some directions and in what is left of them.
struct Share {
  static constexpr int64_t kDirections = 16;
  const float* shares;    // [levels, 1 + kDirections]: of the rest, and along each
  const int32_t* levels;  // of each row of the table; null: all of each change counts
  const float* basis;     // [kDirections, size], orthonormal
};

// Types in which rows travel. A row of int8 has, after its elements q, a float s: it stands for s q.
enum class Wire { kFloat, kBfloat16, kInt8 };

// Functions on rows `ids` of a table; the other rows are [count, size], in the type of the kernel.
struct RowKernel {
  // to[i] = table[ids[i]]
  void (*gather)(RowTable table, const int32_t* ids, int64_t count, void* to);
  // table[ids[i]] = rows[i], filled up with zeros
  void (*scatter)(RowTable table, const int32_t* ids, int64_t count, const void* rows);
  // to[i] = the share that row ids[i] has of table[ids[i]] - known[i]. In int8, elements are rounded
  // up or down at random, by `key` and the row's id, so that their mean is what is rounded.
  void (*change)(RowTable table, const int32_t* ids, int64_t count, const void* known,
                 const Share& share, uint64_t key, void* to);
  // table[ids[i]] += changes[i]
  void (*add)(RowTable table, const int32_t* ids, int64_t count, const void* changes);
};

// The kernel for this processor.
const RowKernel& row_kernel(Wire wire);

}  // namespace tfw2v
