// Updates of rows that are recorded, to be applied later.
#pragma once

#include <algorithm>
#include <vector>

#include "buffer.h"
#include "vector.h"

namespace tfw2v::TFW2V_ISA {

// Row updates of one block, recorded instead of applied.
class Ledger {
 public:
  // Room for so many rows of S floats.
  Ledger(int64_t most, int64_t S) : S(S), changes_(most * S) {}

  void clear() { rows_.clear(), retry.clear(); }

  // Where the change of a row is to be written, all S floats.
  float* record(float* row) {
    rows_.push_back(row);
    return change(rows_.size() - 1);
  }

  const std::vector<float*>& rows() const { return rows_; }
  float* change(size_t number) const { return changes_ + static_cast<int64_t>(number) * S; }

  std::vector<int64_t> retry;  // positions that are to be trained again, window by window

 private:
  const int64_t S;
  std::vector<float*> rows_;
  Buffer changes_;
};

// Approximate set of the rows that a thread changes in a round: a Bloom filter with one hash, which has
// false positives, but no false negatives.
class RowFilter {
 public:
  void clear() { std::fill_n(bits_, kWords, 0); }
  void insert(const float* row) { bits_[word(row)] |= bit(row); }
  bool has(const float* row) const { return bits_[word(row)] & bit(row); }
  // Hash that selects the thread which applies a row's updates.
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
