// Changes of rows that are noted, to be added later.
#pragma once

#include <vector>

#include "buffer.h"
#include "vector.h"

namespace tfw2v::TFW2V_ISA {

// What a block changes, while the rows stay as they are.
class Ledger {
 public:
  // Room for so many rows of S floats.
  Ledger(int64_t most, int64_t S) : S(S), changes_(most * S) {}

  void clear() { entries_.clear(), wild.clear(); }

  // Where the change of a table's row is to be written, all S floats.
  float* note(int32_t id, float* row) {
    float* change = changes_ + static_cast<int64_t>(entries_.size()) * S;
    entries_.push_back({id, row, change});
    return change;
  }

  struct Entry {
    int32_t id;
    float *row, *change;
  };

  // Lists the changes of a part of all rows, in their order, after others.
  void list(int part, int parts, std::vector<Entry>& entries) const {
    constexpr int kClasses = 64;  // of ids, by which no number has to be divided
    const int first = part * kClasses / parts, last = (part + 1) * kClasses / parts;
    for (const Entry& entry : entries_) {
      const int of_row = entry.id % kClasses;
      if (of_row >= first && of_row < last) entries.push_back(entry);
    }
  }

  std::vector<int64_t> wild;  // positions whose scores are so wild that windows are trained one by one

 private:
  const int64_t S;
  std::vector<Entry> entries_;
  Buffer changes_;
};

}  // namespace tfw2v::TFW2V_ISA
