// A pool of threads that run one function in parallel.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tfw2v {

// Worker threads are kept between calls: the system needs a while to give a new thread its own core.
class ThreadPool {
 public:
  explicit ThreadPool(int threads) : threads(threads) {
    for (int thread = 1; thread < threads; ++thread)
      others_.emplace_back(&ThreadPool::serve, this, thread);
  }
  ~ThreadPool() {
    begin({});
    for (std::thread& other : others_) other.join();
  }

  // Runs work(0), .. work(threads - 1) in parallel, work(0) in the caller's thread. Returns when all
  // have returned.
  void run(const std::function<void(int)>& work) {
    begin(work);
    work(0);
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !working_; });
  }

  const int threads;  // number of threads, including the caller's

 private:
  void begin(const std::function<void(int)>& work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_ = work;
    working_ = threads - 1;
    ++turn_;
    changed_.notify_all();
  }

  void serve(int thread) {
    for (int turn = 1;; ++turn) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return turn_ == turn; });
      if (!work_) return;
      lock.unlock();
      work_(thread);
      lock.lock();
      if (!--working_) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void(int)> work_;  // empty: threads exit
  int turn_ = 0, working_ = 0;     // number of calls of `begin`; threads still running work_
  std::vector<std::thread> others_;
};

}  // namespace tfw2v
