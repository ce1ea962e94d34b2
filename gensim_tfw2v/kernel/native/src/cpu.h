// Features of the processor that the conditions in isas.h name.
#pragma once

#include <cstring>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tfw2v::cpu {

// Architectures that instruction sets extend. Each function returns whether this build is for the architecture of its
// name; any() is always true.
struct Architecture {
  static bool any() { return true; }
#if defined(__x86_64__)
  static bool x86_64() { return true; }
#else
  static bool x86_64() { return false; }
#endif
};

// Registers of the result of CPUID, in the order in which it returns them.
enum CpuidRegister { kEax, kEbx, kEcx, kEdx };

// Sets of registers, as bits of XCR0. Each includes the ones before it.
enum Registers : unsigned { kYmm = 0x06, kZmm = 0xE6 };

// Zig's __builtin_cpu_supports always returns 0, so CPUID and XCR0 are read directly.
#if defined(__x86_64__)
// Returns whether all these bits are set in the result of CPUID.
inline bool has_bits(unsigned leaf, unsigned subleaf, CpuidRegister which, std::initializer_list<int> bits) {
  unsigned result[4] = {};
  if (!__get_cpuid_count(leaf, subleaf, &result[kEax], &result[kEbx], &result[kEcx], &result[kEdx])) return false;
  for (int bit : bits)
    if (!(result[which] >> bit & 1)) return false;
  return true;
}

// Returns whether Intel is the vendor of the processor.
inline bool is_intel() {
  unsigned highest_leaf, vendor[3] = {};
  __get_cpuid(0, &highest_leaf, &vendor[0], &vendor[2], &vendor[1]);
  return !std::memcmp(vendor, "GenuineIntel", sizeof vendor);
}

// Returns whether the operating system saves these registers when it switches between threads.
inline bool saves_registers(Registers registers) {
  constexpr int kOsxsave = 27;  // XCR0 can be read
  if (!has_bits(1, 0, kEcx, {kOsxsave})) return false;
  unsigned lower, upper;
  __asm__("xgetbv" : "=a"(lower), "=d"(upper) : "c"(0));
  return (lower & registers) == registers;
}
#else
inline bool has_bits(unsigned, unsigned, CpuidRegister, std::initializer_list<int>) { return false; }
inline bool saves_registers(Registers) { return false; }
inline bool is_intel() { return false; }
#endif

}  // namespace tfw2v::cpu
