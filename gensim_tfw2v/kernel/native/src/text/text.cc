#include "text/text.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "guard.h"
#include "text/hash.h"

namespace tfw2v {

namespace {

constexpr uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;

// Returns the next 8 bytes, with zeros in place of bytes from `end` on.
uint64_t load(const uint8_t* from, const uint8_t* end) {
  uint64_t loaded = 0;
  std::memcpy(&loaded, from, end - from >= 8 ? 8 : end - from);
  return loaded;
}

// Returns whether Python's str.isspace() is true of a code point.
bool is_space(uint32_t point) {
  return (point >= 9 && point <= 13) || (point >= 28 && point <= 32) || point == 0x85 || point == 0xA0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

// Writes data to a new file, or appends them to a file. Returns 0 or an errno.
int64_t save(const std::string& path, const void* data, int64_t size, bool appends = false) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (appends ? O_APPEND : O_TRUNC);
  const int file = open(path.c_str(), flags, 0666);
  if (file < 0) return errno;
  const auto* from = static_cast<const char*>(data);
  int64_t error = 0;
  while (size && !error) {
    const ssize_t n_written = write(file, from, size);
    if (n_written < 0 && errno != EINTR) error = errno;
    if (n_written > 0) from += n_written, size -= n_written;
  }
  if (close(file) && !error) error = errno;
  return error;
}

// Decodes the multi-byte character at `p` to `point`. Returns the character's length in bytes; 0 if it is invalid
// UTF-8 for Python's strict decoder; -1 if it is cut at `end`.
int decode(const uint8_t* p, const uint8_t* end, uint32_t* point) {
  const uint8_t first = *p;
  const int size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  *point = first & (0xFF >> (size + 1));
  for (int i = 1; i < size; ++i) {
    if (p + i == end) return -1;
    // the range of the second byte excludes overlong forms, surrogates, and code points above U+10FFFF
    const uint8_t min_byte = i > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const uint8_t max_byte = i > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (p[i] < min_byte || p[i] > max_byte) return 0;
    *point = *point << 6 | (p[i] & 0x3F);
  }
  return size;
}

}  // namespace

Words::Key Words::key_of(const uint8_t* word, int64_t size, const uint8_t* end) {
  uint64_t head = load(word, end);
  if (size <= 8) return {head & (~uint64_t{0} >> (64 - 8 * size)), static_cast<uint32_t>(size)};
  for (int64_t i = 8; i < size; i += 8)
    head = hash(head ^ hash(load(word + i, i + 8 <= size ? end : word + size) + i));
  return {head, static_cast<uint32_t>(size < UINT32_MAX ? size : UINT32_MAX)};
}

// Returns the slot of a word, or the empty slot in which it belongs.
size_t Words::slot_of(Key key, const uint8_t* word, int64_t size) const {
  size_t slot = hash(key.head + key.length) >> shift_;
  for (;; slot = (slot + 1) & (slots_.size() - 1)) {
    const Slot& slot_content = slots_[slot];
    if (!slot_content.length) return slot;
    if (slot_content.head == key.head && slot_content.length == key.length &&
        (size <= 8 || !std::memcmp(&text_[starts_[slot_content.index]], word, size)))
      return slot;
  }
}

int32_t Words::find(Key key, const uint8_t* word, int64_t size) const {
  const Slot& slot_content = slots_[slot_of(key, word, size)];
  return slot_content.length ? slot_content.index : kUnknown;
}

int32_t Words::count(Key key, const uint8_t* word, int64_t size, int64_t times) {
  Slot& slot = slots_[slot_of(key, word, size)];
  if (slot.length) {
    counts_[slot.index] += times;
    return slot.index;
  }
  // Everything that may fail for lack of memory precedes the first change.
  for (auto* column : {&starts_, &counts_})
    if (column->size() == column->capacity()) column->reserve(2 * column->size() + 1);
  if (static_cast<size_t>(size) >= text_.capacity() - text_.size()) text_.reserve(2 * text_.size() + size + 1);
  if (2 * (counts_.size() + 1) > slots_.size()) {
    grow();
    return count(key, word, size, times);  // the word's slot has moved
  }
  const auto index = static_cast<int32_t>(counts_.size());
  slot = {key.head, key.length, index};
  starts_.push_back(static_cast<int64_t>(text_.size()));
  counts_.push_back(times);
  text_.append(reinterpret_cast<const char*>(word), size) += '\n';
  return index;
}

void Words::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  --shift_;
  for (const Slot& slot : old) {
    if (!slot.length) continue;
    size_t to = hash(slot.head + slot.length) >> shift_;
    while (slots_[to].length) to = (to + 1) & (slots_.size() - 1);
    slots_[to] = slot;
  }
}

void Words::add(const uint8_t* text, int64_t size, const int64_t* counts, int32_t* indices) {
  const uint8_t* const end = text + size;
  for (int64_t i = 0; text < end; ++i) {
    const auto* stop = static_cast<const uint8_t*>(std::memchr(text, '\n', end - text));
    if (!stop || stop == text) return;  // no '\n' at the end, or an empty word; the result of text() has neither
    const int32_t index = count(key_of(text, stop - text, end), text, stop - text, counts ? counts[i] : 0);
    if (indices) indices[i] = index;
    text = stop + 1;
  }
}

bool Words::defer(Group& group, const uint8_t* word, int64_t size, const uint8_t* end, int64_t place) const {
  const Key key = key_of(word, size, end);
  __builtin_prefetch(&slots_[hash(key.head + key.length) >> shift_]);
  group.words[group.size++] = {key, word, size, place};
  return group.size == 16;
}

void Words::find(Group& group, int32_t* ids) const {
  for (int i = 0; i < group.size; ++i) {
    const auto& [key, word, size, place] = group.words[i];
    ids[place] = find(key, word, size);
  }
  group.size = 0;
}

void Words::count(Group& group, int32_t* ids) {
  for (int i = 0; i < group.size; ++i) {
    const auto& [key, word, size, place] = group.words[i];
    ids[place] = count(key, word, size, 1);
  }
  group.size = 0;
}

bool Words::encode(const uint8_t* text, int64_t size, int64_t n_words, bool grows, const Marks& marks,
                   int32_t* entries) {
  const uint8_t* const end = text + size;
  if (std::count(text, end, 0) != n_words || (size && end[-1])) return false;
  Group group;
  int64_t n_entries = 0, n_marks = 0;  // written so far
  for (int64_t i = 0; i < n_words; ++i) {
    for (; n_marks < marks.size && marks.places[n_marks] <= i; ++n_marks)
      entries[n_entries++] = marks.entries[n_marks];
    const auto* stop = static_cast<const uint8_t*>(std::memchr(text, 0, end - text)) + 1;
    const bool is_full = defer(group, text, stop - text, end, n_entries++);
    if (is_full || stop == end) {
      if (grows)
        count(group, entries);
      else
        find(group, entries);
    }
    text = stop;
  }
  std::copy(marks.entries + n_marks, marks.entries + marks.size, entries + n_entries);
  return true;
}

int64_t renumber(int32_t* ids, int64_t size, const int32_t* new_ids, int64_t limit) {
  int32_t* to = ids;
  for (int64_t i = 0; i < size; ++i) {
    if (ids[i] == kEnd) {
      while (to > ids && to[-1] <= kFirstTag) --to;
      if (to > ids && to[-1] != kEnd) *to++ = kEnd;
    } else if (ids[i] <= kFirstTag) {
      *to++ = ids[i];
    } else if (ids[i] != kUnknown) {
      if (static_cast<uint32_t>(ids[i]) >= limit) return -1;
      *to = new_ids[ids[i]];
      to += *to != kUnknown;
    }
  }
  return to - ids;
}

void pack(const int32_t* entries, int64_t size, std::vector<uint8_t>& bytes) {
  for (int64_t i = 0; i < size; ++i) {
    uint32_t code = static_cast<uint32_t>(entries[i]) + 1;
    for (; code >= 0x80; code >>= 7) bytes.push_back(static_cast<uint8_t>(code | 0x80));
    bytes.push_back(static_cast<uint8_t>(code));
  }
}

bool unpack(const uint8_t* bytes, int64_t size, std::vector<int32_t>& entries) {
  uint64_t code = 0;
  int bits = 0;
  for (int64_t i = 0; i < size; ++i) {
    code |= uint64_t{bytes[i] & 0x7Fu} << bits;
    bits += 7;
    if (bytes[i] & 0x80) {
      if (bits == 35) return false;
      continue;
    }
    if (code > UINT32_MAX) return false;
    entries.push_back(static_cast<int32_t>(static_cast<uint32_t>(code) - 1));
    code = 0;
    bits = 0;
  }
  return !bits;
}

int64_t Scanner::scan(const uint8_t* text, int64_t size, bool is_last) {
  const int64_t n_scanned = split(text, size, is_last);
  look_up();
  return n_scanned;
}

int64_t Scanner::split(const uint8_t* text, int64_t size, bool is_last) {
  const uint8_t *p = text, *const end = text + size;
  state_.bad = -1;
  while (true) {
    for (; p < end && *p < 0x80 && is_space(*p); ++p) {
      in_line_ = true;
      if (*p == '\n') end_line();
    }
    const uint8_t* const word = p;
    in_line_ |= p < end;
    int space_size = 0;  // bytes of the space that ends the word, if it has several bytes
    while (p < end) {
      // Skips to the first byte that is at most 0x20 or at least 0x80, 8 bytes at a time. Subtracting 0x21 from
      // each byte sets the top bit of bytes that are at most 0x20. Borrows may also set the top bits of larger
      // bytes, but only behind the first byte that is sought.
      if (end - p >= 8) {
        const uint64_t bytes = load(p, end);
        const uint64_t special = ((bytes - 0x21 * kOnes) | bytes) & kTops;
        if (!special) {
          p += 8;
          continue;
        }
        p += __builtin_ctzll(special) / 8;
      }
      if (*p < 0x80) {
        if (is_space(*p)) break;
        ++p;
        continue;
      }
      uint32_t point;
      const int bytes = decode(p, end, &point);
      if (bytes < 0 && !is_last) return word - text;
      if (bytes <= 0) {
        state_.bad = p - text;
        return word - text;
      }
      if (is_space(point)) {
        space_size = bytes;
        break;
      }
      p += bytes;
    }
    if (p == end && !is_last) return word - text;
    if (p > word) add_word(word, p - word, end);
    p += space_size;
    if (p == end && is_last) break;
  }
  if (in_line_) end_line();
  return size;
}

void Scanner::add_word(const uint8_t* word, int64_t size, const uint8_t* end) {
  if (tagged_ && !n_sentence_words_) ids_.push_back(static_cast<int32_t>(kFirstTag - state_.sentences));
  const Words& words = vocabulary_ ? *vocabulary_ : counted_words_;
  const bool is_full = words.defer(group_, word, size, end, ids_.size());
  ids_.push_back(kUnknown);  // look_up() will replace this entry
  if (is_full) look_up();
  if (++n_sentence_words_ == max_words_) end_sentence();
}

void Scanner::end_sentence() {
  if (!n_sentence_words_) return;
  ids_.push_back(kEnd);
  if (n_shard_entries_ + static_cast<int64_t>(ids_.size()) > max_entries_ && n_shard_entries_ + n_complete_) {
    write(n_complete_);
    end_shard();
  }
  if (n_complete_ >= kPiece) write(n_complete_);
  n_complete_ = ids_.size();
  ++n_sentences_;
  state_.sentences += !tagged_;
  state_.raw_words += n_sentence_words_;
  n_sentence_words_ = 0;
}

void Scanner::look_up() {
  if (vocabulary_)
    vocabulary_->find(group_, ids_.data());
  else
    counted_words_.count(group_, ids_.data());
  state_.types = counted_words_.counts().size();
}

void Scanner::end_line() {
  end_sentence();
  in_line_ = false;
  state_.sentences += tagged_;
}

void Scanner::write(int64_t size) {
  look_up();
  n_shard_entries_ += size;
  shard_.raw_words += size - (1 + tagged_) * n_sentences_;
  shard_.sentences += n_sentences_;
  int64_t n_kept = size;
  if (vocabulary_) n_kept = renumber(ids_.data(), size, vocabulary_ids_, vocabulary_->counts().size());
  if (n_kept && !state_.error) {
    char name[16];
    std::snprintf(name, sizeof name, "%05d.int32", static_cast<int>(shards_.size()));
    state_.error = save(prefix_ + name, ids_.data(), n_kept * sizeof(int32_t), shard_.entries);
    shard_.entries += n_kept;
    for (int64_t i = 0; i < n_kept; ++i) shard_.tokens += ids_[i] >= 0;
  }
  ids_.erase(ids_.begin(), ids_.begin() + size);
  n_complete_ = n_sentences_ = 0;
}

void Scanner::end_shard() {
  if (shard_.entries) shards_.push_back(shard_);
  state_.shards = shards_.size();
  shard_ = {};
  n_shard_entries_ = 0;
}

namespace {

// Closes a file, also after an exception.
struct OpenFile {
  const int descriptor;
  ~OpenFile() {
    if (descriptor >= 0) close(descriptor);
  }
};

// Scans the bytes [start, stop) of an open file. Returns 0, kUndecodable, or an errno.
int64_t scan_file(Scanner& scanner, int file, int64_t start, int64_t stop) {
  std::vector<uint8_t> buffer(1 << 18);
  // n_unscanned: bytes in the buffer that are not scanned yet; n_read: bytes of the last read, 0 at the end
  for (int64_t n_unscanned = 0, n_read = 1; n_read;) {
    if (n_unscanned == static_cast<int64_t>(buffer.size())) buffer.resize(2 * buffer.size());
    const int64_t room = buffer.size() - n_unscanned;
    n_read = pread(file, &buffer[n_unscanned], room < stop - start ? room : stop - start, start);
    if (n_read < 0) return errno;
    start += n_read;
    n_unscanned += n_read;
    const int64_t n_scanned = scanner.scan(buffer.data(), n_unscanned, !n_read);
    if (scanner.state().bad >= 0) return kUndecodable;
    if (scanner.state().error) return scanner.state().error;
    n_unscanned -= n_scanned;
    std::memmove(buffer.data(), buffer.data() + n_scanned, n_unscanned);
  }
  return 0;
}

}  // namespace

int64_t read_run(Scanner& scanner, const std::vector<Piece>& pieces, const std::string& prefix) {
  for (const Piece& piece : pieces) {
    const OpenFile file = {open(piece.path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.descriptor < 0) return errno;
    if (const int64_t error = scan_file(scanner, file.descriptor, piece.start, piece.stop)) return error;
  }
  scanner.finish();
  if (scanner.state().error) return scanner.state().error;
  const auto& text = scanner.words().text();
  const auto& counts = scanner.words().counts();
  const int64_t error = save(prefix + "words", text.data(), text.size());
  return error ? error : save(prefix + "counts", counts.data(), counts.size() * sizeof(int64_t));
}

}  // namespace tfw2v

namespace {

tfw2v::Words& words(void* pointer) { return *static_cast<tfw2v::Words*>(pointer); }
tfw2v::Scanner& scanner(void* pointer) { return *static_cast<tfw2v::Scanner*>(pointer); }

}  // namespace

extern "C" {

// If memory is short, functions that return a pointer return null, and those that return a number kFailed.
TFW2V_EXPORT void* tfw2v_words_new(void) {
  return tfw2v::guarded<void*>(nullptr, [] { return new tfw2v::Words; });
}
TFW2V_EXPORT void tfw2v_words_free(void* pointer) noexcept { delete &words(pointer); }
TFW2V_EXPORT int64_t tfw2v_words_add(void* pointer, const uint8_t* text, int64_t size, const int64_t* counts,
                                     int32_t* indices) {
  return tfw2v::guarded(tfw2v::kFailed, [=] {
    words(pointer).add(text, size, counts, indices);
    return int64_t{0};
  });
}
TFW2V_EXPORT int64_t tfw2v_words_encode(void* pointer, const uint8_t* text, int64_t size, int64_t n_words,
                                        int32_t grows, const int64_t* places, const int32_t* marks, int64_t n_marks,
                                        int32_t* entries) {
  return tfw2v::guarded(tfw2v::kFailed, [=] {
    return int64_t{words(pointer).encode(text, size, n_words, grows, {places, marks, n_marks}, entries)};
  });
}
TFW2V_EXPORT int64_t tfw2v_words_number(void* pointer) noexcept { return words(pointer).counts().size(); }
TFW2V_EXPORT int64_t tfw2v_words_size(void* pointer) noexcept { return words(pointer).text().size(); }
TFW2V_EXPORT const void* tfw2v_words_text(void* pointer) noexcept { return words(pointer).text().data(); }
TFW2V_EXPORT const void* tfw2v_words_counts(void* pointer) noexcept { return words(pointer).counts().data(); }

TFW2V_EXPORT void* tfw2v_scanner_new(const char* prefix, int64_t max_words, int64_t max_entries, const void* known,
                                     const int32_t* ids) {
  return tfw2v::guarded<void*>(nullptr, [=] {
    return new tfw2v::Scanner(prefix, max_words, max_entries, static_cast<const tfw2v::Words*>(known), ids);
  });
}
TFW2V_EXPORT void tfw2v_scanner_tag_lines(void* pointer) noexcept { scanner(pointer).tag_lines(); }
TFW2V_EXPORT void tfw2v_scanner_free(void* pointer) noexcept { delete &scanner(pointer); }
TFW2V_EXPORT int64_t tfw2v_scanner_scan(void* pointer, const uint8_t* text, int64_t size, int32_t is_last) {
  return tfw2v::guarded(tfw2v::kFailed, [=] { return scanner(pointer).scan(text, size, is_last); });
}
TFW2V_EXPORT int64_t tfw2v_scanner_finish(void* pointer) {
  return tfw2v::guarded(tfw2v::kFailed, [=] {
    scanner(pointer).finish();
    return int64_t{0};
  });
}
TFW2V_EXPORT const void* tfw2v_scanner_state(void* pointer) noexcept { return &scanner(pointer).state(); }
TFW2V_EXPORT const void* tfw2v_scanner_words(void* pointer) noexcept { return &scanner(pointer).words(); }
TFW2V_EXPORT const void* tfw2v_scanner_shards(void* pointer) noexcept { return scanner(pointer).shards().data(); }

TFW2V_EXPORT int64_t tfw2v_renumber(int32_t* ids, int64_t size, const int32_t* new_ids, int64_t limit) noexcept {
  return tfw2v::renumber(ids, size, new_ids, limit);
}

}  // extern "C"
