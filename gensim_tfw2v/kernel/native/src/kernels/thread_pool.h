// A pool of threads that run one function in parallel.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tfw2v {

// Worker threads are kept between calls: the system needs a while to give a new thread its own core.
class ThreadPool {
 public:
  // Throws a std::system_error if the system does not start so many threads.
  explicit ThreadPool(int threads) : threads(threads) {
    try {
      for (int thread = 1; thread < threads; ++thread) workers_.emplace_back(&ThreadPool::serve, this, thread);
    } catch (...) {
      end();  // running threads without an owner would end the process
      throw;
    }
  }
  ~ThreadPool() { end(); }

  // Runs work(0), .. work(threads - 1) in parallel, work(0) in the caller's thread. Returns when all
  // have returned. Throws the first exception that one of them has thrown.
  void run(const std::function<void(int)>& work) {
    begin(&work);
    call(0);
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !n_running_; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  const int threads;  // number of threads, including the caller's

 private:
  void begin(const std::function<void(int)>* work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_ = work;
    n_running_ = static_cast<int>(workers_.size());
    ++turn_;
    changed_.notify_all();
  }

  void end() {
    begin(nullptr);
    for (std::thread& worker : workers_) worker.join();
  }

  void call(int thread) {
    try {
      (*work_)(thread);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void serve(int thread) {
    for (int turn = 1;; ++turn) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return turn_ == turn; });
      if (!work_) return;
      lock.unlock();
      call(thread);
      lock.lock();
      if (!--n_running_) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;  // null: threads exit
  std::exception_ptr error_;                        // first exception of the current call of `run`
  int turn_ = 0;                                    // number of calls of `begin`
  int n_running_ = 0;                               // number of threads that still run work_
  std::vector<std::thread> workers_;
};

}  // namespace tfw2v
