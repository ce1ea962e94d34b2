// Tables of a vocabulary's keys: distinct strings, or distinct integers. The index of a key is its row. Python
// allocates the arrays, in files that are mapped into memory, and the tables are not changed after they were filled.
#pragma once

#include <cstdint>

namespace tfw2v {

enum KeyKind : int64_t {
  kStrings,
  kRange,        // the integers 0 ... n_keys - 1, in this order
  kPermutation,  // these integers, in a different order
  kIntegers,     // any integers
};

// The fields are those of KeyTable in keys/key_table.py. Pointers that the kind does not need are null.
struct KeyTable {
  int64_t kind, n_keys, n_slots;
  uint32_t* slots;         // [n_slots] hash table of strings and of any integers; zeros until it is filled
  const int64_t* offsets;  // [n_keys + 1] string i is text[offsets[i]] ... text[offsets[i + 1] - 1]
  const char* text;        // UTF-8; surrogates are encoded like other code points
  const int32_t* numbers;  // [n_keys] keys of a permutation
  const int32_t* inverse;  // [n_keys] indices of a permutation's keys
  const int64_t* values;   // [n_keys] keys of kIntegers
};

// Distinct strings and their counts, to which strings are added. The fields are those of GrowingTable in
// keys/growing_strings.py. Python allocates the arrays, with room for `capacity` strings and their text.
struct GrowingStrings {
  int64_t n_keys, capacity, n_slots;
  uint32_t* slots;   // [n_slots]
  int64_t* offsets;  // [capacity + 1]
  char* text;
  int64_t* counts;  // [capacity]
};

constexpr int64_t kMissing = -1;

int64_t find_string(const KeyTable& keys, const char* text, int64_t size);
int64_t find_integer(const KeyTable& keys, int64_t value);

// Returns the integer with an index.
inline int64_t integer_at(const KeyTable& keys, int64_t index) {
  return keys.kind == kRange ? index : keys.kind == kPermutation ? keys.numbers[index] : keys.values[index];
}

}  // namespace tfw2v
