// Assertions of the builds with sanitizers, which define TFW2V_CHECKED. In other builds, they are empty.
#pragma once

#if defined(TFW2V_CHECKED)
#include <cstdio>
#include <cstdlib>

namespace tfw2v {

// Reports a violated assertion, and ends the process.
[[noreturn, gnu::noinline, gnu::cold]] inline void fail_assertion(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace tfw2v

#define TFW2V_ASSERT(...) \
  ((__VA_ARGS__) ? static_cast<void>(0) : tfw2v::fail_assertion(#__VA_ARGS__, __FILE__, __LINE__))
#else
#define TFW2V_ASSERT(...) static_cast<void>(0)
#endif
