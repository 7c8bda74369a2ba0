#pragma once

namespace elk::test {

/// Whether a sanitizer watches, which makes a test take five to twenty times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// How many rounds a random test takes of the `all` that it has: one in five under a sanitizer,
/// which looks for faults that most rounds show, and never none.
constexpr int rounds(int all) { return kSanitized && all > 1 ? (all + 4) / 5 : all; }

}  // namespace elk::test
