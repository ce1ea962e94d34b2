// Conversion of integers, which are words, to word ids.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tfw2v {

// Distinct integers, with indices in the order in which they were added. A hash table with linear probing.
class Integers {
 public:
  // Returns the index of an integer, or kUnknown.
  int32_t find(int64_t value) const;
  // Returns the index of an integer, which is added if it is new.
  int32_t add(int64_t value);

  // Writes the entries of sentences: the index of each word, and kEnd after each `max_words` words and after
  // the last word. An empty sentence has no entries. `values`: the words of all sentences. With `grows`, new
  // integers are added. Returns the number of entries, or -1, without looking up any word, if that is not
  // `n_entries` or the lengths do not add up to `n_values`.
  int64_t encode(const int64_t* values, int64_t n_values, const int64_t* lengths, int64_t n_sentences,
                 int64_t max_words, bool grows, int32_t* entries, int64_t n_entries);

  // All integers in the order of their indices.
  const std::vector<int64_t>& values() const { return values_; }

 private:
  struct Slot {  // 16 bytes, so that none is in two cache lines
    int64_t value = 0;
    int32_t index = -1;  // -1: empty slot
  };
  size_t home(int64_t value) const;  // first slot that may contain an integer
  size_t slot_of(int64_t value) const;
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(1 << 12);  // number: a power of 2; at most half are in use
  int shift_ = 64 - 12;                                   // hash >> shift_ is the index of a slot
  std::vector<int64_t> values_;
};

}  // namespace tfw2v
