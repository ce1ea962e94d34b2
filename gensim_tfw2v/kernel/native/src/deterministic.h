// Deterministic training by threads: the result does not depend on their number.
#pragma once

#include <atomic>
#include <memory>

#include "ledger.h"
#include "thread_pool.h"
#include "trainer.h"

namespace tfw2v::TFW2V_ISA {

// Threads wait here for each other. They spin, since they arrive within microseconds.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}

  // The last that arrives does something before all go on.
  template <class Action>
  void wait(Action action) {
    constexpr int kTurns = 2000;
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      action();
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (int turns = 0; round_.load(std::memory_order_acquire) == round; ++turns)
      if (turns > kTurns) std::this_thread::yield();  // others may need this core
  }

 private:
  const int threads_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<unsigned> round_{0};
};

// Each round trains `at_once` blocks from distant parts of the unit. All read the rows as they were at
// the start of the round, and record their updates in ledgers. Then each thread applies its own updates
// of rows that no other thread changed (they are in its cache). Rows changed by several threads are
// applied by the thread that their hash selects, in block order.
template <class Blocks>
class DeterministicRounds : UnitRows {
 public:
  DeterministicRounds(const UnitRows& unit, const Tfw2vRun& run)
      : UnitRows(unit), run_(run), at_once_(static_cast<int>(run.round_blocks)),
        pool_(*static_cast<ThreadPool*>(run.pool)), ledgers_(at_once_), sums_(at_once_),
        shared_(at_once_), filters_(pool_.threads), barrier_(pool_.threads) {}

  void train(Tfw2vResult& result) {
    pool_.run([this](int thread) { work(thread); });
    total_.into(result);
  }

 private:
  void work(int thread) {
    Tfw2vResult none = {};  // sums are taken block by block
    Blocks blocks(*this, run_.alphas.data, none);
    std::vector<Change> own, shared;
    for (int j = thread; j < at_once_; j += pool_.threads) ledgers_[j] = blocks.ledger();
    const int64_t all = (n + o.block - 1) / o.block, rounds = (all + at_once_ - 1) / at_once_;
    for (int64_t round = 0; round < rounds; ++round) {
      filters_[thread].clear();
      for (int j = thread; j < at_once_; j += pool_.threads) {
        const int64_t at = j * rounds + round;
        ledgers_[j]->clear();
        if (at < all) blocks.block(at * o.block, run_.has_loss(at), ledgers_[j].get());
        for (const float* row : ledgers_[j]->rows()) filters_[thread].insert(row);
        sums_[j] = blocks.take();
      }
      barrier_.wait([&] { end(blocks, false); });
      own.clear();
      for (int j = thread; j < at_once_; j += pool_.threads) {
        shared_[j].clear();
        for (size_t i = 0; i < ledgers_[j]->rows().size(); ++i) {
          float* row = ledgers_[j]->rows()[i];
          (is_shared(row, thread) ? shared_[j] : own).emplace_back(row, ledgers_[j]->change(i));
        }
      }
      blocks.add(own);
      barrier_.wait([] {});
      shared.clear();
      for (const auto& of_block : shared_)
        for (const Change& change : of_block)
          if (RowFilter::hash(change.first) % pool_.threads == static_cast<size_t>(thread))
            shared.push_back(change);
      blocks.add(shared);
      barrier_.wait([&] { end(blocks, true); });
    }
  }

  // Whether another thread may change a row, too.
  bool is_shared(const float* row, int thread) const {
    for (int other = 0; other < pool_.threads; ++other)
      if (other != thread && filters_[other].has(row)) return true;
    return false;
  }

  // Of a round, in the order of its blocks: sums them up, or trains again what was out of range.
  void end(Blocks& blocks, bool is_added) {
    for (int j = 0; j < at_once_; ++j) {
      if (!is_added) total_ += sums_[j];
      for (int64_t a : ledgers_[j]->retry)
        if (is_added) blocks.retrain(a, run_.has_loss(a / o.block)), total_ += blocks.take();
    }
  }

  const Tfw2vRun& run_;
  const int at_once_;
  ThreadPool& pool_;
  std::vector<std::unique_ptr<Ledger>> ledgers_;
  std::vector<Sums> sums_;
  std::vector<std::vector<Change>> shared_;
  std::vector<RowFilter> filters_;
  Sums total_;
  Barrier barrier_;
};

}  // namespace tfw2v::TFW2V_ISA
