// Conversion of UTF-8 text to word ids. A line is a sentence, which is split into words as Python's str.split()
// splits it.
//
// Encoded text is a list of entries (int32): word ids, and the constants below.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "unit.h"

namespace tfw2v {

constexpr int32_t kEnd = -1;       // end of a sentence or document
constexpr int32_t kUnknown = -2;   // word outside the vocabulary
constexpr int32_t kFirstTag = -3;  // kFirstTag - t is tag t of a document, before the document's words

// Hash table (with linear probing) of distinct words and their counts. Indices of words are in the order in which
// the words were added.
class Words {
 public:
  // Key of a word. `head` contains the bytes of a word of up to 8 bytes, or a hash of the bytes of a longer word.
  struct Key {
    uint64_t head;
    uint32_t length;  // in bytes, at most UINT32_MAX; 0: empty slot
  };
  // Returns the key of a word of `size` > 0 bytes. May read up to 7 bytes behind the word, but none from `end` on.
  static Key key_of(const uint8_t* word, int64_t size, const uint8_t* end);

  // Returns the index of a word, or kUnknown.
  int32_t find(Key key, const uint8_t* word, int64_t size) const;
  // Adds a word, if it is new, and adds `times` to its count. Returns its index.
  int32_t count(Key key, const uint8_t* word, int64_t size, int64_t times);

  // Adds words, each followed by '\n'. `counts` contains the number of occurrences of each word; null stands for
  // zeros. `indices` receives the index of each word, unless it is null.
  void add(const uint8_t* text, int64_t size, const int64_t* counts, int32_t* indices);

  // Words that are looked up as a group, after their slots were prefetched. Many slots are not in the processor's
  // cache.
  struct Group {
    struct Word {
      Key key;
      const uint8_t* start;
      int64_t size;
      int64_t place;  // index of the word's id in `ids`
    } words[16];
    int size = 0;  // number of words
  };
  // Adds a word to a group, and prefetches its slot. Returns whether the group is full.
  bool defer(Group& group, const uint8_t* word, int64_t size, const uint8_t* end, int64_t place) const;
  // Empties a group, and sets ids[place] of each word to the result of `find`, or of `count` with 1.
  void find(Group& group, int32_t* ids) const;
  void count(Group& group, int32_t* ids);

  // Entries that are inserted between words: `entries[i]` before the word `places[i]`. Places ascend.
  struct Marks {
    const int64_t* places;
    const int32_t* entries;
    int64_t size;
  };
  // Looks up n_words words, each followed by a zero byte. The zero byte is stored as the word's last byte, so
  // that words may be empty. With `grows`, words are counted, and new ones are added. `entries` receives the
  // index of each word, and the marks. Returns whether the text has n_words zero bytes. If it has more or fewer,
  // no word is looked up.
  bool encode(const uint8_t* text, int64_t size, int64_t n_words, bool grows, const Marks& marks, int32_t* entries);

  // All words in the order of their indices, each followed by '\n'.
  const std::string& text() const { return text_; }
  const std::vector<int64_t>& counts() const { return counts_; }

 private:
  struct Slot {  // 16 bytes, so that none lies in two cache lines
    uint64_t head = 0;
    uint32_t length = 0;  // 0: empty slot
    int32_t index = 0;
  };
  size_t slot_of(Key key, const uint8_t* word, int64_t size) const;
  void grow();  // doubles the number of slots

  std::vector<Slot> slots_ = std::vector<Slot>(1 << 12);  // their number is a power of 2; at most half are in use
  int shift_ = 64 - 12;                                   // hash >> shift_ is the index of a slot
  std::string text_;
  std::vector<int64_t> starts_;  // offset of each word's first byte in text_
  std::vector<int64_t> counts_;  // count of each word
};

// Replaces each word id by new_ids[id], in place. Words whose old or new id is kUnknown are dropped, and then
// sentences without words, with their tags. Returns the number of remaining entries, or -1 if an id is not below
// `limit`.
int64_t renumber(int32_t* ids, int64_t size, const int32_t* new_ids, int64_t limit);

// Appends entries to `bytes`, as the numbers entry + 1 in unsigned LEB128. A byte contains 7 bits of a number, the
// lowest ones first, and the bit 0x80 unless it is the last byte of the number. Ends of sentences and the most
// frequent words need one byte, and tags need five.
void pack(const int32_t* entries, int64_t size, std::vector<uint8_t>& bytes);

// Appends the entries that pack() has packed to `entries`. Returns false if `bytes` cannot come from pack().
bool unpack(const uint8_t* bytes, int64_t size, std::vector<int32_t>& entries);

// Counts of one shard, which is a file of entries. They are fields of the class Shard in corpus/shard_files.py.
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

// Counts and errors of a Scanner so far, which Python reads after each block of text.
// clang-format off
#define TFW2V_SCANNER_STATE(X)                                                                          \
  X(int64_t, raw_words)  /* words of complete sentences, including unknown ones */                      \
  X(int64_t, sentences)  /* complete sentences, or documents if lines are tagged */                     \
  X(int64_t, types)      /* distinct words; 0 with a vocabulary */                                      \
  X(int64_t, shards)     /* complete shards */                                                          \
  X(int64_t, bad)        /* offset of the first invalid UTF-8 in the last block of text; -1: none */    \
  X(int64_t, error)      /* errno of a failed write; 0: none */
// clang-format on
struct ScannerState {
  TFW2V_SCANNER_STATE(TFW2V_FIELD)
};

// Scans texts block by block, and writes their entries to shards, which end at the ends of sentences.
class Scanner {
 public:
  // Arguments:
  //   prefix       first part of the paths of the shards
  //   max_words    maximum number of words per sentence; longer sentences are split
  //   max_entries  maximum number of entries per shard; only a shard of one sentence may have more
  //   vocabulary   known words. If null, words are counted, and their ids are their indices in `words()`
  //   ids          id of each word of `vocabulary`
  Scanner(std::string prefix, int64_t max_words, int64_t max_entries, const Words* vocabulary, const int32_t* ids)
      : prefix_(std::move(prefix)), max_words_(max_words), max_entries_(max_entries), vocabulary_(vocabulary),
        vocabulary_ids_(ids) {
    state_.bad = -1;
  }

  // Makes each line a document, whose tag is the line's index. Empty lines are documents, too.
  void tag_lines() { tagged_ = true; }

  // Scans the complete words of a block of text, and returns the number of bytes scanned. The caller passes the
  // remaining bytes again, at the start of the next block. With `is_last`, the block ends the text.
  int64_t scan(const uint8_t* text, int64_t size, bool is_last);
  // Writes the last shard.
  void finish() {
    write(ids_.size());
    end_shard();
  }

  const ScannerState& state() const { return state_; }
  const Words& words() const { return counted_words_; }
  const std::vector<Shard>& shards() const { return shards_; }

 private:
  void add_word(const uint8_t* word, int64_t size, const uint8_t* end);  // adds a word to the current sentence
  int64_t split(const uint8_t* text, int64_t size, bool is_last);        // does the work of `scan`, except look_up
  void look_up();                                                        // sets the entries of the words of group_
  void end_sentence();
  void end_line();
  void write(int64_t size);  // appends the first `size` entries of ids_ to the shard, and removes them from ids_
  void end_shard();

  static constexpr int64_t kPiece = 1 << 16;  // minimum entries of complete sentences that are written at a time
  const std::string prefix_;
  const int64_t max_words_, max_entries_;
  const Words* const vocabulary_;
  const int32_t* const vocabulary_ids_;
  Words counted_words_;           // all words, unless there is a vocabulary
  Words::Group group_;            // words whose entries in ids_ are not set yet
  std::vector<int32_t> ids_;      // entries that are not written yet
  std::vector<Shard> shards_;     // complete shards
  bool tagged_ = false;           // whether lines are documents
  bool in_line_ = false;          // whether the current line has bytes
  int64_t n_sentence_words_ = 0;  // words of the current sentence
  int64_t n_complete_ = 0;        // entries of complete sentences in ids_
  int64_t n_sentences_ = 0;       // complete sentences in ids_
  Shard shard_ = {};              // counts of the part of the current shard that is already written
  int64_t n_shard_entries_ = 0;   // entries passed to write() for the current shard, including unknown words
  ScannerState state_ = {};
};

// The bytes [start, stop) of an uncompressed file.
struct Piece {
  std::string path;
  int64_t start, stop;
};

constexpr int kUndecodable = -1;  // error of a text that is not UTF-8

// Scans pieces of files, and writes their shards. Then writes the words of `scanner`, each followed by '\n', to
// the file `prefix`words, and the words' counts (int64) to `prefix`counts. Returns 0 on success, kUndecodable, or
// an errno.
int64_t read_run(Scanner& scanner, const std::vector<Piece>& pieces, const std::string& prefix);

}  // namespace tfw2v
