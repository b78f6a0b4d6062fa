#pragma once
// Lets the process open only so many more files, for a while.

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace granary::tests {

/// Returns the number that the next file gets which the process opens.
inline int next_descriptor() {
  const int next = ::eventfd(0, EFD_CLOEXEC);
  ::close(next);
  return next;
}

class FewDescriptors {
 public:
  /// From now on until its end, the process may open `more` files. No other thread opens or closes any meanwhile.
  explicit FewDescriptors(std::size_t more) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    std::vector<int> free;  // the numbers that are not taken, up to the first one that is not allowed
    while (free.size() <= more) free.push_back(::eventfd(0, EFD_CLOEXEC));
    const rlimit few{.rlim_cur = static_cast<rlim_t>(free.back()), .rlim_max = before_.rlim_max};
    for (const int descriptor : free) ::close(descriptor);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace granary::tests
