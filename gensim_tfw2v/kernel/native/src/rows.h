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

// What is done with rows `ids` of a table; other rows are [count, size], of one type.
struct RowKernel {
  // to[i] = table[ids[i]]
  void (*gather)(RowTable table, const int32_t* ids, int64_t count, void* to);
  // table[ids[i]] = rows[i], filled up with zeros
  void (*place)(RowTable table, const int32_t* ids, int64_t count, const void* rows);
  // to[i] = (table[ids[i]] - known[i]) * share[ids[i]]; a null `share` is 1
  void (*change)(RowTable table, const int32_t* ids, int64_t count, const void* known,
                 const float* share, void* to);
  // table[ids[i]] += changes[i]
  void (*add)(RowTable table, const int32_t* ids, int64_t count, const void* changes);
};

// The kernel for this processor.
const RowKernel& row_kernel(bool is_bfloat16);

}  // namespace tfw2v
