#include "text/integers.h"

#include <algorithm>

#include "guard.h"
#include "text/hash.h"
#include "text/text.h"

namespace tfw2v {

size_t Integers::home(int64_t value) const { return hash(static_cast<uint64_t>(value)) >> shift_; }

// Returns the slot of an integer, or the empty slot in which it belongs.
size_t Integers::slot_of(int64_t value) const {
  size_t slot = home(value);
  while (slots_[slot].index >= 0 && slots_[slot].value != value) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void Integers::prefetch(int64_t value) const {
  if (is_direct(value))
    __builtin_prefetch(&direct_[value]);
  else
    __builtin_prefetch(&slots_[home(value)]);
}

int32_t Integers::find(int64_t value) const {
  const int32_t index = is_direct(value) ? direct_[value] : slots_[slot_of(value)].index;
  return index < 0 ? kUnknown : index;
}

int32_t Integers::add(int64_t value) {
  if (is_direct(value)) {
    if (direct_[value] < 0) direct_[value] = append(value);
    return direct_[value];
  }
  const Slot& slot = slots_[slot_of(value)];
  if (slot.index >= 0) return slot.index;
  if (static_cast<uint64_t>(value) < kSparseness * values_.size()) {
    raise_limit(std::max<size_t>(value + 1, 2 * direct_.size()));
    return add(value);
  }
  if (2 * (n_used_slots_ + 1) > slots_.size()) grow();
  const int32_t index = append(value);
  slots_[slot_of(value)] = {value, index};
  ++n_used_slots_;
  return index;
}

int32_t Integers::append(int64_t value) {
  values_.push_back(value);  // may fail for lack of memory, so it precedes the change of other members
  return static_cast<int32_t>(values_.size() - 1);
}

void Integers::raise_limit(size_t limit) {
  std::vector<int32_t> direct(limit, -1);
  std::vector<Slot> no_slots(kFirstSlots);
  bool is_any_hashed = false;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (static_cast<uint64_t>(values_[i]) < limit)
      direct[values_[i]] = static_cast<int32_t>(i);
    else
      is_any_hashed = true;
  }
  direct_.swap(direct);
  if (is_any_hashed) return;  // slots of integers below the limit remain in use until the next grow()
  slots_.swap(no_slots);
  shift_ = kFirstShift;
  n_used_slots_ = 0;
}

void Integers::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  --shift_;
  n_used_slots_ = 0;
  for (const Slot& slot : old) {
    if (slot.index < 0 || is_direct(slot.value)) continue;
    slots_[slot_of(slot.value)] = slot;
    ++n_used_slots_;
  }
}

int64_t Integers::encode(const int64_t* values, int64_t n_values, const int64_t* lengths, int64_t n_sentences,
                         int64_t max_words, bool grows, int32_t* entries, int64_t n_entries) {
  int64_t n_remaining = n_values, n_ends = 0;
  for (int64_t i = 0; i < n_sentences; ++i) {
    if (lengths[i] < 0 || lengths[i] > n_remaining) return -1;
    n_remaining -= lengths[i];
    n_ends += lengths[i] / max_words + (lengths[i] % max_words != 0);
  }
  if (n_remaining || n_values + n_ends != n_entries) return -1;
  constexpr int64_t kAhead = 16;  // slots and elements are prefetched, because many are not in the processor's cache
  int64_t w = 0;                  // index of a word
  for (int64_t i = 0; i < n_sentences; ++i) {
    for (const int64_t stop = w + lengths[i]; w < stop;) {
      const int64_t part_stop = std::min(w + max_words, stop);
      for (; w < part_stop; ++w) {
        if (w + kAhead < n_values) prefetch(values[w + kAhead]);
        *entries++ = grows ? add(values[w]) : find(values[w]);
      }
      *entries++ = kEnd;
    }
  }
  return n_entries;
}

}  // namespace tfw2v

namespace {

tfw2v::Integers& integers(void* pointer) { return *static_cast<tfw2v::Integers*>(pointer); }

}  // namespace

extern "C" {

// If memory is short, functions that return a pointer return null, and those that return a number kFailed.
TFW2V_EXPORT void* tfw2v_integers_new(void) {
  return tfw2v::guarded<void*>(nullptr, [] { return new tfw2v::Integers; });
}
TFW2V_EXPORT void tfw2v_integers_free(void* pointer) noexcept { delete &integers(pointer); }
TFW2V_EXPORT int64_t tfw2v_integers_encode(void* pointer, const int64_t* values, int64_t n_values,
                                           const int64_t* lengths, int64_t n_sentences, int64_t max_words,
                                           int32_t grows, int32_t* entries, int64_t n_entries) {
  return tfw2v::guarded(tfw2v::kFailed, [=] {
    return integers(pointer).encode(values, n_values, lengths, n_sentences, max_words, grows, entries, n_entries);
  });
}
TFW2V_EXPORT int64_t tfw2v_integers_number(void* pointer) noexcept { return integers(pointer).values().size(); }
TFW2V_EXPORT const void* tfw2v_integers_values(void* pointer) noexcept { return integers(pointer).values().data(); }

}  // extern "C"
