// Two threads that count their transactions. A line has the counter that both increment, and each thread has a line of
// its own beside it. With the argument `neighbours` each also has a word of its own in a line of both; with `readers`
// the second thread reads a word that the first one writes. The main thread makes the same transactions before, as one
// that loads data.

#include <array>
#include <atomic>
#include <string_view>
#include <thread>

namespace {

struct alignas(64) Line {
  std::array<std::atomic<long>, 2> words{};
};
Line shared;
std::array<Line, 2> own;
Line of_both;
Line of_first;

[[gnu::noinline]] void begin(int thread) { own[thread].words[1].store(1); }
[[gnu::noinline]] void count_together() { shared.words[0].fetch_add(1); }
[[gnu::noinline]] void count_alone(int thread) { own[thread].words[0].fetch_add(1); }
[[gnu::noinline]] void count_beside_the_other(int thread) { of_both.words[thread].fetch_add(1); }
[[gnu::noinline]] void write_one() { of_first.words[0].store(1); }
[[gnu::noinline]] long read_one() { return of_first.words[0].load(); }

[[gnu::noinline]] void transact(int thread, std::string_view more) {
  count_together();
  count_alone(thread);
  if (more == "neighbours") count_beside_the_other(thread);
  if (more == "readers" && thread == 0) write_one();
  if (more == "readers" && thread == 1) read_one();
}

}  // namespace

int main(int count, char** words) {
  const std::string_view more = count > 1 ? words[1] : "";
  for (int i = 0; i < 100; ++i) transact(i % 2, more);
  std::array<std::thread, 2> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads[thread] = std::thread([thread, more] {
      begin(thread);
      for (int i = 0; i < 1000; ++i) transact(thread, more);
    });
  }
  for (std::thread& thread : threads) thread.join();
}
