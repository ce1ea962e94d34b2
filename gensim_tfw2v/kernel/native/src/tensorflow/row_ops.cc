// Ops that transfer rows between a worker and parameter servers.
#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

#include "rows/rows.h"
#include "tensorflow/op.h"

namespace tfw2v::ops {
namespace {

constexpr Attribute kHasType = {"dtype: {float, bfloat16, int8}", make_type, destroy<int>, false};

// Inputs that the ops below share: a table [rows, stride], and ids [n] of its rows. Transferred rows
// have `columns` elements.
struct RowTransfer {
  RowTransfer(TF_OpKernelContext* context, int64_t columns)
      : ids(context, 1), table_input(context, 0), table{table_input.data<float>(), table_input.dim(1), columns} {}

  // Returns an error message, or null.
  const char* wrong() const {
    if (table.size < 1 || table.size > table.stride)
      return "rows must have at least 1 element, and at most as many as rows of the table";
    bool bad = false;
    const int64_t n_rows = table_input.dim(0);
    for (int64_t i = 0; i < ids.size(); ++i) bad |= static_cast<uint32_t>(ids.data<int32_t>()[i]) >= n_rows;
    return bad ? "ids must be rows of the table" : nullptr;
  }

  const Input ids, table_input;
  const RowTable table;
};

// Returns the functions for rows of the type that is an op's state.
const RowKernel& row_kernel_of(void* type) {
  switch (*static_cast<int*>(type)) {
    case kFloat: return row_kernel(Wire::kFloat);
    case kBfloat16: return row_kernel(Wire::kBfloat16);
    default: return row_kernel(Wire::kInt8);
  }
}

// Number of columns that a transferred row has for its scale: the bytes of a float with int8, else 0.
int64_t scale_columns(void* type) { return *static_cast<int*>(type) == kInt8 ? sizeof(float) : 0; }

// Allocates the output of an op, [n_rows, size + scale_columns] in its type. Returns null on failure.
void* row_output(void* type, TF_OpKernelContext* context, int64_t n_rows, int64_t size) {
  const int64_t n_columns = size + scale_columns(type);
  if (*static_cast<int*>(type) == kFloat) return output<float>(context, 0, kFloat, n_rows, n_columns);
  if (*static_cast<int*>(type) == kInt8) return output<int8_t>(context, 0, kInt8, n_rows, n_columns);
  return output<uint16_t>(context, 0, kBfloat16, n_rows, n_columns);
}

// Tfw2vFetch(table, ids [n], size) -> rows [n, size]: table[ids].
void fetch(void* type, TF_OpKernelContext* context) {
  const Input size(context, 2);
  const RowTransfer transfer(context, *size.data<int32_t>());
  if (const char* wrong = transfer.wrong()) return fail(context, "Tfw2vFetch", wrong);
  if (void* to = row_output(type, context, transfer.ids.size(), transfer.table.size))
    row_kernel_of(type).gather(transfer.table, transfer.ids.data<int32_t>(), transfer.ids.size(), to);
}

// Tfw2vScatter(table, ids [n], rows [n, size]) -> n. Sets table[ids] to rows, in place.
void scatter(void* type, TF_OpKernelContext* context) {
  const Input rows(context, 2);
  const RowTransfer transfer(context, rows.dim(1) - scale_columns(type));
  if (const char* wrong = transfer.wrong()) return fail(context, "Tfw2vScatter", wrong);
  if (rows.dim(0) != transfer.ids.size()) return fail(context, "Tfw2vScatter", "rows must have one row per id");
  row_kernel_of(type).scatter(transfer.table, transfer.ids.data<int32_t>(), transfer.ids.size(), rows.data<void>());
  if (auto* to = output<int64_t>(context, 0, kInt64, 1, 0)) *to = transfer.ids.size();
}

// Tfw2vChange(table, ids [n], known [n, size], basis, shares, levels, key [2]) -> changes [n, size]:
// table[ids] - known, where `known` are the rows as they were fetched, before the worker trained them. If `levels` is
// not empty, only a fraction of each change is returned: see struct Share in rows.h. `key` seeds the random rounding to
// int8.
void change(void* type, TF_OpKernelContext* context) {
  const Input known(context, 2), basis(context, 3), shares(context, 4), levels(context, 5);
  const Input key(context, 6);
  const RowTransfer transfer(context, known.dim(1) - scale_columns(type));
  if (const char* wrong = transfer.wrong()) return fail(context, "Tfw2vChange", wrong);
  constexpr int64_t kDirections = Share::kDirections;
  const bool shared = levels.size();
  bool bad = known.dim(0) != transfer.ids.size() || key.size() != 2;
  if (shared) {
    bad |= levels.size() != transfer.table_input.dim(0) || basis.size() != kDirections * transfer.table.size ||
           shares.dim(1) != 1 + kDirections;
    for (int64_t i = 0; i < levels.size(); ++i)
      bad |= static_cast<uint32_t>(levels.data<int32_t>()[i]) >= shares.dim(0);
  }
  if (bad)
    return fail(context, "Tfw2vChange",
                "known must have one row per id, and key must have 2 elements. Levels "
                "must be empty, or have the index of a row of shares [, 17] for each row of the "
                "table, with basis [16, size]");
  uint64_t draws;  // copied: the input is of another type
  std::memcpy(&draws, key.data<int32_t>(), sizeof draws);
  const Share share = {shares.data<float>(), shared ? levels.data<int32_t>() : nullptr, basis.data<float>()};
  if (void* to = row_output(type, context, transfer.ids.size(), transfer.table.size))
    row_kernel_of(type).change(transfer.table, transfer.ids.data<int32_t>(), transfer.ids.size(), known.data<void>(),
                               share, draws, to);
}

// Returns whether the scales of int8 rows are such as workers send: NaN if training has diverged, else
// finite and at least 0.
bool valid_scales(const Input& rows) {
  const int64_t columns = rows.dim(1);
  bool bad = false;
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    float scale;
    std::memcpy(&scale, rows.data<int8_t>() + (i + 1) * columns - sizeof scale, sizeof scale);
    bad |= scale < 0 || scale > std::numeric_limits<float>::max();
  }
  return !bad;
}

// Tfw2vAdd(table, ids [n], changes [n, size]) -> n. Adds changes to table[ids], in place. Concurrent
// calls for a table wait for each other, so that no change is lost.
void add(void* type, TF_OpKernelContext* context) {
  const Input changes(context, 2);
  const RowTransfer transfer(context, changes.dim(1) - scale_columns(type));
  if (const char* wrong = transfer.wrong()) return fail(context, "Tfw2vAdd", wrong);
  if (changes.dim(0) != transfer.ids.size()) return fail(context, "Tfw2vAdd", "changes must have one row per id");
  if (scale_columns(type) && !valid_scales(changes))
    return fail(context, "Tfw2vAdd", "scales must be finite and at least 0, or NaN");
  static std::mutex mutexes[64];  // a table's address selects its mutex, so that few tables share one
  const std::lock_guard<std::mutex> guard(mutexes[reinterpret_cast<uintptr_t>(transfer.table.rows) / 64 % 64]);
  row_kernel_of(type).add(transfer.table, transfer.ids.data<int32_t>(), transfer.ids.size(), changes.data<void>());
  if (auto* to = output<int64_t>(context, 0, kInt64, 1, 0)) *to = transfer.ids.size();
}

__attribute__((constructor)) void register_ops() {
  define<fetch>("Tfw2vFetch", {"table: float", "ids: int32", "size: int32"}, {"rows: dtype"}, kHasType);
  define<scatter>("Tfw2vScatter", {"table: float", "ids: int32", "rows: dtype"}, {"scattered: int64"}, kHasType);
  define<change>(
      "Tfw2vChange",
      {"table: float", "ids: int32", "known: dtype", "basis: float", "shares: float", "levels: int32", "key: int32"},
      {"changes: dtype"}, kHasType);
  define<add>("Tfw2vAdd", {"table: float", "ids: int32", "changes: dtype"}, {"added: int64"}, kHasType);
}

}  // namespace
}  // namespace tfw2v::ops
