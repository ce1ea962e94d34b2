// Loaded before other libraries: an operator new that fails once, at the n-th call after fail_after(n).
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<long> left{-1};

extern "C" __attribute__((visibility("default"))) void fail_after(long calls) { left = calls; }

// Returns whether the call that fails has happened.
extern "C" __attribute__((visibility("default"))) int has_failed() { return left < 0; }

__attribute__((visibility("default"))) void* operator new(std::size_t size) {
  if (left >= 0 && left-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
__attribute__((visibility("default"))) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((visibility("default"))) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
