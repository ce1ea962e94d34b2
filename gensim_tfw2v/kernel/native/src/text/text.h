// Conversion of UTF-8 text to word ids. A line is a sentence, split into words like Python's
// str.split().
//
// Encoded text is a list of entries (int32): word ids, and the constants below.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "unit.h"

namespace tfw2v {

constexpr int32_t kEnd = -1, kUnknown = -2;  // end of a sentence or document; word outside the vocabulary
constexpr int32_t kFirstTag = -3;            // tag 0 of a document, before its words; tag t is kFirstTag - t

// Distinct words, with indices in the order in which they were added, and their counts. A hash table
// with linear probing.
class Words {
 public:
  // Key of a word. `head` holds the bytes of a word of up to 8 bytes, and a hash of a longer one.
  struct Key {
    uint64_t head;
    uint32_t length;  // in bytes, at most UINT32_MAX; 0: empty slot
  };
  // Returns the key of a word of `size` > 0 bytes. May read up to 7 bytes after it, but none from `end` on.
  static Key key_of(const uint8_t* word, int64_t size, const uint8_t* end);

  // Returns the index of a word, or kUnknown.
  int32_t find(Key key, const uint8_t* word, int64_t size) const;
  // Adds `times` to the count of a word, which is added if it is new. Returns its index.
  int32_t count(Key key, const uint8_t* word, int64_t size, int64_t times);

  // Adds words, each followed by '\n'. `counts`: number of occurrences of each word; null: 0. `indices`:
  // receives the index of each word, unless null.
  void add(const uint8_t* text, int64_t size, const int64_t* counts, int32_t* indices);

  // Words to be looked up together. Their slots are prefetched, because many are not in the processor's cache.
  struct Group {
    struct Word {
      Key key;
      const uint8_t* start;
      int64_t size, place;
    } words[16];
    int size = 0;
  };
  // Adds a word to a group. Returns whether the group is full.
  bool defer(Group& group, const uint8_t* word, int64_t size, const uint8_t* end, int64_t place) const;
  // Empties a group, and sets ids[place] of each word to the result of `find`, or of `count` with 1.
  void find(Group& group, int32_t* ids) const;
  void count(Group& group, int32_t* ids);

  // Looks up n_words words, each followed by a zero byte, which counts as its last one, so that words may
  // be empty. With `grows`, words are counted. `places`: receives the place of each new word in the text.
  // Returns the number of new words, or -1, without looking up any word, if the text has more or fewer zero
  // bytes.
  int64_t encode(const uint8_t* text, int64_t size, int64_t n_words, bool grows, int32_t* indices, int32_t* places);

  // All words in the order of their indices, each followed by '\n'.
  const std::string& text() const { return text_; }
  const std::vector<int64_t>& counts() const { return counts_; }

 private:
  struct Slot {  // 16 bytes, so that none lies in two cache lines
    uint64_t head = 0;
    uint32_t length = 0;
    int32_t index = 0;
  };
  size_t slot_of(Key key, const uint8_t* word, int64_t size) const;
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(1 << 12);  // number: a power of 2; at most half are in use
  int shift_ = 64 - 12;                                   // hash >> shift_ is the index of a slot
  std::string text_;
  std::vector<int64_t> starts_, counts_;  // per word: offset of its first byte in text_; its count
};

// Replaces each word id by new_ids[id], in place. Drops words whose old or new id is kUnknown, and
// sentences without remaining words, including their tags. Returns the number of remaining entries, or -1 if
// an id is not below `limit`.
int64_t renumber(int32_t* ids, int64_t size, const int32_t* new_ids, int64_t limit);

// Appends entries to `bytes`, each as the number entry + 1, in unsigned LEB128: 7 bits per byte, from the
// lowest, and the bit 0x80 in all bytes of a number but its last. Ends of sentences and the most frequent
// words take one byte; tags take five.
void pack(const int32_t* entries, int64_t size, std::vector<uint8_t>& bytes);

// Appends the packed entries to `entries`. Returns false if the bytes are not packed entries.
bool unpack(const uint8_t* bytes, int64_t size, std::vector<int32_t>& entries);

// Counts of one shard, which is a file of entries: see Shard in corpus/encoded_corpus.py.
// clang-format off
#define TFW2V_SHARD(X)  \
  X(int64_t, entries)   \
  X(int64_t, tokens)    \
  X(int64_t, raw_words) \
  X(int64_t, sentences)
// clang-format on
struct Shard {
  TFW2V_SHARD(TFW2V_FIELD)
};

// clang-format off
#define TFW2V_SCANNER_STATE(X)                                                                          \
  X(int64_t, raw_words)                                                                                 \
  X(int64_t, sentences)                                                                                 \
  X(int64_t, types)                                                                                     \
  X(int64_t, shards)                                                                                    \
  X(int64_t, bad)    /* offset of the first invalid UTF-8 in the text passed last; -1: none */          \
  X(int64_t, error)  /* errno of a failed write */
// clang-format on
struct ScannerState {
  TFW2V_SCANNER_STATE(TFW2V_FIELD)
};

// Scans texts in pieces, and writes their entries to shards, which end at the ends of sentences.
class Scanner {
 public:
  // Arguments:
  //   prefix   first part of the shards' file names
  //   max_words  maximum number of words per sentence; longer sentences are split
  //   max_entries  maximum number of entries per shard; only a shard of one sentence may have more
  //   known    vocabulary. If null, words are counted, and their ids are their indices in `words()`
  //   ids      id of each word of `known`
  Scanner(std::string prefix, int64_t max_words, int64_t max_entries, const Words* known, const int32_t* ids)
      : prefix_(std::move(prefix)), max_words_(max_words), max_entries_(max_entries), known_(known), known_ids_(ids) {
    state_.bad = -1;
  }

  // Makes each line a document, whose tag is the line's index. Empty lines count, too.
  void tag_lines() { tagged_ = true; }

  // Scans the complete words of a text, and returns the number of bytes scanned. The caller passes the
  // remaining bytes again, before the text that follows. With `is_last`, the text ends here.
  int64_t scan(const uint8_t* text, int64_t size, bool is_last);
  // Writes the last shard.
  void finish() {
    write(ids_.size());
    end_shard();
  }

  const ScannerState& state() const { return state_; }
  const Words& words() const { return own_; }
  const std::vector<Shard>& shards() const { return shards_; }

 private:
  void take(const uint8_t* word, int64_t size, const uint8_t* end);  // adds a word to the sentence
  int64_t split(const uint8_t* text, int64_t size, bool is_last);    // see `scan`
  void look_up();                                                    // the words of group_
  void end_sentence();
  void end_line();
  void write(int64_t size);  // appends the first `size` entries of ids_ to the shard, and removes them
  void end_shard();

  static constexpr int64_t kPiece = 1 << 16;  // entries of complete sentences that are written at a time
  const std::string prefix_;
  const int64_t max_words_, max_entries_;
  const Words* const known_;
  const int32_t* const known_ids_;
  Words own_;
  Words::Group group_;  // words whose entries in ids_ are not set yet
  std::vector<int32_t> ids_;
  std::vector<Shard> shards_;
  bool tagged_ = false, in_line_ = false;  // in_line_: the current line has bytes
  int64_t in_sentence_ = 0;                // words of the current sentence
  int64_t ended_ = 0, sentences_ = 0;      // entries of complete sentences in ids_; number of these sentences
  Shard now_ = {};                         // counts of what is written of the current shard
  int64_t in_shard_ = 0;                   // its entries, including those of unknown words
  ScannerState state_ = {};
};

// The bytes [start, stop) of an uncompressed file.
struct Piece {
  std::string path;
  int64_t start, stop;
};

constexpr int kUndecodable = -1;

// Scans pieces of files, and writes their shards. Writes the words of `scanner`, each followed by '\n',
// to the file `prefix`words, and their counts (int64) to `prefix`counts. Returns 0 on success, kUndecodable,
// or an errno.
int64_t read_run(Scanner& scanner, const std::vector<Piece>& pieces, const std::string& prefix);

}  // namespace tfw2v
