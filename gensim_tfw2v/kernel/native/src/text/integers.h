// Conversion of integers to word ids, for corpora whose words are integers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tfw2v {

// Hash table (with linear probing) of distinct integers. Their indices are in the order in which they were added.
class Integers {
 public:
  // Returns the index of an integer, or kUnknown.
  int32_t find(int64_t value) const;
  // Adds an integer, if it is new. Returns its index.
  int32_t add(int64_t value);

  // Writes the entries of sentences to `entries`: the index of each word, and kEnd after each `max_words` words
  // and after the last word of a sentence. An empty sentence has no entries. `values` contains the words of all
  // sentences. With `grows`, new integers are added. Returns the number of entries. If that is not `n_entries`,
  // or the lengths do not add up to `n_values`, returns -1 and looks up no word.
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
  void grow();  // doubles the number of slots

  std::vector<Slot> slots_ = std::vector<Slot>(1 << 12);  // their number is a power of 2; at most half are in use
  int shift_ = 64 - 12;                                   // hash >> shift_ is the index of a slot
  std::vector<int64_t> values_;
};

}  // namespace tfw2v
