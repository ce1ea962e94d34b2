// Words whose input is made of several rows: their own, and those of their character n-grams
// (Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information").
#pragma once

#include <algorithm>
#include <vector>

#include "buffer.h"
#include "products.h"
#include "unit_rows.h"

namespace tfw2v::TFW2V_ISA {

// Trains spans of blocks: makes the input of each of a span's words once, trains on these in a
// small table, and then adds each word's update to all rows that it is made of.
class Subwords : UnitRows {
 public:
  explicit Subwords(const UnitRows& unit) : UnitRows(unit), own_(u), made_(t) {
    static thread_local std::vector<int32_t> numbers;  // -1 of words that are not in the span
    if (static_cast<int64_t>(numbers.size()) < t.subwords.number())
      numbers.resize(t.subwords.number(), -1);
    number_of_ = numbers.data();
    inputs_.resize(n);
    own_.inputs = {inputs_.data(), n};
    const int64_t most = std::min<int64_t>(n, length() + 2 * around());
    locks_.resize(most);
    weights_.resize(most);
    made_.lock = {locks_.data(), most};
    made_.weights = {weights_.data(), most};
    made_.inputs = {rows_.of(2 * most * S), most};
  }

  // What trainers are given instead.
  UnitRows unit() const { return {o, own_, made_}; }

  // Trains the positions first to before last: `train` is called with those of each span.
  template <class Train>
  void spans(int64_t first, int64_t last, Train train) {
    for (int64_t p = first; p < last; p += length()) {
      const int64_t end = std::min(last, p + length());
      find(std::max<int64_t>(0, p - around()), std::min<int64_t>(n, end + around()));
      make();
      train(p, end);
      add();
    }
  }

 private:
  int64_t length() const { return rounded(o.span, o.block); }  // of a span: whole blocks
  // Positions before and after a span whose words are inputs of its blocks.
  int64_t around() const {
    const bool in_blocks = o.skipgram && !o.hierarchical && !o.sequential;
    return in_blocks || one_by_one() ? 0 : o.window;
  }
  static constexpr int kAhead = 6;  // rows that are prefetched before they are needed

  // Numbers the distinct words of positions, and lists all their rows.
  void find(int64_t first, int64_t last) {
    words_.clear();
    ids_.clear();
    for (int64_t a = first; a < last; ++a) {
      const int32_t word = u.inputs[a];
      if (number_of_[word] < 0) {
        number_of_[word] = static_cast<int32_t>(words_.size());
        words_.push_back(word);
        ids_.insert(ids_.end(), &t.subwords.entries[t.subwords.first[word]],
                    &t.subwords.entries[t.subwords.first[word + 1]]);
      }
      inputs_[a] = number_of_[word];
    }
    for (const int32_t word : words_) number_of_[word] = -1;
  }

  // Calls `use` with each word's input and number of rows, and where their ids begin.
  template <class Use>
  void each(Use use) {
    const int32_t* ids = ids_.data();
    for (size_t w = 0; w < words_.size(); ++w) {
      const int rows = t.subwords.first[words_[w] + 1] - t.subwords.first[words_[w]];
      use(w, made_.inputs.rows + w * S, rows, ids);
      ids += rows;
    }
  }

  template <int to_write>
  float* row(const int32_t* id) const {
    if (id + kAhead < ids_.data() + ids_.size()) prefetch<to_write>(input(id[kAhead]), S);
    return input(*id);
  }

  // CBOW predicts by all rows of a window. As in gensim, skip-gram divides by the number of n-grams,
  // without the word itself.
  void make() {
    each([&](size_t w, float* made, int rows, const int32_t* ids) {
      float lock = 0, number = 0;
      for (int r = 0; r < rows; ++r) {
        lock += row_scale(ids[r]);
        number += weight(ids[r]);
      }
      const float divisor = o.skipgram && number > 1 ? number - 1 : 1;
      locks_[w] = lock / divisor;
      weights_[w] = number;
      slices<kSlice>(static_cast<int>(S / W), [&](auto L, int64_t d) {
        Vector sum[L] = {};
        for (int r = 0; r < rows; ++r) {
          const float* from = row<0>(ids + r) + d;
          for (int l = 0; l < L; ++l) sum[l] += load(from + l * W);
        }
        for (int l = 0; l < L; ++l) {
          store(made + d + l * W, sum[l] / divisor);
          store(before(w) + d + l * W, sum[l] / divisor);
        }
      });
    });
  }

  // A word's input has moved by its lock times the gradient that each of its rows gets.
  void add() {
    each([&](size_t w, const float* made, int rows, const int32_t* ids) {
      if (locks_[w] == 0.f) return;
      slices<kSlice>(static_cast<int>(S / W), [&](auto L, int64_t d) {
        Vector delta[L];
        for (int l = 0; l < L; ++l)
          delta[l] = (load(made + d + l * W) - load(before(w) + d + l * W)) / locks_[w];
        for (int r = 0; r < rows; ++r) {
          float* to = row<1>(ids + r) + d;
          const float own = row_scale(ids[r]);
          for (int l = 0; l < L; ++l) store(to + l * W, load(to + l * W) + own * delta[l]);
        }
      });
    });
  }

  // Factor of a row's update: it may be the sum of several rows that always get equal updates.
  float row_scale(int32_t id) const { return weight(id) * locked(id); }
  float weight(int32_t id) const { return t.weights.size ? t.weights[id] : 1.f; }
  float* before(size_t w) const {
    return made_.inputs.rows + (made_.inputs.number + static_cast<int64_t>(w)) * S;
  }

  Tfw2vUnit own_;
  Tfw2vTables made_;
  int32_t* number_of_;                // of each word
  std::vector<int32_t> words_, ids_;  // of the span, and of all rows of its words
  std::vector<int32_t> inputs_;       // [n]
  std::vector<float> locks_, weights_;
  Buffer rows_;
};

}  // namespace tfw2v::TFW2V_ISA
