// Rows on their way between tables: gathered, changed and added in one pass each, in the type in
// which they travel, float or bfloat16.
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

// What is done with rows `ids` of a table; other rows are [count, size], of one type.
struct RowKernel {
  // to[i] = table[ids[i]]
  void (*gather)(RowTable table, const int32_t* ids, int64_t count, void* to);
  // table[ids[i]] = rows[i], filled up with zeros
  void (*scatter)(RowTable table, const int32_t* ids, int64_t count, const void* rows);
  // to[i] = the share that row ids[i] has of table[ids[i]] - known[i]
  void (*change)(RowTable table, const int32_t* ids, int64_t count, const void* known,
                 const Share& share, void* to);
  // table[ids[i]] += changes[i]
  void (*add)(RowTable table, const int32_t* ids, int64_t count, const void* changes);
};

// The kernel for this processor.
const RowKernel& row_kernel(bool is_bfloat16);

}  // namespace tfw2v
