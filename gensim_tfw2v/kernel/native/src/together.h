// Threads that train a unit together, with a result that does not depend on how many they are.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "ledger.h"
#include "trainer.h"

namespace tfw2v::TFW2V_ISA {

// Where threads wait for each other. They spin, for they arrive within microseconds.
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

// Rounds of `at_once` blocks, which lie far apart in the unit: they start from the same rows, and
// note their changes, which are then added in the order of the blocks, each row by one thread.
template <class Blocks>
class Rounds {
 public:
  Rounds(const UnitRows& unit, int64_t kept, int block, const float alphas[2], int64_t loss_every,
         int threads, int at_once)
      : unit_(unit), alphas_(alphas), kept_(kept), block_(block), loss_every_(loss_every),
        threads_(threads), at_once_(at_once), ledgers_(at_once), sums_(at_once), barrier_(threads) {}

  void train(Tfw2vResult& result) {
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads_; ++thread) others.emplace_back(&Rounds::work, this, thread);
    work(0);
    for (std::thread& other : others) other.join();
    total_.into(result);
  }

 private:
  void work(int thread) {
    Tfw2vResult none = {};  // sums are taken block by block
    Blocks blocks(unit_, alphas_, none);
    for (int j = thread; j < at_once_; j += threads_) ledgers_[j] = blocks.ledger();
    std::vector<Ledger::Entry> entries;
    const int64_t all = (kept_ + block_ - 1) / block_, rounds = (all + at_once_ - 1) / at_once_;
    for (int64_t round = 0; round < rounds; ++round) {
      for (int j = thread; j < at_once_; j += threads_) {
        const int64_t at = j * rounds + round;
        ledgers_[j]->clear();
        if (at < all) blocks.block(at * block_, has_loss(at), ledgers_[j].get());
        sums_[j] = blocks.take();
      }
      barrier_.wait([&] { end(blocks, false); });
      entries.clear();
      for (const auto& ledger : ledgers_) ledger->list(thread, threads_, entries);
      blocks.add(entries);
      barrier_.wait([&] { end(blocks, true); });
    }
  }

  // Of a round, in the order of its blocks: sums them up, or trains again what was wild.
  void end(Blocks& blocks, bool is_added) {
    for (int j = 0; j < at_once_; ++j) {
      if (!is_added) total_ += sums_[j];
      for (int64_t a : ledgers_[j]->wild)
        if (is_added) blocks.again(a, has_loss(a / block_)), total_ += blocks.take();
    }
  }

  bool has_loss(int64_t block) const { return loss_every_ && block % loss_every_ == 0; }

  const UnitRows& unit_;
  const float* alphas_;
  const int64_t kept_;
  const int block_;
  const int64_t loss_every_;
  const int threads_, at_once_;
  std::vector<std::unique_ptr<Ledger>> ledgers_;
  std::vector<Sums> sums_;
  Sums total_;
  Barrier barrier_;
};

}  // namespace tfw2v::TFW2V_ISA
