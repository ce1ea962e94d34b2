#include "kernels/draws.h"

#include <algorithm>
#include <utility>

namespace tfw2v {
namespace {

Tfw2vInts array(const std::vector<int32_t>& integers) {
  return {integers.data(), static_cast<int64_t>(integers.size())};
}

// PV-DBOW: appends the next n_pairs (tag, token) pairs. They are dealt to blocks round-robin, so that pairs of
// one document are in different blocks: in the same block, all would be trained from the same row of the tag.
void append_pairs(const Tfw2vOptions& options, PairSequence& pairs, int64_t n_pairs, Drawn& drawn) {
  const int64_t begin = drawn.targets.size(), block = options.block;
  const int64_t blocks = options.sequential ? 0 : n_pairs / block;
  for (auto* ids : {&drawn.inputs, &drawn.targets}) ids->resize(begin + n_pairs);
  drawn.reaches.resize(2 * (begin + n_pairs), 0);
  const auto put = [&](int64_t index) { pairs.next(drawn.inputs[begin + index], drawn.targets[begin + index]); };
  for (int64_t i = 0; i < block; ++i)
    for (int64_t b = 0; b < blocks; ++b) put(b * block + i);
  for (int64_t k = blocks * block; k < n_pairs; ++k) put(k);
  drawn.counts[0] = static_cast<int32_t>(n_pairs);
}

// Draws the negatives of a unit, or of a piece, and lists the shards of its targets.
void add_negatives(const Tfw2vOptions& options, const Tfw2vNoiseTable& words, Random& random, Drawn& drawn) {
  drawn.shards.clear();
  drawn.negatives.clear();
  if (!options.negative) return;
  if (options.shards > 1)
    for (int32_t target : drawn.targets) drawn.shards.push_back(target % options.shards);
  drawn.negatives.resize((drawn.targets.size() + options.block - 1) / options.block * options.shared);
  draw_noise(words, options, random, drawn.negatives);
}

}  // namespace

const char* check_noise(const Tfw2vOptions& options, const Tfw2vNoiseTable& words) {
  if (!options.negative) return nullptr;
  if (words.noise.size != 2 * words.keep.size) return "noise must be [V, 2], where keep is [V]";
  return words.keep.size < options.shards ? "shards must be at most V, the number of words" : nullptr;
}

void draw_noise(const Tfw2vNoiseTable& words, const Tfw2vOptions& options, Random& random,
                std::vector<int32_t>& drawn) {
  // The upper 32 bits of a random number select a bucket, the lower 31 bits one of the bucket's two words.
  constexpr int64_t kBatch = 32;  // buckets are prefetched in batches
  uint64_t bits[kBatch];
  int64_t buckets[kBatch];
  const uint64_t shards = options.shards;
  for (int64_t first = 0, end = drawn.size(); first < end; first += kBatch) {
    const int64_t n_draws = std::min(kBatch, end - first);
    for (int64_t i = 0; i < n_draws; ++i) {
      const uint64_t shard = shards == 1 ? 0 : (first + i) % options.shared % shards;
      const uint64_t size = shards == 1 ? words.keep.size : (words.keep.size - shard + shards - 1) / shards;
      bits[i] = random.next();
      buckets[i] = shard + shards * Random::below(bits[i], size);
      __builtin_prefetch(&words.noise[2 * buckets[i]]);
    }
    for (int64_t i = 0; i < n_draws; ++i) {
      const int32_t uniform = static_cast<int32_t>(bits[i] & 0x7FFFFFFF);
      const int32_t* bucket = &words.noise[2 * buckets[i]];
      const int32_t is_other = -static_cast<int32_t>(uniform >= bucket[0]);  // branchless
      drawn[first + i] = (static_cast<int32_t>(buckets[i]) & ~is_other) | (bucket[1] & is_other);
    }
  }
}

bool reuse(Tfw2vInts words, int32_t V, int32_t shards, int32_t uses, int32_t min_kept, int32_t* negatives,
           int64_t n_negatives) {
  std::vector<uint8_t> is_word(V);
  for (int64_t i = 0; i < words.size; ++i) {
    if (static_cast<uint32_t>(words[i]) >= static_cast<uint32_t>(V)) return false;
    is_word[words[i]] = 1;
  }
  std::vector<std::vector<int32_t>> others(shards);
  for (int64_t i = 0; i < n_negatives; ++i) {
    if (static_cast<uint32_t>(negatives[i]) >= static_cast<uint32_t>(V)) return false;
    if (!is_word[negatives[i]]) others[negatives[i] % shards].push_back(negatives[i]);
  }
  for (auto& ids : others) {
    const size_t kept = std::max<size_t>(min_kept, ids.size() / uses);
    for (size_t i = kept; i < ids.size(); ++i) ids[i] = ids[i - kept];
  }
  std::vector<size_t> next(shards);
  for (int64_t i = 0; i < n_negatives; ++i) {
    const int32_t shard = negatives[i] % shards;
    if (!is_word[negatives[i]]) negatives[i] = others[shard][next[shard]++];
  }
  return true;
}

PairSequence::PairSequence(Tfw2vInts tokens, Tfw2vInts documents, Tfw2vInts first_tags, Tfw2vInts tags)
    : tokens_(tokens), documents_(documents), first_tags_(first_tags), tags_(tags) {
  for (int64_t a = 0; a < tokens.size; ++a) size_ += first_tags[documents[a] + 1] - first_tags[documents[a]];
}

void PairSequence::next(int32_t& tag, int32_t& token) {
  while (next_tag_ == end_) {
    const int32_t document = documents_[++a_];
    next_tag_ = first_tags_[document], end_ = first_tags_[document + 1];
  }
  tag = tags_[next_tag_++];
  token = tokens_[a_];
}

PairPieces::PairPieces(const Tfw2vOptions& options, const Tfw2vNoiseTable& words, const Tfw2vUnit& unit)
    : options_(options), words_(words), unit_(unit), pairs_(unit.targets, unit.documents, unit.first_tags, unit.tags),
      noise_(unit.counts.data + 2, kNegatives), has_windows_(options.train_words) {}

bool PairPieces::next() {
  for (auto* field : {&piece_.inputs, &piece_.targets, &piece_.reaches}) field->clear();
  piece_.counts = {0, unit_.counts[1]};
  const int64_t n_pairs = std::min<int64_t>(unit_.counts[4], pairs_.size() - done_);
  if (std::exchange(has_windows_, false)) {
    piece_.targets.assign(unit_.targets.data, unit_.targets.data + unit_.targets.size);
    piece_.reaches.assign(unit_.reaches.data, unit_.reaches.data + unit_.reaches.size);
    piece_.inputs = piece_.targets;
    begin_ = 0, end_ = 1;
  } else {
    if (!n_pairs) return false;
    append_pairs(options_, pairs_, n_pairs, piece_);
    begin_ = static_cast<double>(done_) / pairs_.size();
    done_ += n_pairs;
    end_ = static_cast<double>(done_) / pairs_.size();
  }
  add_negatives(options_, words_, noise_, piece_);
  return true;
}

Tfw2vUnit PairPieces::unit() const {
  Tfw2vUnit unit;
  for (int i = 0; i < kUnitFields; ++i) (&unit.inputs)[i] = array((&piece_.inputs)[i]);
  return unit;
}

const char* draw(const Tfw2vOptions& options, const Tfw2vNoiseTable& words, Tfw2vInts entries, Tfw2vInts key,
                 int64_t max_pairs, Drawn& drawn) {
  if (key.size != 2) return "key must have 2 elements";
  if (const char* wrong = check_noise(options, words)) return wrong;
  auto &targets = drawn.targets, &reaches = drawn.reaches, &tags = drawn.tags;
  targets.resize(entries.size);
  reaches.resize(2 * entries.size);
  drawn.documents.resize(options.documents ? entries.size : 0);
  drawn.first_tags.assign(options.documents ? 2 : 0, 0);
  for (auto* none : {&drawn.negatives, &drawn.shards, &tags}) none->clear();
  Random random(key.data, kTokens);
  int64_t kept = 0, first = 0;
  const auto end_sentence = [&] {
    for (int64_t a = first; a < kept; ++a) {
      const int64_t reach = reaches[2 * a];
      reaches[2 * a] = static_cast<int32_t>(std::min(reach, a - first));
      reaches[2 * a + 1] = static_cast<int32_t>(std::min(reach, kept - 1 - a));
    }
    first = kept;
    if (options.documents) drawn.first_tags.push_back(static_cast<int32_t>(tags.size()));
  };
  for (int64_t e = 0; e < entries.size; ++e) {
    const int32_t word = entries[e];
    if (word < 0) {
      if (word > kFirstTag) {
        end_sentence();
      } else if (options.documents) {
        tags.push_back(static_cast<int32_t>(words.keep.size + kFirstTag - word));
        drawn.first_tags.back() = static_cast<int32_t>(tags.size());
      }
      continue;
    }
    if (word >= words.keep.size) return "word ids must be below V, the number of words";
    // The upper 24 bits are for subsampling, the next 32 for the window size. As in gensim, a word is
    // kept with probability keep[word] = sample_int / 2^32. Its window has width w or, with shrink, the
    // smaller of w and a uniform draw from 1 .. max_window. end_sentence() cuts it at the sentence's ends.
    const uint64_t bits = random.next();
    const bool stays = static_cast<float>(bits >> 40) * 0x1p-24f < words.keep[word];
    int32_t reach = options.window;
    if (options.shrink) {
      const uint64_t reduced = 1 + Random::below(bits << 24, options.max_window);
      reach = static_cast<int32_t>(std::min<uint64_t>(reduced, reach));
    }
    targets[kept] = word;
    reaches[2 * kept] = reach;
    if (options.documents) drawn.documents[kept] = static_cast<int32_t>(drawn.first_tags.size()) - 2;
    kept += stays;  // branchless: a branch would be mispredicted
  }
  end_sentence();
  targets.resize(kept);
  reaches.resize(2 * kept);
  if (options.documents) drawn.documents.resize(kept);
  drawn.inputs = targets;
  drawn.counts = {0, static_cast<int32_t>(kept)};
  if (options.documents && options.skipgram) {
    const std::vector<int32_t> tokens = targets;
    PairSequence pairs(array(tokens), array(drawn.documents), array(drawn.first_tags), array(tags));
    if (pairs.size() > max_pairs) {
      drawn.counts = {0, drawn.counts[1], key[0], key[1], static_cast<int32_t>(max_pairs)};
      return nullptr;
    }
    if (!options.train_words)
      for (auto* field : {&drawn.inputs, &targets, &reaches}) field->clear();
    append_pairs(options, pairs, pairs.size(), drawn);
    drawn.documents.clear(), drawn.first_tags.clear(), tags.clear();
  }
  Random noise(key.data, kNegatives);
  add_negatives(options, words, noise, drawn);
  return nullptr;
}

}  // namespace tfw2v
