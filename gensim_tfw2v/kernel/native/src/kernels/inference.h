// Inference of vectors for new documents. The rows of the model do not change.
//
// A document's vector v starts at small random numbers. Per epoch, each word of the document that
// subsampling keeps updates v by its outputs y: the word itself, K negatives, and the nodes of its path.
//   h  = v (DBOW); the sum or mean of v and the window's words (DM); or their concatenation (dm_concat)
//   g  = alpha * (label - sigmoid(y . h)) for each y, with label 1 or 0; g = 0 where abs(y . h) >= 6
//   v += factor * sum of g y. dm_concat adds only the first D elements of the sum, because v is the first D
//        elements of h. See hidden_of() for the factor.
// One thread interleaves many documents, which share the negatives of a step.
#pragma once

#include <cstring>
#include <memory>

#include "kernels/draws.h"
#include "kernels/trainer.h"

namespace tfw2v::TFW2V_ISA {

// A model's own table, [n_rows, stride]. Without padding, stride = size. Kernels load whole vectors, so the
// last lanes that they load for a row may belong to the next row. These lanes are multiplied by 0 or cut off,
// and must be finite. The last rows are read from a longer copy, so that no load passes the end of the table.
class ModelRows {
 public:
  ModelRows(const Tfw2vTable& table, int64_t size, int64_t stride)
      : rows_(table.rows), stride_(stride), copied_(std::max<int64_t>(0, table.n_rows - rounded(size, W) / stride)),
        copy_((table.n_rows - copied_) * stride + W) {
    std::copy(rows_ + copied_ * stride, rows_ + table.n_rows * stride, copy_.begin());
  }
  const float* operator[](int64_t row) const {
    return row < copied_ ? rows_ + row * stride_ : copy_.data() + (row - copied_) * stride_;
  }

 private:
  const float* rows_;
  const int64_t stride_, copied_;
  std::vector<float> copy_;
};

// Infers up to kGroups x kLanes documents interleaved, one word of each per step. All documents share the
// negatives of a step. Each document gets new negatives in each step, so shared ones are as good for it as
// its own. A finished document is replaced by the next.
class Inference : Trainer {
 public:
  Inference(const UnitRows& unit, const Tfw2vNoiseTable& words, const Tfw2vInference& documents, Tfw2vResult& result)
      : Trainer(unit, kNoAlphas, result), words_(words), documents_(documents), token_options_(o), D(t.size),
        hidden_size(D * std::max(1, o.concatenated)), hidden_stride(rounded(hidden_size, W)), K(o.negative),
        inputs_(t.inputs, D, t.stride), outputs_(t.outputs, hidden_size, hidden_size + t.stride - D),
        nodes_(t.nodes, hidden_size, hidden_size + t.stride - D), drawn_(int64_t{K} * kSteps),
        noise_(K * kSteps * hidden_stride), hidden_(kLanes * hidden_stride), inside_(Integers{} - 1) {
    token_options_.documents = token_options_.negative = 0;  // negatives are drawn once for all documents
    int64_t max_path = 0;
    for (int64_t i = 0; i < documents.words.entries.size && o.hierarchical; ++i) {
      const int32_t* path = &t.paths.offsets[documents.words.entries[i]];
      max_path = std::max<int64_t>(max_path, path[1] - path[0]);
    }
    max_outputs_ = static_cast<int>(rounded(K + 1 + max_path, 4));
    labels_.resize(rounded(kLanes * max_outputs_, W));
    y_.resize(labels_.size());
    scores_.of(labels_.size() + W);
    for (int64_t d = D % W; d % W; ++d) inside_[d] = 0;
  }

  void run() {
    if (!documents_.words.n_lists()) return;
    std::vector<std::vector<Lane>> groups(kGroups);
    Buffer vectors(kGroups * kLanes * n_vectors * W);
    float* vector = vectors;
    for (int l = 0; l < kLanes; ++l)
      for (auto& group : groups)
        if (next_ < documents_.words.n_lists()) {
          group.emplace_back();
          begin(group.back(), vector);
          vector += n_vectors * W;
        }
    Random random(groups[0][0].key, kNegatives);
    for (bool is_left = true; is_left;) {
      draw_noise(words_, o, random, drawn_);
      for (int32_t row : drawn_) prefetch<0>(outputs_[row], hidden_size);
      for (int i = 0; i < K * kSteps; ++i)
        std::memcpy(noise_ + i * hidden_stride, outputs_[drawn_[i]], hidden_size * sizeof(float));
      is_left = false;
      for (auto& group : groups)
        for (int step = 0; step < kSteps && fill(group); ++step) {
          train(group, step);
          is_left = true;
        }
    }
  }

 private:
  static constexpr float kNoAlphas[2] = {};
  // A group of kLanes documents trains kSteps steps before the next group, so that the rows of its words
  // stay in the cache.
  static constexpr int kGroups = 8, kLanes = 4, kSteps = 8;

  struct Lane {
    int64_t document, epoch;  // indices of the document and of the epoch
    int64_t at;               // index in `drawn` of the next word
    int32_t key[2];
    Drawn drawn;    // words of the epoch after subsampling, and their windows
    float* vector;  // [n_vectors * W], with zeros from D on
    // DM: [words + 1, n_vectors * W] prefix sums of the words' rows
    std::unique_ptr<Buffer> sums = std::make_unique<Buffer>();
  };

  // Replaces finished documents of a group by the next ones. Returns whether the group has any document left.
  bool fill(std::vector<Lane>& group) {
    for (size_t l = 0; l < group.size();) {
      Lane& lane = group[l];
      if (has_word(lane)) {
        ++l;
        continue;
      }
      std::copy_n(lane.vector, D, documents_.vectors + lane.document * D);
      if (next_ < documents_.words.n_lists()) {
        begin(lane, lane.vector);
      } else {
        std::swap(lane, group.back());
        group.pop_back();
      }
    }
    return !group.empty();
  }

  // Starts the next document in a lane. Its vector is uniform in [-1/2, 1/2) / D, as in gensim, and
  // depends on its words and the seed only.
  void begin(Lane& lane, float* vector) {
    const int64_t document = next_++;
    uint64_t text = documents_.seed;
    for (int64_t i = documents_.words.offsets[document]; i < documents_.words.offsets[document + 1]; ++i) {
      text = (text ^ static_cast<uint32_t>(documents_.words.entries[i])) * 0x9E3779B97F4A7C15ull;
      text ^= text >> 32;
    }
    lane.document = document, lane.epoch = -1, lane.at = 0, lane.vector = vector;
    lane.key[0] = static_cast<int32_t>(text), lane.key[1] = static_cast<int32_t>(text >> 32);
    lane.drawn.targets.clear();
    Random random(lane.key, kStarts);
    for (int64_t d = 0; d < D; ++d) vector[d] = (static_cast<float>(random.next() >> 40) * 0x1p-24f - .5f) / D;
  }

  // Returns whether a document has a word left. At the end of an epoch, draws the words of the next epoch.
  bool has_word(Lane& lane) const {
    while (lane.at == static_cast<int64_t>(lane.drawn.targets.size())) {
      if (++lane.epoch == documents_.alphas.size) return false;
      const int32_t* ends = &documents_.words.offsets[lane.document];
      const uint32_t one = static_cast<uint32_t>(lane.key[0]) + static_cast<uint32_t>(lane.epoch);
      const int32_t key[] = {static_cast<int32_t>(one), lane.key[1]};
      draw(token_options_, words_, {&documents_.words.entries[ends[0]], ends[1] - ends[0]}, {key, 2}, 0, lane.drawn);
      lane.at = 0;
      if (!o.skipgram && !o.concatenated) sum_up(lane);
    }
    return true;
  }

  // Computes prefix sums of the words' rows. A window's sum is the difference of two prefix sums: a
  // loop over a window of random length would cost a branch misprediction.
  void sum_up(Lane& lane) const {
    const std::vector<int32_t>& tokens = lane.drawn.targets;
    float* to = lane.sums->of((tokens.size() + 1) * n_vectors * W);
    slices<kSlice>(n_vectors, [&](auto L, int64_t d) {
      Vector sum[L];
      unroll<L>([&](auto l) { store(to + d + l * W, sum[l] = Vector{}); });
      float* at = to + d;
      for (int32_t token : tokens) {
        const float* row = inputs_[token] + d;
        at += n_vectors * W;
        unroll<L>([&](auto l) { store(at + l * W, sum[l] += load(row + l * W)); });
      }
    });
  }

  // Trains a word of each document of a group. All scores are computed first, so that the processor can
  // overlap the documents.
  void train(std::vector<Lane>& lanes, int step) {
    int columns[kLanes];
    for (size_t l = 0; l < lanes.size(); ++l) {
      float factor = 1;
      const float* hidden = hidden_of(lanes[l], hidden_ + l * hidden_stride, factor);
      columns[l] = add_predicted(lanes[l], step, l * max_outputs_, documents_.alphas[lanes[l].epoch] * factor);
      score_rows<1>(&hidden, &y_[l * max_outputs_], columns[l], static_cast<int>(hidden_stride / W),
                    scores_ + l * max_outputs_, 0);
      ++lanes[l].at;
    }
    const int n_scores = static_cast<int>(rounded(lanes.size() * max_outputs_, W));
    std::fill(labels_.begin() + lanes.size() * max_outputs_, labels_.begin() + n_scores, 0.f);
    coefficients(scores_, labels_.data(), n_scores, 1, scores_, false);  // alpha is in the labels already
    for (size_t l = 0; l < lanes.size(); ++l) {
      weighted_sum(scores_ + l * max_outputs_, 0, 1, &y_[l * max_outputs_], columns[l], &lanes[l].vector, 1,
                   n_vectors);
      cut(lanes[l].vector);
    }
  }

  // Sets y_ from `first` on to the outputs of a document's next word, and labels_ to alpha (label 1),
  // -alpha (label 0), or 0 (skipped). Returns the number of outputs.
  int add_predicted(const Lane& lane, int step, int64_t first, float alpha) {
    const int32_t* token = &lane.drawn.targets[lane.at];
    const float** y = &y_[first];
    float* labels = &labels_[first];
    int columns = 0;
    for (int i = step * K; columns < K; ++i) {
      y[columns] = noise_ + i * hidden_stride;
      labels[columns++] = drawn_[i] == *token ? 0 : -alpha;
    }
    if (K) {
      y[columns] = outputs_[*token], labels[columns++] = alpha;
      if (token != &lane.drawn.targets.back()) prefetch<0>(outputs_[token[1]], hidden_size);
    }
    if (o.hierarchical)
      for (int32_t k = t.paths.offsets[*token]; k < t.paths.offsets[*token + 1]; ++k) {
        y[columns] = nodes_[t.paths.entries[k] / 2];
        labels[columns++] = t.paths.entries[k] % 2 ? -alpha : alpha;
      }
    TFW2V_ASSERT(columns <= max_outputs_);
    if (o.hierarchical) std::fill(labels + columns, labels + max_outputs_, 0.f);  // paths differ in length
    return columns;
  }

  // Returns the hidden layer of a document's next word, and sets `factor`, which scales the update of the vector.
  // With `corrected`, the factor is that of the gradient: 1 / count for a mean, and 1 for a sum. Without it, the two
  // are exchanged, as in gensim.
  const float* hidden_of(const Lane& lane, float* room, float& factor) const {
    if (o.skipgram) return lane.vector;
    const int32_t *tokens = lane.drawn.targets.data(), *reach = &lane.drawn.reaches[2 * lane.at];
    const int64_t a = lane.at, first = a - reach[0], last = a + reach[1];
    if (o.concatenated) {
      float* end = std::copy_n(lane.vector, D, room);
      for (int64_t j = a - o.window; j <= a + o.window; ++j)
        if (j != a) end = std::copy_n(inputs_[j < first || j > last ? o.padding : tokens[j]], D, end);
      return room;
    }
    const float count = static_cast<float>(1 + last - first), mean = o.mean ? 1 / count : 1;
    factor = o.mean == o.corrected ? 1 / count : 1;
    const float *sums = *lane.sums, *low = sums + first * n_vectors * W, *high = sums + (last + 1) * n_vectors * W;
    const float *before = sums + a * n_vectors * W, *own = before + n_vectors * W;
    for (int64_t d = 0; d < n_vectors * W; d += W) {
      const Vector words = load(high + d) - load(low + d) - (load(own + d) - load(before + d));
      store(room + d, mean * (load(lane.vector + d) + words));
    }
    cut(room);
    return room;
  }

  // Sets the floats from D on to 0. They were computed from neighbouring rows of the tables.
  void cut(float* row) const {
    float* end = row + (n_vectors - 1) * W;
    store(end, reinterpret_cast<Vector>(reinterpret_cast<Integers>(load(end)) & inside_));
  }

  const Tfw2vNoiseTable& words_;
  const Tfw2vInference& documents_;
  Tfw2vOptions token_options_;
  const int64_t D, hidden_size;  // floats of a document's vector, and of a hidden layer
  const int64_t hidden_stride;   // hidden_size, rounded up to a multiple of W
  const int K;
  int max_outputs_;   // maximum number of outputs per word, rounded up to 4
  int64_t next_ = 0;  // index of the next document to start
  const ModelRows inputs_, outputs_, nodes_;
  std::vector<int32_t> drawn_;   // [kSteps, K] ids of the current negatives
  std::vector<float> labels_;    // [kLanes, max_outputs_] labels * alpha, padded to a multiple of W
  std::vector<const float*> y_;  // [kLanes, max_outputs_] outputs and nodes
  Buffer noise_;                 // [kSteps, K, hidden_stride] copies of the rows of drawn_
  Buffer hidden_;                // [kLanes, hidden_stride] hidden layers
  Buffer scores_;                // [kLanes, max_outputs_] scores, then coefficients; followed by room for W floats
  Integers inside_;              // mask of a row's last vector: -1 in lanes below D, else 0
};

}  // namespace tfw2v::TFW2V_ISA
