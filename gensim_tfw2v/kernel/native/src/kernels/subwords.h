// FastText (Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information", section 3.2): the
// input x of a word is composed of rows e_r, its own and those of its character n-grams. Row r is the sum of
// f_r rows of gensim's (t.weights) and has the factor s_r = f_r lock_r.
//   x = (sum_r e_r) / q. For CBOW, q = 1. For skip-gram, as in gensim, q is the number of n-grams without the
//       word itself: sum_r f_r - 1, but at least 1
//   lock_x = (sum_r s_r) / q,  weight_x = sum_r f_r
//   de_r = s_r (x_after - x_before) / lock_x: as in gensim, each row gets the whole update of x
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/buffer.h"
#include "kernels/products.h"
#include "kernels/unit_rows.h"

namespace tfw2v::TFW2V_ISA {

// Per span of blocks: composes the input of each distinct word once, lets a trainer update these inputs in a
// small table, then adds each word's update to all rows that it is composed of.
class Subwords : UnitRows {
 public:
  explicit Subwords(const UnitRows& unit) : UnitRows(unit), span_unit_(u), span_tables_(t) {
    static thread_local std::vector<int32_t> indices;  // reused by all units of a thread; see index_of_
    if (static_cast<int64_t>(indices.size()) < t.subwords.n_lists()) indices.resize(t.subwords.n_lists(), -1);
    index_of_ = indices.data();
    inputs_.resize(n);
    span_unit_.inputs = {inputs_.data(), n};
    const int64_t max_words = std::min<int64_t>(n, span_length() + 2 * margin());
    locks_.resize(max_words);
    weights_.resize(max_words);
    span_tables_.lock = {locks_.data(), max_words};
    span_tables_.weights = {weights_.data(), max_words};
    span_tables_.inputs = {rows_.of(2 * max_words * stride), max_words};
  }

  // Unit and tables for the trainers, with the composed inputs.
  UnitRows unit() const { return {o, span_unit_, span_tables_, hot_nodes}; }

  // Trains positions [first, last), span by span. Calls `train(begin, end)` for the positions [begin, end) of
  // each span.
  template <class Train>
  void spans(int64_t first, int64_t last, Train train) {
    for (int64_t p = first; p < last; p += span_length()) {
      const int64_t end = std::min(last, p + span_length());
      list_words(std::max<int64_t>(0, p - margin()), std::min<int64_t>(n, end + margin()));
      compose();
      train(p, end);
      add();
    }
  }

 private:
  int64_t span_length() const { return rounded(o.span, o.block); }  // positions per span: whole blocks
  // Number of positions before and after a span whose words are inputs of its windows.
  int64_t margin() const {
    const bool in_blocks = o.skipgram && !o.hierarchical && !o.sequential;
    return in_blocks || one_by_one() ? 0 : o.window;
  }
  static constexpr int kAhead = 6;  // distance of prefetches, in rows

  // Lists the distinct words of positions [first, last), and the rows of these words. Sets inputs_.
  void list_words(int64_t first, int64_t last) {
    words_.clear();
    ids_.clear();
    const ResetIndices reset = {*this};
    for (int64_t a = first; a < last; ++a) {
      const int32_t word = u.inputs[a];
      if (index_of_[word] < 0) {
        TFW2V_ASSERT(static_cast<int64_t>(words_.size()) < span_tables_.inputs.n_rows);
        words_.push_back(word);
        index_of_[word] = static_cast<int32_t>(words_.size()) - 1;
        ids_.insert(ids_.end(), &t.subwords.entries[t.subwords.offsets[word]],
                    &t.subwords.entries[t.subwords.offsets[word + 1]]);
      }
      inputs_[a] = index_of_[word];
    }
  }

  // Resets index_of_ at the end of list_words(), also after an exception: the thread's next unit uses it, too.
  struct ResetIndices {
    const Subwords& subwords;
    ~ResetIndices() {
      for (const int32_t word : subwords.words_) subwords.index_of_[word] = -1;
    }
  };

  // Calls use(w, x, rows, ids) for each word of the span, with its index, its input, the number of its
  // rows, and their ids.
  template <class Use>
  void each_word(Use use) {
    const int32_t* ids = ids_.data();
    for (size_t w = 0; w < words_.size(); ++w) {
      const int rows = t.subwords.offsets[words_[w] + 1] - t.subwords.offsets[words_[w]];
      use(w, span_tables_.inputs.rows + w * stride, rows, ids);
      ids += rows;
    }
  }

  // Returns a row of inputs. Prefetches the row kAhead ids later, for writing if `to_write`.
  template <int to_write>
  float* row(const int32_t* id) const {
    if (id + kAhead < ids_.data() + ids_.size()) prefetch<to_write>(input(id[kAhead]), stride);
    return input(*id);
  }

  // Composes the inputs x, and copies them to x_before. Sets lock_x, and weight_x, because CBOW's mean is
  // over all rows of a window.
  void compose() {
    each_word([&](size_t w, float* x, int rows, const int32_t* ids) {
      float lock = 0, weight_sum = 0;
      for (int r = 0; r < rows; ++r) {
        lock += row_scale(ids[r]);
        weight_sum += weight(ids[r]);
      }
      const float divisor = o.skipgram && weight_sum > 1 ? weight_sum - 1 : 1;
      locks_[w] = lock / divisor;
      weights_[w] = weight_sum;
      slices<kSlice>(static_cast<int>(stride / W), [&](auto L, int64_t d) {
        Vector sum[L] = {};
        for (int r = 0; r < rows; ++r) {
          const float* from = row<0>(ids + r) + d;
          for (int l = 0; l < L; ++l) sum[l] += load(from + l * W);
        }
        for (int l = 0; l < L; ++l) {
          store(x + d + l * W, sum[l] / divisor);
          store(x_before(w) + d + l * W, sum[l] / divisor);
        }
      });
    });
  }

  // Adds each word's update to its rows.
  void add() {
    each_word([&](size_t w, const float* x, int rows, const int32_t* ids) {
      if (locks_[w] == 0.f) return;
      slices<kSlice>(static_cast<int>(stride / W), [&](auto L, int64_t d) {
        Vector delta[L];
        for (int l = 0; l < L; ++l) delta[l] = (load(x + d + l * W) - load(x_before(w) + d + l * W)) / locks_[w];
        for (int r = 0; r < rows; ++r) {
          float* to = row<1>(ids + r) + d;
          const float scale = row_scale(ids[r]);
          for (int l = 0; l < L; ++l) store(to + l * W, load(to + l * W) + scale * delta[l]);
        }
      });
    });
  }

  // s_r. A row that merges f_r rows of gensim gets f_r times the update of one row.
  float row_scale(int32_t id) const { return weight(id) * lock_factor(id); }
  float weight(int32_t id) const { return t.weights.size ? t.weights[id] : 1.f; }
  // x_before of the span's word w.
  float* x_before(size_t w) const {
    return span_tables_.inputs.rows + (span_tables_.inputs.n_rows + static_cast<int64_t>(w)) * stride;
  }

  Tfw2vUnit span_unit_;                 // the unit, with inputs_ as its inputs
  Tfw2vTables span_tables_;             // the tables, with the span's composed inputs as their inputs
  int32_t* index_of_;                   // [V] index in words_, during list_words(); -1 otherwise
  std::vector<int32_t> words_;          // the span's distinct words
  std::vector<int32_t> ids_;            // ids of the rows that compose the inputs of words_, word by word
  std::vector<int32_t> inputs_;         // [n] index in words_ of each position's word
  std::vector<float> locks_, weights_;  // lock_x and weight_x of each word
  Buffer rows_;  // [2, max_words, stride] x, then x_before, of the distinct words that a span may have
};

}  // namespace tfw2v::TFW2V_ISA
