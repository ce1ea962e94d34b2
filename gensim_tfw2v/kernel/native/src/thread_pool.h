// Threads that run parts of the same work.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tfw2v {

// Worker threads wait for work: new ones would take a while to find a core of their own.
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

  // Calls work(0) to work(threads - 1), each in a thread, and returns when all have returned.
  void run(const std::function<void(int)>& work) {
    begin(work);
    work(0);
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !working_; });
  }

  const int threads;

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
  std::function<void(int)> work_;  // empty: there is none any more
  int turn_ = 0, working_ = 0;
  std::vector<std::thread> others_;
};

}  // namespace tfw2v
