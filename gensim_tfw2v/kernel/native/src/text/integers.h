// Conversion of integers to word ids, for corpora whose words are integers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tfw2v {

// Table of distinct integers. Their indices are in the order in which they were added.
//
// Integers from 0 up to a limit are looked up in an array. The limit rises with the number of integers, so that all of
// them are if they are dense. The others are in a hash table with linear probing.
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
  bool is_direct(int64_t value) const { return static_cast<uint64_t>(value) < direct_.size(); }
  size_t home(int64_t value) const;  // first slot that may contain an integer
  size_t slot_of(int64_t value) const;
  void prefetch(int64_t value) const;
  int32_t append(int64_t value);   // appends a new integer to values_, and returns its index
  void raise_limit(size_t limit);  // makes direct_ longer
  void grow();                     // doubles the number of slots

  static constexpr size_t kFirstLimit = 1 << 12;
  static constexpr size_t kSparseness = 4;  // the limit rises to integers below this multiple of their number
  static constexpr int kFirstShift = 64 - 12;
  static constexpr size_t kFirstSlots = 1 << 12;

  std::vector<int64_t> values_;
  std::vector<int32_t> direct_ = std::vector<int32_t>(kFirstLimit, -1);  // index of each integer; -1: none
  std::vector<Slot> slots_ = std::vector<Slot>(kFirstSlots);  // their number is a power of 2; at most half are in use
  size_t n_used_slots_ = 0;
  int shift_ = kFirstShift;  // hash >> shift_ is the index of a slot
};

}  // namespace tfw2v
