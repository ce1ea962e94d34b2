// Input side of CBOW for one block: hidden layers by prefix sums, updates of inputs by a difference array.
// x_j are the inputs of the block's windows, in text order. Position a has the input x_e. Its window is the
// x_j with lo <= j < hi, without x_e itself. Its scales are defined in cbow_blocks.h.
//   prefix_j = x_0 + ... + x_{j - 1},  h_a = forward_scale (prefix_hi - prefix_lo - x_e)
//   v_a = backward_scale dh_a:  deltas_lo += v_a,  deltas_hi -= v_a
//   dx_j = lock_j (deltas_0 + ... + deltas_j - v_j), where v_j is v_a of the position a with input x_j; 0 if
//          a is outside of the block
// So no loop runs over a window: its random length would cost a branch misprediction. Only CbowBlocks uses
// it: its windows have no tags.
#pragma once

#include <algorithm>
#include <vector>

#include "buffer.h"
#include "ledger.h"
#include "products.h"
#include "unit_rows.h"

namespace tfw2v::TFW2V_ISA {

constexpr int kGroup = 4;  // positions per group: all scores of a group are computed before its updates

struct Position {
  int64_t low, high;    // offset in floats of rows lo and hi, in prefix_ and deltas_
  const float* x;       // input of the position itself
  // hidden: h, which WindowSums::update() overwrites with v. target: its output; zero_row_ if the position
  // is not valid, or without negative sampling.
  float *hidden, *target;
  float forward_scale, backward_scale;
  float valid;          // 1; 0 if its window is empty, or if it only pads the last group: g and dh must be 0
  int64_t token;        // position in the unit
};

// Per block: begin(), then update() or skip() for each position, then end(). Outputs change in update(),
// inputs only in end().
class WindowSums : UnitRows {
 public:
  explicit WindowSums(const UnitRows& unit)
      : UnitRows(unit), w(std::min<int64_t>(o.window, n)), positions_(rounded(o.block, kGroup)),
        position_of_(o.block), x_(o.block + 2 * w), to_(x_.size()), prefix_((x_.size() + 1) * S),
        deltas_((x_.size() + 1) * S),
        hidden_(positions_.size() * S), zero_row_(S) {}

  // Returns the kGroup positions of group g, whose hidden layers are contiguous. In the text, the
  // distance between them is the number of groups, because neighbouring windows have similar hidden layers,
  // whose updates of a shared negative would add up.
  Position* group(int g) { return &positions_[g * kGroup]; }

  // Computes the hidden layers of nb positions, from p on. Returns the number of groups.
  int begin(int64_t p, int nb) {
    const int groups = (nb + kGroup - 1) / kGroup;
    locate(p, nb, groups);
    slices<kSlice>(N, [&](auto L, int64_t d) { sum_up<L>(p, nb, d); });
    return groups;
  }

  // Updates a position's target by g h, in place or into `ledger`, and adds its v to deltas_. `dh` lacks the
  // target's term g y, which is added here. Overwrites `hidden` with v: end() subtracts it from the update of
  // the position's own word, which is not in its window.
  void update(const Position& at, float g, const float* dh, Ledger* ledger) const {
    const bool records = ledger && at.target != zero_row_;
    float* to = records ? ledger->record(at.target) : at.target;
    dispatch_bool(records, [&](auto begin) { update<begin>(at, g, dh, to); });
  }

  // Skips a position, by setting its v to 0.
  void skip(const Position& at) const { std::fill_n(at.hidden, int64_t{N} * W, 0.f); }

  // Updates the inputs, in place or into `ledger`.
  void end(int64_t p, int nb, Ledger* ledger) {
    for (int j = 0; j < rows_; ++j) {
      const int32_t id = u.inputs[low_ + j];
      to_[j] = ledger ? ledger->record(input(id)) : input(id);
      x_[j] = ledger ? zero_row_ : to_[j];
    }
    slices<kSlice>(N, [&](auto L, int64_t d) { apply_deltas<L>(p, nb, d); });
  }

 private:
  template <bool begin>
  void update(const Position& at, float g, const float* dh, float* to) const {
    const float scale = at.backward_scale, *target = at.target;
    float *hidden = at.hidden, *low = deltas_ + at.low, *high = deltas_ + at.high;
    for (int64_t d = 0, end = int64_t{N} * W; d < end; d += W) {
      const Vector before = load(target + d);
      const Vector of_word = scale * (load(dh + d) + g * before);
      const Vector of_target = g * load(hidden + d);
      store(to + d, begin ? of_target : before + of_target);
      store(hidden + d, of_word);
      store(low + d, load(low + d) + of_word);
      store(high + d, load(high + d) - of_word);
    }
  }

  // Sets low_, rows_ and positions_ of a block.
  void locate(int64_t p, int nb, int groups) {
    int64_t high = low_ = p;
    for (int64_t a = p; a < p + nb; ++a) {
      low_ = std::min(low_, a - u.reaches[2 * a]);
      high = std::max(high, a + u.reaches[2 * a + 1] + 1);
    }
    rows_ = static_cast<int>(high - low_);
    for (int i = 0; i < groups * kGroup; ++i) {
      const int at = i % kGroup * groups + i / kGroup;  // index in the block
      const int64_t a = p + std::min(at, nb - 1);
      const int before = u.reaches[2 * a], after = u.reaches[2 * a + 1];
      const bool valid = at < nb && before + after;
      if (at < nb) position_of_[at] = &positions_[i];
      const float part = valid ? 1.f / count(a) : 1.f;
      positions_[i] = {(a - before - low_) * S, (a + after + 1 - low_) * S, input(u.inputs[a]),
                       hidden_ + i * S, o.negative && valid ? output(u.targets[a]) : zero_row_,
                       o.mean ? part : 1.f, o.mean == o.corrected ? part : 1.f,
                       static_cast<float>(valid), a};
    }
  }

  // Computes prefix sums and hidden layers in one loop over the inputs. A hidden layer is computed w rows
  // after the input of its position: prefix_hi is known then, and its prefix sums are still in cache.
  template <int L>
  void sum_up(int64_t p, int nb, int64_t d) {
    Vector sum[L] = {};
    const int64_t behind = low_ - w - p;
    for (int j = 0; j < rows_ + w; ++j) {
      if (j < rows_) {
        const float* x = input(u.inputs[low_ + j]) + d;
        float* after = prefix_ + (j + 1) * S + d;
        for (int l = 0; l < L; ++l) store(after + l * W, sum[l] += load(x + l * W));
      }
      const int64_t i = behind + j;
      if (i < 0 || i >= nb) continue;
      const Position& at = *position_of_[i];
      const float *low = prefix_ + at.low + d, *high = prefix_ + at.high + d, *x = at.x + d;
      const float scale = at.forward_scale;
      float* hidden = at.hidden + d;
      for (int l = 0; l < L; ++l)
        store(hidden + l * W, scale * (load(high + l * W) - load(low + l * W) - load(x + l * W)));
    }
  }

  // Adds the running sums of deltas_ to the inputs, and resets deltas_ to 0 for the next block.
  template <int L>
  void apply_deltas(int64_t p, int nb, int64_t d) {
    Vector sum[L] = {};
    for (int j = 0; j <= rows_; ++j) {
      float* deltas = deltas_ + j * S + d;
      for (int l = 0; l < L; ++l) {
        sum[l] += load(deltas + l * W);
        store(deltas + l * W, Vector{});
      }
      if (j == rows_) break;
      const int32_t row = u.inputs[low_ + j];
      const int64_t i = low_ + j - p;  // not in 0 .. nb - 1 if x_j is outside of the block
      const float* own = (i >= 0 && i < nb ? position_of_[i]->hidden : zero_row_) + d;
      const float *x = x_[j] + d, factor = locked(row);
      float* to = to_[j] + d;
      for (int l = 0; l < L; ++l)
        store(to + l * W, load(x + l * W) + factor * (sum[l] - load(own + l * W)));
    }
  }

  const int64_t w;
  int64_t low_ = 0;                 // position of x_0, at which the first window begins
  int rows_ = 0;                    // number of inputs x_j
  std::vector<Position> positions_;  // group by group
  std::vector<const Position*> position_of_;  // [nb] elements of positions_, in text order
  std::vector<const float*> x_;     // [rows_] inputs; zero_row_ with a ledger, which records updates only
  std::vector<float*> to_;          // [rows_] inputs, or their updates in the ledger
  // prefix_: [rows_ + 1, S], whose first row stays 0. deltas_: [rows_ + 1, S]. hidden_: [positions, S].
  Buffer prefix_, deltas_, hidden_;
  Buffer zero_row_;  // target of invalid positions: their coefficients are 0, so it stays 0
};

}  // namespace tfw2v::TFW2V_ISA
