// Text to word ids: UTF-8, a sentence a line, split into words as Python's str.split() splits.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tfw2v {

constexpr int32_t kEnd = -1, kUnknown = -2;  // after each sentence; a word without a number
constexpr int32_t kFirstTag = -3;  // tag 0 of a document; tag 1 is -4, and so on

// Distinct words, numbered in the order in which they were added, and their counts.
class Words {
 public:
  // A word as it is looked for: up to 8 bytes are `head` itself, of more it is a hash.
  struct Key {
    uint64_t head;
    uint32_t length;  // clipped; 0 is no word
  };
  // Bytes before `end` may be read.
  static Key key_of(const uint8_t* word, int64_t size, const uint8_t* end);

  int32_t find(Key key, const uint8_t* word, int64_t size) const;
  int32_t count(Key key, const uint8_t* word, int64_t size, int64_t times);

  // Counts words that each end with a '\n'; their numbers go to `indices`, if that is not null.
  void add(const uint8_t* text, int64_t size, const int64_t* counts, int32_t* indices);

  // The words, each with a '\n' after it.
  const std::string& text() const { return text_; }
  const std::vector<int64_t>& counts() const { return counts_; }

 private:
  struct Slot {
    Key key = {0, 0};
    int32_t number = 0;
  };
  size_t slot_of(Key key, const uint8_t* word, int64_t size) const;
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(1 << 12);  // a power of 2, at most half of them used
  int shift_ = 64 - 12;
  std::string text_;
  std::vector<int64_t> starts_, counts_;
};

// Writes other numbers in place of ids, without words of number -2 and sentences that they leave
// empty; tags stay, but for those of such a sentence. Returns how many entries are left; -1 if
// there is an id that is not below `limit`.
int64_t renumber(int32_t* ids, int64_t size, const int32_t* numbers, int64_t limit);

struct Shard {
  int64_t entries, tokens, raw_words, sentences;  // as corpus/shards.py has them
};

// Scans texts piece by piece, and writes their ids to shards that end where sentences end.
class Scanner {
 public:
  struct State {
    int64_t raw_words = 0, sentences = 0, types = 0, shards = 0;
    int64_t bad = -1;  // where in the text that was given last bytes are no UTF-8
    int64_t error = 0;  // errno
  };

  // `known` words get their `numbers`; if it is null, words are counted and numbered.
  Scanner(std::string prefix, int64_t longest, int64_t shard, const Words* known,
          const int32_t* numbers)
      : prefix_(std::move(prefix)), longest_(longest), shard_(shard), known_(known),
        numbers_(numbers) {}

  // Makes each line a document, an empty one too, whose tag is its number from 0 up.
  void tag_lines() { tagged_ = true; }

  // Scans what is complete of a text, and returns how many bytes that is. With `is_last` the text
  // ends here; all of it is complete then.
  int64_t scan(const uint8_t* text, int64_t size, bool is_last);
  // Writes what is left.
  void finish() { write(ids_.size()); }

  const State& state() const { return state_; }
  const Words& words() const { return own_; }
  const std::vector<Shard>& shards() const { return shards_; }

 private:
  void take(const uint8_t* word, int64_t size, const uint8_t* end);
  void end_sentence();
  void end_line();
  void write(int64_t size);

  const std::string prefix_;
  const int64_t longest_, shard_;
  const Words* const known_;
  const int32_t* const numbers_;
  Words own_;
  std::vector<int32_t> ids_;
  std::vector<Shard> shards_;
  bool tagged_ = false, in_line_ = false;  // in a line that has bytes
  int64_t in_sentence_ = 0;           // words of the open sentence
  int64_t ended_ = 0, sentences_ = 0;  // entries of `ids_` in ended sentences, and those
  State state_;
};

// A run of bytes of a plain file.
struct Piece {
  std::string path;
  int64_t start, stop;
};

constexpr int kUndecodable = -1;

// Scans pieces, and writes what `scanner` has found beside its shards: `words` and `counts`.
// Returns 0, kUndecodable, or an errno.
int64_t read_run(Scanner& scanner, const std::vector<Piece>& pieces, const std::string& prefix);

}  // namespace tfw2v
