// Input side of CBOW for one block: hidden layers by prefix sums, updates of inputs by a running sum.
// x_j are the inputs of the block's windows, in text order. Position a has the input x_e. Its window is the
// x_j with lo <= j < hi, without x_e itself. Its scales are defined in cbow_blocks.h.
//   prefix_j = x_0 + ... + x_{j - 1},  h_a = forward_scale (prefix_hi - prefix_lo - x_e)
//   v_a = backward_scale dh_a
//   dx_j = lock_j (sum of v_a with lo <= j < hi, minus v_j), where v_j is v_a of the position a with input x_j;
//          0 if a is outside of the block
// In a running sum over j, v_a is added at j = lo and subtracted at j = hi. So no loop runs over a window, and
// wide windows take no longer. Only CbowBlocks uses it: its windows have no tags.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/buffer.h"
#include "kernels/ledger.h"
#include "kernels/products.h"
#include "kernels/unit_rows.h"

namespace tfw2v::TFW2V_ISA {

constexpr int kGroup = 4;  // positions per group: all scores of a group are computed before its updates

// A position of a group. Its letters are explained above.
struct Position {
  int low, high;   // lo and hi: the window is x_lo .. x_{hi - 1}, without the position itself
  const float* x;  // x_e, the input of the position itself
  float* hidden;   // h, which the backward pass overwrites with v
  float* target;   // output of the position; zero_row_ if it is not valid, or without negative sampling
  float forward_scale, backward_scale;
  float valid;    // 1, or 0 if the window is empty or the position only pads the last group: then g and dh must be 0
  int64_t token;  // index of the position in the unit
};

// Computes hidden layers and input updates of a block. Call begin(), which computes h. Then overwrite `hidden` of
// each position with v, and call end(), which changes the inputs.
class WindowSums : UnitRows {
 public:
  explicit WindowSums(const UnitRows& unit)
      : UnitRows(unit), w(std::min<int64_t>(o.window, n)), positions_(rounded(o.block, kGroup)),
        position_of_(o.block), x_(max_inputs()), to_(max_inputs()), edges_(2 * o.block), ends_(max_inputs() + 2),
        hidden_(positions_.size() * stride), zero_row_(stride) {
    while (ring_ < 2 * w + 2) ring_ *= 2;
    prefix_.of(ring_ * kForward * W);
  }

  // Returns the kGroup positions of group g, whose hidden layers are contiguous. In the text, the
  // distance between them is the number of groups, because neighbouring windows have similar hidden layers,
  // whose updates of a shared negative would add up.
  Position* group(int g) { return &positions_[g * kGroup]; }

  // Computes the hidden layers of nb positions, from p on. Returns the number of groups.
  int begin(int64_t p, int nb) {
    const int groups = (nb + kGroup - 1) / kGroup;
    locate(p, nb, groups);
    slices<kForward>(n_vectors, [&](auto L, int64_t d) { sum_up<L>(p, nb, d); });
    return groups;
  }

  // Skips a position, by setting its v to 0.
  void skip(const Position& at) const { std::fill_n(at.hidden, int64_t{n_vectors} * W, 0.f); }

  // Updates the inputs, in place or into `ledger`.
  void end(int64_t p, int nb, Ledger* ledger) {
    for (int j = 0; j < rows_; ++j) {
      const int32_t id = u.inputs[low_ + j];
      to_[j] = ledger ? ledger->record(input(id)) : input(id);
      x_[j] = ledger ? zero_row_ : to_[j];
    }
    sort_edges(nb);
    slices<kBackward>(n_vectors, [&](auto L, int64_t d) { update_inputs<L>(p, nb, d); });
  }

 private:
  // Vectors per slice, whose sums fit in registers. A slice of prefix_ also fits in the L1 cache.
  static constexpr int kForward = W == 16 ? 10 : 13, kBackward = W == 16 ? 20 : 13;

  // The begin (sign 1) or the end (sign -1) of the window of a position with update v.
  struct Edge {
    const float* v;
    float sign;
  };

  // Maximum number of inputs of a block: those of its positions, and of the windows before and after them.
  int64_t max_inputs() const { return o.block + 2 * w; }

  // Sets low_, rows_ and positions_ of a block.
  void locate(int64_t p, int nb, int groups) {
    int64_t high = low_ = p;
    for (int64_t a = p; a < p + nb; ++a) {
      low_ = std::min(low_, a - u.reaches[2 * a]);
      high = std::max(high, a + u.reaches[2 * a + 1] + 1);
    }
    rows_ = static_cast<int>(high - low_);
    TFW2V_ASSERT(rows_ <= max_inputs() && groups * kGroup <= static_cast<int>(positions_.size()));
    for (int i = 0; i < groups * kGroup; ++i) {
      const int index = i % kGroup * groups + i / kGroup;  // index in the block
      const int64_t a = p + std::min(index, nb - 1);
      const int before = u.reaches[2 * a], after = u.reaches[2 * a + 1];
      const bool valid = index < nb && before + after;
      if (index < nb) position_of_[index] = &positions_[i];
      const float part = valid ? 1.f / count(a) : 1.f;
      const int own = static_cast<int>(a - low_);
      Position& at = positions_[i];
      at.low = own - before;
      at.high = own + after + 1;
      at.x = input(u.inputs[a]);
      at.hidden = hidden_ + i * stride;
      at.target = o.negative && valid ? output(u.targets[a]) : zero_row_;
      at.forward_scale = o.mean ? part : 1.f;
      at.backward_scale = o.mean == o.corrected ? part : 1.f;
      at.valid = valid;
      at.token = a;
    }
  }

  // Computes prefix sums and hidden layers in one loop over the inputs. A hidden layer is computed w rows
  // after the input of its position: prefix_hi is known then, and its prefix sums are still in cache.
  template <int L>
  void sum_up(int64_t p, int nb, int64_t d) {
    Vector sum[L] = {};
    std::fill_n(prefix(0), L * W, 0.f);
    const int64_t behind = low_ - w - p;
    for (int j = 0; j < rows_ + w; ++j) {
      if (j < rows_) {
        const float* x = input(u.inputs[low_ + j]) + d;
        float* after = prefix(j + 1);
        for (int l = 0; l < L; ++l) store(after + l * W, sum[l] += load(x + l * W));
      }
      const int64_t i = behind + j;
      if (i < 0 || i >= nb) continue;
      const Position& at = *position_of_[i];
      TFW2V_ASSERT(at.low > j + 1 - ring_ && at.high <= j + 1);  // prefix sums that are still in the ring
      const float *low = prefix(at.low), *high = prefix(at.high), *x = at.x + d;
      const float scale = at.forward_scale;
      float* hidden = at.hidden + d;
      for (int l = 0; l < L; ++l)
        store(hidden + l * W, scale * (load(high + l * W) - load(low + l * W) - load(x + l * W)));
    }
  }

  // Memory of a slice of prefix_j. It is also that of prefix_{j - ring_}, which is no longer needed.
  float* prefix(int64_t j) const { return prefix_ + (j & (ring_ - 1)) * (kForward * W); }

  // Sorts the edges of the block's windows by j.
  void sort_edges(int nb) {
    std::fill_n(ends_.begin(), rows_ + 2, 0);
    for (int i = 0; i < nb; ++i) {
      ++ends_[position_of_[i]->low + 1];
      ++ends_[position_of_[i]->high + 1];
    }
    for (int j = 1; j <= rows_; ++j) ends_[j] += ends_[j - 1];
    for (int i = 0; i < nb; ++i) {
      const Position& at = *position_of_[i];
      edges_[ends_[at.low]++] = {at.hidden, 1.f};
      edges_[ends_[at.high]++] = {at.hidden, -1.f};
    }
  }

  // Adds the running sums, without v_j, to the inputs.
  template <int L>
  void update_inputs(int64_t p, int nb, int64_t d) {
    Vector sum[L];
    unroll<L>([&](auto l) { sum[l] = Vector{}; });
    const Edge* edge = edges_.data();
    for (int j = 0; j < rows_; ++j) {
      for (const Edge* end = edges_.data() + ends_[j]; edge < end; ++edge) {
        const float* v = edge->v + d;
        const Vector sign = broadcast(edge->sign);
        unroll<L>([&](auto l) { sum[l] += sign * load(v + l * W); });
      }
      const int64_t i = low_ + j - p;  // not in 0 .. nb - 1 if x_j is outside of the block
      const float* own = (i >= 0 && i < nb ? position_of_[i]->hidden : zero_row_) + d;
      const float* x = x_[j] + d;
      const Vector factor = broadcast(lock_factor(u.inputs[low_ + j]));
      float* to = to_[j] + d;
      unroll<L>([&](auto l) { store(to + l * W, load(x + l * W) + factor * (sum[l] - load(own + l * W))); });
    }
  }

  const int64_t w;
  int64_t low_ = 0;                           // position of x_0, at which the first window begins
  int rows_ = 0;                              // number of inputs x_j
  std::vector<Position> positions_;           // group by group
  std::vector<const Position*> position_of_;  // [nb] elements of positions_, in text order
  std::vector<const float*> x_;               // [rows_] inputs; zero_row_ with a ledger, which records updates only
  std::vector<float*> to_;                    // [rows_] inputs, or their updates in the ledger
  std::vector<Edge> edges_;                   // [2 nb] sorted by j
  std::vector<int> ends_;                     // [rows_ + 2] for each j, index in edges_ after its last edge
  int64_t ring_ = 1;                          // rows of prefix_: a power of 2, at least the 2 w + 2 in use at once
  Buffer prefix_;                             // [ring_, kForward * W] slices of the last ring_ prefix sums
  Buffer hidden_;                             // [positions, stride] h, then v, of each position
  Buffer zero_row_;                           // target of invalid positions: their coefficients are 0, so it stays 0
};

}  // namespace tfw2v::TFW2V_ISA
