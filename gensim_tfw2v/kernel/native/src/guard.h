// No exception may leave a function that Python or TensorFlow calls: it would end the process. So each exported
// function uses a function of this file, or does nothing that throws, and is declared noexcept.
#pragma once

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

namespace tfw2v {

// Error message of functions that return one, and result of those that return a number, if memory is short.
constexpr char kNoMemory[] = "out of memory";
constexpr int64_t kFailed = -2;

// Returns work(), or `failed` after an exception, which only a lack of memory or threads causes.
template <class Result, class Work>
Result guarded(Result failed, Work work) noexcept {
  try {
    return work();
  } catch (...) {
    return failed;
  }
}

// Returns the error message that work() returns, null on success, or the message of an exception.
template <class Work>
const char* guarded_message(Work work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::length_error&) {  // a vector longer than any memory
    return kNoMemory;
  } catch (const std::exception& error) {
    static thread_local char message[200];
    std::snprintf(message, sizeof message, "%s", error.what());
    return message;
  } catch (...) {
    return "unknown error";
  }
}

}  // namespace tfw2v
