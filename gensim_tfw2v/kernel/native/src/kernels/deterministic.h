// Deterministic training by several threads: the result depends on `round_blocks` and on the processor, but not on
// the number of threads.
// For whole units in blocks, with negative sampling only: no subwords, tags, paths, or shards with CBOW.
//
// Each round trains n_slots = round_blocks blocks, one per slot. With `rounds` rounds, slot j has block
// j * rounds + round, so that blocks of a round are far apart in the unit. Of T threads, j mod T trains slot j.
// Phases of a round:
//   1. train         each slot reads the rows, which stay unchanged, and records updates in ledgers_[j]
//      barrier 1     no row changes before all slots are trained; one thread adds up the slots' sums
//   2. apply own     each thread adds its updates of rows that only it recorded and lists the rest in shared_
//      barrier 2     no list in shared_ is read before all lists are complete
//   3. apply shared  each thread adds the listed updates of rows whose hash selects it, in slot order
//      barrier 3     all updates are added, and one thread has run end(), before the next round reads a row
#pragma once

#include <atomic>
#include <memory>

#include "kernels/ledger.h"
#include "kernels/thread_pool.h"
#include "kernels/trainer.h"

namespace tfw2v::TFW2V_ISA {

// A reusable barrier. Threads spin, because they arrive within microseconds.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}

  // Returns true when all threads have called it. The last one to arrive runs `action` before they return.
  // Returns false once a thread has called fail(): it will not arrive.
  //
  // A relaxed store suffices to reset arrived_: no thread arrives again before it acquires round_, which
  // is released after the reset.
  template <class Action>
  bool wait(Action action) {
    constexpr int kTurns = 2000;
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      action();
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return true;
    }
    for (int turns = 0; round_.load(std::memory_order_acquire) == round; ++turns) {
      if (turns <= kTurns) continue;
      if (has_failed_.load(std::memory_order_relaxed)) return false;
      std::this_thread::yield();  // a thread that is late may need this core
    }
    return true;
  }
  void fail() { has_failed_.store(true, std::memory_order_relaxed); }

 private:
  const int threads_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<unsigned> round_{0};
  std::atomic<bool> has_failed_{false};
};

// Trains a unit in rounds (see the top of this file).
//
// All updates of a row are added in the same phase, 2 or 3, because filters have no false negatives. So one thread
// adds them, in slot order, and the sum is rounded the same way for any number of threads. A false positive only
// moves a row from phase 2 to phase 3. Phase 2 only saves time: its rows are in the thread's cache.
//
// Blocks is SkipgramBlocks or CbowBlocks, one per thread. The result of its block() does not depend on
// earlier blocks.
template <class Blocks>
class DeterministicRounds : UnitRows {
 public:
  DeterministicRounds(const UnitRows& unit, const Tfw2vRun& run)
      : UnitRows(unit), run_(run), n_slots_(static_cast<int>(run.round_blocks)),
        pool_(*static_cast<ThreadPool*>(run.pool)), ledgers_(n_slots_), sums_(n_slots_), shared_(n_slots_),
        filters_(pool_.threads), barrier_(pool_.threads) {}

  void train(Tfw2vResult& result) {
    pool_.run([this](int thread) {
      try {
        work(thread);
      } catch (...) {
        barrier_.fail();
        throw;
      }
    });
    total_.into(result);
  }

 private:
  void work(int thread) {
    Tfw2vResult none = {};  // stays 0: ~Blocks adds only sums since the last take()
    Blocks blocks(*this, run_.alphas.data, none);
    std::vector<Change> own_changes, shared_changes;
    for (int j = thread; j < n_slots_; j += pool_.threads) {
      ledgers_[j] = blocks.ledger();
      shared_[j].reserve(ledgers_[j]->max_changes);
      own_changes.reserve(own_changes.capacity() + ledgers_[j]->max_changes);
      shared_changes.reserve(n_slots_ * ledgers_[j]->max_changes);
    }
    const int64_t n_blocks = (n + o.block - 1) / o.block, rounds = (n_blocks + n_slots_ - 1) / n_slots_;
    if (!barrier_.wait([] {})) return;  // no row changes before all threads have their memory
    for (int64_t round = 0; round < rounds; ++round) {
      filters_[thread].clear();
      for (int j = thread; j < n_slots_; j += pool_.threads) {
        const int64_t at = j * rounds + round;
        ledgers_[j]->clear();
        if (at < n_blocks) blocks.block(at * o.block, run_.has_loss(at), ledgers_[j].get());
        for (const float* row : ledgers_[j]->rows()) filters_[thread].insert(row);
        sums_[j] = blocks.take();
      }
      if (!barrier_.wait([&] { end(blocks, false); })) return;
      own_changes.clear();
      for (int j = thread; j < n_slots_; j += pool_.threads) {
        shared_[j].clear();
        for (size_t i = 0; i < ledgers_[j]->rows().size(); ++i) {
          float* row = ledgers_[j]->rows()[i];
          (is_shared(row, thread) ? shared_[j] : own_changes).emplace_back(row, ledgers_[j]->change(i));
        }
      }
      blocks.add(own_changes);
      if (!barrier_.wait([] {})) return;
      shared_changes.clear();
      for (const auto& changes : shared_)
        for (const Change& change : changes)
          if (RowFilter::hash(change.first) % pool_.threads == static_cast<size_t>(thread))
            shared_changes.push_back(change);
      blocks.add(shared_changes);
      if (!barrier_.wait([&] { end(blocks, true); })) return;
    }
  }

  // Returns whether a different thread may have recorded `row` in this round.
  bool is_shared(const float* row, int thread) const {
    for (int other = 0; other < pool_.threads; ++other)
      if (other != thread && filters_[other].has(row)) return true;
    return false;
  }

  // Runs in one thread, in slot order. After phase 1, adds the slots' sums to total_. After phase 3
  // (`is_added`), trains the positions or blocks with scores out of range, in place.
  void end(Blocks& blocks, bool is_added) {
    for (int j = 0; j < n_slots_; ++j) {
      if (!is_added) total_ += sums_[j];
      for (int64_t a : ledgers_[j]->retry)
        if (is_added) {
          blocks.retrain(a, run_.has_loss(a / o.block));
          total_ += blocks.take();
        }
    }
  }

  const Tfw2vRun& run_;
  const int n_slots_;
  ThreadPool& pool_;
  std::vector<std::unique_ptr<Ledger>> ledgers_;  // [n_slots] updates of each slot
  std::vector<Sums> sums_;                        // [n_slots] sums over the scores of each slot
  std::vector<std::vector<Change>> shared_;       // [n_slots] updates that phase 3 adds
  std::vector<RowFilter> filters_;                // [threads] rows that each thread recorded
  Sums total_;                                    // sums of all rounds
  Barrier barrier_;
};

}  // namespace tfw2v::TFW2V_ISA
