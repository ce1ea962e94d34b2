#include "keys/keys.h"

#include <algorithm>
#include <cstring>

#include "text/hash.h"
#include "unit.h"

namespace tfw2v {

namespace {

// Slots and strings are prefetched, because most are not in the processor's cache.
constexpr int64_t kAhead = 16;

template <class Word>
uint64_t load(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Files contain hash tables, so a change of a hash function needs a new version of their format.
uint64_t hash_string(const char* text, int64_t size) {
  uint64_t sum = hash(0x9E3779B97F4A7C15 + size);
  if (size >= 8) {
    for (int64_t i = 0; i < size - 8; i += 8) sum = hash(sum ^ load<uint64_t>(text + i));
    sum ^= load<uint64_t>(text + size - 8);
  } else if (size >= 4) {
    sum ^= load<uint32_t>(text) | load<uint32_t>(text + size - 4) << 32;
  } else if (size) {
    sum ^= load<uint8_t>(text) | load<uint8_t>(text + size / 2) << 8 | load<uint8_t>(text + size - 1) << 16;
  }
  return hash(hash(sum) + 0x9E3779B97F4A7C15);
}

uint64_t hash_integer(int64_t value) { return hash(hash(value + 0x9E3779B97F4A7C15) + 0x9E3779B97F4A7C15); }

// Hash table with linear probing. The low bits of a slot are 1 + the index of a key; its other bits are those of the
// key's hash, so that few keys are compared in vain. An empty slot is 0.
class Slots {
 public:
  explicit Slots(const KeyTable& keys)
      : slots_(keys.slots), n_slots_(keys.n_slots),
        index_bits_(keys.n_keys ? ~0u >> __builtin_clz(static_cast<uint32_t>(keys.n_keys)) : 0) {}

  // Returns the slot in which the search for a key starts.
  uint32_t* home(uint64_t hash) const {
    return slots_ + static_cast<int64_t>(static_cast<unsigned __int128>(hash) * n_slots_ >> 64);
  }

  // Returns the slot of the key for whose index is_key(index) is true, or the empty slot in which it belongs.
  template <class IsKey>
  uint32_t* slot_of(uint64_t hash, IsKey is_key) const {
    uint32_t* slot = home(hash);
    while (*slot && !(has_tag(*slot, hash) && is_key(index_in(*slot))))
      if (++slot == slots_ + n_slots_) slot = slots_;
    return slot;
  }

  bool has_tag(uint32_t slot, uint64_t hash) const { return !((slot ^ static_cast<uint32_t>(hash)) & ~index_bits_); }
  int64_t index_in(uint32_t slot) const { return static_cast<int64_t>(slot & index_bits_) - 1; }
  void put(uint32_t* slot, uint64_t hash, int64_t index) const {
    *slot = (static_cast<uint32_t>(hash) & ~index_bits_) | static_cast<uint32_t>(index + 1);
  }

 private:
  uint32_t* slots_;
  int64_t n_slots_;
  uint32_t index_bits_;
};

// Calls use(i, hash of key i) for i in [0, n), after prefetching the home of its hash.
template <class HashOf, class Use>
void for_each_hash(const Slots& slots, int64_t n, HashOf hash_of, Use use) {
  uint64_t hashes[kAhead];
  for (int64_t i = 0; i < n + kAhead; ++i) {
    uint64_t& hash = hashes[i % kAhead];
    if (i >= kAhead && !use(i - kAhead, hash)) return;
    if (i >= n) continue;
    hash = hash_of(i);
    __builtin_prefetch(slots.home(hash));
  }
}

// Fills the slots. Returns kMissing, or the index of the first key that equals an earlier one.
template <class HashOf, class AreEqual>
int64_t fill(const KeyTable& keys, HashOf hash_of, AreEqual are_equal) {
  const Slots slots(keys);
  int64_t duplicate = kMissing;
  for_each_hash(slots, keys.n_keys, hash_of, [&](int64_t i, uint64_t hash) {
    uint32_t* const slot = slots.slot_of(hash, [&](int64_t earlier) { return are_equal(earlier, i); });
    if (*slot) duplicate = i;
    slots.put(slot, hash, i);
    return duplicate == kMissing;
  });
  return duplicate;
}

bool is_string(const KeyTable& keys, int64_t index, const char* text, int64_t size) {
  const int64_t offset = keys.offsets[index];
  return keys.offsets[index + 1] - offset == size && !std::memcmp(keys.text + offset, text, size);
}

int64_t find_hashed_string(const KeyTable& keys, uint64_t hash, const char* text, int64_t size) {
  const Slots slots(keys);
  return slots.index_in(*slots.slot_of(hash, [&](int64_t index) { return is_string(keys, index, text, size); }));
}

// The slots' indices have as many bits as `capacity`, so that they remain valid while strings are added.
KeyTable table_of(const GrowingStrings& strings) {
  return {kStrings,     strings.capacity, strings.n_slots, strings.slots, strings.offsets,
          strings.text, nullptr,          nullptr,         nullptr};
}

// Adds strings, each `times` times, by default once, and writes the index of each to `indices`.
void add_strings(GrowingStrings& strings, const char* text, const int64_t* offsets, int64_t n, const int64_t* times,
                 int32_t* indices) {
  const KeyTable table = table_of(strings);
  const Slots slots(table);
  uint64_t hashes[kAhead];
  int64_t candidates[kAhead];  // index of a key that probably is the string; kMissing: none
  for (int64_t begin = 0; begin < n; begin += kAhead) {
    const int64_t n_group = std::min(kAhead, n - begin);
    for (int64_t i = 0; i < n_group; ++i) {
      const int64_t* offset = offsets + begin + i;
      __builtin_prefetch(slots.home(hashes[i] = hash_string(text + offset[0], offset[1] - offset[0])));
    }
    for (int64_t i = 0; i < n_group; ++i) {
      const uint32_t slot = *slots.home(hashes[i]);
      candidates[i] = slot && slots.has_tag(slot, hashes[i]) ? slots.index_in(slot) : kMissing;
      if (candidates[i] != kMissing) __builtin_prefetch(strings.offsets + candidates[i]);
    }
    for (int64_t i = 0; i < n_group; ++i)
      if (candidates[i] != kMissing) __builtin_prefetch(strings.text + strings.offsets[candidates[i]]);
    for (int64_t i = 0; i < n_group; ++i) {
      const int64_t word = begin + i, size = offsets[word + 1] - offsets[word];
      const char* const from = text + offsets[word];
      uint32_t* const slot =
          slots.slot_of(hashes[i], [&](int64_t index) { return is_string(table, index, from, size); });
      if (!*slot) {
        const int64_t stop = strings.offsets[strings.n_keys];
        if (size) std::memcpy(strings.text + stop, from, size);
        slots.put(slot, hashes[i], strings.n_keys);
        strings.counts[strings.n_keys] = 0;
        strings.offsets[++strings.n_keys] = stop + size;
      }
      const int64_t index = slots.index_in(*slot);
      strings.counts[index] += times ? times[word] : 1;
      indices[word] = static_cast<int32_t>(index);
    }
  }
}

int64_t find_hashed_integer(const KeyTable& keys, uint64_t hash, int64_t value) {
  const Slots slots(keys);
  return slots.index_in(*slots.slot_of(hash, [&](int64_t index) { return keys.values[index] == value; }));
}

}  // namespace

int64_t find_string(const KeyTable& keys, const char* text, int64_t size) {
  return find_hashed_string(keys, hash_string(text, size), text, size);
}

int64_t find_integer(const KeyTable& keys, int64_t value) {
  if (keys.kind == kIntegers) return find_hashed_integer(keys, hash_integer(value), value);
  if (value < 0 || value >= keys.n_keys) return kMissing;
  return keys.kind == kRange ? value : keys.inverse[value];
}

}  // namespace tfw2v

extern "C" {

// Fills the hash table of strings or of integers. Returns -1, or the index of a key that equals an earlier one.
TFW2V_EXPORT int64_t tfw2v_keys_fill(const tfw2v::KeyTable* keys) noexcept {
  if (keys->kind == tfw2v::kStrings)
    return tfw2v::fill(
        *keys,
        [=](int64_t i) {
          return tfw2v::hash_string(keys->text + keys->offsets[i], keys->offsets[i + 1] - keys->offsets[i]);
        },
        [=](int64_t i, int64_t j) {
          const int64_t offset = keys->offsets[j];
          return tfw2v::is_string(*keys, i, keys->text + offset, keys->offsets[j + 1] - offset);
        });
  return tfw2v::fill(
      *keys, [=](int64_t i) { return tfw2v::hash_integer(keys->values[i]); },
      [=](int64_t i, int64_t j) { return keys->values[i] == keys->values[j]; });
}

TFW2V_EXPORT int64_t tfw2v_keys_find_string(const tfw2v::KeyTable* keys, const char* text, int64_t size) noexcept {
  return tfw2v::find_string(*keys, text, size);
}

// Writes the index of each of n strings to `indices`, -1 for those that the table lacks. String i begins at offset i of
// the text, and ends `gap` bytes before offset i + 1.
TFW2V_EXPORT void tfw2v_keys_find_strings(const tfw2v::KeyTable* keys, const char* text, const int64_t* offsets,
                                          int64_t gap, int64_t n, int32_t* indices) noexcept {
  const auto size_of = [=](int64_t i) { return offsets[i + 1] - offsets[i] - gap; };
  const auto hash_of = [=](int64_t i) { return tfw2v::hash_string(text + offsets[i], size_of(i)); };
  tfw2v::for_each_hash(tfw2v::Slots(*keys), n, hash_of, [=](int64_t i, uint64_t hash) {
    indices[i] = tfw2v::find_hashed_string(*keys, hash, text + offsets[i], size_of(i));
    return true;
  });
}

// Writes the index of each of n integers to `indices`, -1 for those that the table lacks.
TFW2V_EXPORT void tfw2v_keys_find_integers(const tfw2v::KeyTable* keys, const int64_t* values, int64_t n,
                                           int32_t* indices) noexcept {
  if (keys->kind != tfw2v::kIntegers) {
    for (int64_t i = 0; i < n; ++i) indices[i] = tfw2v::find_integer(*keys, values[i]);
    return;
  }
  const auto hash_of = [=](int64_t i) { return tfw2v::hash_integer(values[i]); };
  tfw2v::for_each_hash(tfw2v::Slots(*keys), n, hash_of, [=](int64_t i, uint64_t hash) {
    indices[i] = tfw2v::find_hashed_integer(*keys, hash, values[i]);
    return true;
  });
}

// Adds n strings, each times[i] times, or once if `times` is null. There is room for all of them. Writes the index of
// each to `indices`.
TFW2V_EXPORT void tfw2v_growing_add(tfw2v::GrowingStrings* strings, const char* text, const int64_t* offsets,
                                    int64_t n, const int64_t* times, int32_t* indices) noexcept {
  tfw2v::add_strings(*strings, text, offsets, n, times, indices);
}

// Fills new slots, which are zeros, with all strings.
TFW2V_EXPORT void tfw2v_growing_hash(const tfw2v::GrowingStrings* strings) noexcept {
  const tfw2v::KeyTable table = tfw2v::table_of(*strings);
  const tfw2v::Slots slots(table);
  const auto hash_of = [=](int64_t i) {
    return tfw2v::hash_string(strings->text + strings->offsets[i], strings->offsets[i + 1] - strings->offsets[i]);
  };
  tfw2v::for_each_hash(slots, strings->n_keys, hash_of, [&](int64_t i, uint64_t hash) {
    slots.put(slots.slot_of(hash, [](int64_t) { return false; }), hash, i);
    return true;
  });
}

// Copies the strings with n indices to `to`; `offsets` contains the offset of each copy, and the end of the last.
TFW2V_EXPORT void tfw2v_keys_copy_strings(const tfw2v::KeyTable* keys, const int64_t* indices, int64_t n,
                                          const int64_t* offsets, char* to) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    if (i + tfw2v::kAhead < n) __builtin_prefetch(keys->offsets + indices[i + tfw2v::kAhead]);
    std::memcpy(to + offsets[i], keys->text + keys->offsets[indices[i]], offsets[i + 1] - offsets[i]);
  }
}

}  // extern "C"
