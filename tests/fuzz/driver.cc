// Runs a fuzz target without libFuzzer: changes its seeds, and what came of them, at random for some seconds.
//
//   fuzz_NAME [seconds] [seed]
//
// Blind to coverage, but quick and everywhere. An input that kills the program is left in "fuzz-NAME-input".

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "src/base/random.h"
#include "tests/fuzz/target.h"

namespace {

using granary::base::Random;

std::string current;  // what the target is reading; for the signal handler
std::string input_path;

void save_input(int signal) {
  const int file = ::open(input_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && ::write(file, current.data(), current.size()) >= 0) ::close(file);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Numbers that readers stumble over.
constexpr std::uint64_t kEdges[] = {0, 1, 7, 8, 15, 16, 63, 64, 255, 0xffff, 0x7fffffff, 0xffffffff, ~std::uint64_t{0}};

void change(std::string& input, const std::vector<std::string>& pool, Random& random) {
  const std::size_t at = input.empty() ? 0 : random.below(input.size());
  switch (random.below(7)) {
    case 0:
      if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << random.below(8)));
      break;
    case 1:
      if (!input.empty()) input[at] = static_cast<char>(random.next());
      break;
    case 2: input.resize(at); break;
    case 3: input.insert(at, random.below(40), static_cast<char>(random.next())); break;
    case 4: {  // a number in place of what is there
      const std::uint64_t edge = kEdges[random.below(std::size(kEdges))];
      const std::size_t bytes = std::size_t{1} << random.below(4);
      for (std::size_t i = 0; i < bytes && at + i < input.size(); ++i)
        input[at + i] = static_cast<char>(edge >> (8 * i));
      break;
    }
    case 5: {  // the end of another
      const std::string& other = pool[random.below(pool.size())];
      input = input.substr(0, at) + other.substr(other.empty() ? 0 : random.below(other.size()));
      break;
    }
    default: {  // a piece twice
      const std::string piece = input.substr(at, random.below(100));
      input.insert(at, piece);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  const std::string program = argv[0];
  input_path = program.substr(program.rfind('/') + 1) + "-input";
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, save_input);

  std::vector<std::string> pool = granary::fuzz::seeds();
  constexpr std::size_t kPool = 1000, kLargest = 1 << 16;
  const auto run = [](const std::string& input) {
    current = input;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
  };
  for (const std::string& seed : pool) run(seed);
  std::uint64_t runs = pool.size();
  for (const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
       std::clock() < end;) {
    std::string input = pool[random.below(pool.size())];
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) change(input, pool, random);
    if (input.size() > kLargest) continue;
    run(input);
    ++runs;
    if (random.below(50) != 0) continue;
    if (pool.size() < kPool) {
      pool.push_back(std::move(input));
    } else {
      pool[random.below(kPool)] = std::move(input);
    }
  }
  std::printf("%llu inputs\n", static_cast<unsigned long long>(runs));
  return 0;
}
