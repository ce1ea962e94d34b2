// Row updates that a block records instead of applying, and a set of the rows that are updated.
//
// A Ledger is a list of (row, update) pairs, in the order of recording. A row may occur several times.
// Its updates are added in this order.
//
// A RowFilter is a Bloom filter with one hash and 2^14 bits. For a row at address r:
//   hash(r) = upper 32 bits of floor(r / 64) * 0x9E3779B97F4A7C15 mod 2^64
//   insert(r) sets bit hash(r) mod 2^14, and has(r) tests it
// has(r) is true for every inserted row, and for about k / 2^14 of the others if k << 2^14 are inserted.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/buffer.h"
#include "kernels/vector.h"

namespace tfw2v::TFW2V_ISA {

// Records the row updates of one block, without changing the rows: deterministic.h applies the updates later.
class Ledger {
 public:
  // max_changes: maximum number of updates of a block, and of positions to retry.
  Ledger(int64_t max_changes, int64_t stride)
      : max_changes(max_changes), stride(stride), changes_(max_changes * stride) {
    rows_.reserve(max_changes);
    retry.reserve(max_changes);
  }

  void clear() { rows_.clear(), retry.clear(); }

  // Appends an update of `row`, and returns its `stride` floats. The caller must set the first n_vectors * W of them,
  // which still hold an earlier update. The remaining floats are 0.
  float* record(float* row) {
    TFW2V_ASSERT(static_cast<int64_t>(rows_.size()) < max_changes);
    rows_.push_back(row);
    return change(rows_.size() - 1);
  }

  // Row of each update, in the order of recording.
  const std::vector<float*>& rows() const { return rows_; }
  // Floats of the update with this index in `rows()`.
  float* change(size_t index) const { return changes_ + static_cast<int64_t>(index) * stride; }

  // CBOW: positions with scores out of range. Skip-gram: first positions of blocks with scores out of range, or with
  // an input that occurs too often. Their updates are not recorded: `retrain` trains them after the round.
  std::vector<int64_t> retry;

  const int64_t max_changes;

 private:
  const int64_t stride;
  std::vector<float*> rows_;
  Buffer changes_;  // [max_changes, stride]
};

// Approximate set of the rows that a thread updates in a round: a Bloom filter, with false positives but
// without false negatives.
class RowFilter {
 public:
  void clear() { std::fill_n(bits_, kWords, 0); }
  void insert(const float* row) { bits_[word(row)] |= bit(row); }
  bool has(const float* row) const { return bits_[word(row)] & bit(row); }
  // Hash of a row's address. Rows begin at cache lines, so the lowest 6 bits are 0.
  static size_t hash(const float* row) {
    constexpr uint64_t kMixer = 0x9E3779B97F4A7C15;
    return (reinterpret_cast<uintptr_t>(row) >> 6) * kMixer >> 32;
  }

 private:
  static constexpr size_t kWords = 256;
  static size_t word(const float* row) { return hash(row) / 64 % kWords; }
  static uint64_t bit(const float* row) { return uint64_t{1} << hash(row) % 64; }
  alignas(64) uint64_t bits_[kWords];
};

}  // namespace tfw2v::TFW2V_ISA
