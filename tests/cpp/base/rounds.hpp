#pragma once

#include <cstdlib>

namespace elk::test {

/// Whether a sanitizer watches, which makes a test take five to twenty times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// How many rounds a random test takes of the `all` that it has, and never none: a third, for a
/// fault shows in most rounds, or a fifth under a sanitizer. `scripts/nightly.sh` takes all.
inline int rounds(int all) {
  static const bool every = std::getenv("ELK_EVERY_ROUND") != nullptr;
  const int share = kSanitized ? 5 : (every ? 1 : 3);
  return (all + share - 1) / share;
}

}  // namespace elk::test
