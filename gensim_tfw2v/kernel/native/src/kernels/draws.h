// Random draws of a work unit: subsampling, window sizes, and negatives.
#pragma once
#include <vector>

#include "text/text.h"
#include "unit.h"

namespace tfw2v {

// A stream of random numbers (Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number
// Generators", SplitMix64).
class Random {
 public:
  // Starts the stream for a key and a purpose.
  Random(const int32_t key[2], uint64_t purpose) {
    state_ = (static_cast<uint64_t>(static_cast<uint32_t>(key[0])) << 32) | static_cast<uint32_t>(key[1]);
    state_ = next() + purpose * 0xD1342543DE82EF95ull;
    next();
  }
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // Returns a number in 0 .. limit - 1. It is uniform if the upper 32 bits of `bits` are uniform.
  static uint32_t below(uint64_t bits, uint64_t limit) { return static_cast<uint32_t>(((bits >> 32) * limit) >> 32); }

 private:
  uint64_t state_;
};

// Purposes of random numbers: subsampling and windows, negatives, initial vectors of inference.
enum Purpose : uint64_t { kTokens, kNegatives, kStarts };

using Drawn = UnitOf<std::vector<int32_t>>;

// Returns an error message if the alias table is invalid, else null.
const char* check_noise(const Tfw2vOptions& options, const Tfw2vNoiseTable& words);

// Draws a unit. `entries` are word ids, with kEnd after each sentence or document. Tag t of a document is the entry
// kFirstTag - t, and its row of inputs is V + t. `key` [2] seeds the random numbers. Returns an error message, or
// null on success.
//
// In PV-DBOW, each tag of a document forms a pair with each of its tokens. If a unit has more than `max_pairs` pairs,
// its pairs and negatives are left out, and PairPieces draws them during training. The unit then has `documents`,
// `first_tags` and `tags`, and its `counts` are [0, number of tokens, key[0], key[1], max_pairs].
const char* draw(const Tfw2vOptions& options, const Tfw2vNoiseTable& words, Tfw2vInts entries, Tfw2vInts key,
                 int64_t max_pairs, Drawn& drawn);

// Returns whether draw() has left out the pairs of a unit.
inline bool is_in_pieces(const Tfw2vUnit& unit) { return unit.counts.size == 5; }

// The (tag, token) pairs of documents: token by token, and for each token tag by tag.
class PairSequence {
 public:
  PairSequence(Tfw2vInts tokens, Tfw2vInts documents, Tfw2vInts first_tags, Tfw2vInts tags);
  int64_t size() const { return size_; }
  // Sets `tag` and `token` to the next pair; there must be one.
  void next(int32_t& tag, int32_t& token);

 private:
  const Tfw2vInts tokens_, documents_, first_tags_, tags_;
  int64_t size_ = 0;  // number of pairs
  int64_t a_ = -1;    // index in tokens_ of the token in the last pair
  // Token a_ has not been paired yet with the tags that have indices [next_tag_, end_) in tags_.
  int32_t next_tag_ = 0, end_ = 0;
};

// Draws a unit whose pairs draw() has left out, in pieces. Each piece is a unit that trainers accept. With
// options.train_words, the first piece contains the windows of words. Each later piece contains at most max_pairs
// (tag, token) pairs.
class PairPieces {
 public:
  PairPieces(const Tfw2vOptions& options, const Tfw2vNoiseTable& words, const Tfw2vUnit& unit);
  // Draws the next piece. Returns false if there is none.
  bool next();
  Tfw2vUnit unit() const;
  // Fractions of the unit's pairs that precede the begin and the end of this piece; 0 and 1 for windows.
  double begin() const { return begin_; }
  double end() const { return end_; }

 private:
  const Tfw2vOptions& options_;
  const Tfw2vNoiseTable& words_;
  const Tfw2vUnit& unit_;
  PairSequence pairs_;
  Random noise_;
  int64_t done_ = 0;  // pairs of the pieces so far
  bool has_windows_;  // whether the next piece is the windows
  double begin_ = 0, end_ = 0;
  Drawn piece_;
};

// Fills `drawn` with negatives from the noise distribution, by its alias table. drawn[k] is a word of the
// vocabulary's shard (k % Kn) % shards. Word w is in shard w % shards.
void draw_noise(const Tfw2vNoiseTable& words, const Tfw2vOptions& options, Random& random,
                std::vector<int32_t>& drawn);

// Replaces some of the negatives [n_negatives], so that they have fewer distinct rows. Negatives that occur in
// `words` stay. Of the n others, the first max(min_kept, n / uses) stay, and are repeated cyclically in place of the
// rest. All are from the same distribution, so expected updates are unchanged. Each shard of the vocabulary is treated
// separately. Returns false, and replaces nothing, if a word or negative is not in 0 .. V - 1.
bool reuse(Tfw2vInts words, int32_t V, int32_t shards, int32_t uses, int32_t min_kept, int32_t* negatives,
           int64_t n_negatives);

}  // namespace tfw2v
