// Lines for somebody who may not read them.

#include "src/cli/line_printer.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace granary::cli {
namespace {

class LinePrinterTest : public testing::Test {
 protected:
  LinePrinterTest() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  ~LinePrinterTest() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  /// All that is in the pipe now.
  std::string read() const {
    std::string text;
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    char piece[4096];
    for (ssize_t got; (got = ::read(ends_[0], piece, sizeof piece)) > 0;)
      text.append(piece, static_cast<std::size_t>(got));
    return text;
  }

  int ends_[2] = {-1, -1};
};

TEST_F(LinePrinterTest, PrintsInOrder) {
  {
    const LinePrinter printer(ends_[1]);
    for (const char* const line : {"one\n", "two\n", "three\n"}) printer.print(line);
  }
  EXPECT_EQ(read(), "one\ntwo\nthree\n");
}

TEST_F(LinePrinterTest, NobodyWaitsForAReaderThatDoesNotRead) {
  const auto began = std::chrono::steady_clock::now();
  const std::string line(1000, 'x');
  {
    const LinePrinter printer(ends_[1]);
    for (std::size_t i = 0; i < 10 * LinePrinter::kMost; ++i) printer.print(line + "\n");
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
    std::string seen;
    const auto end = began + std::chrono::seconds(60);
    while (seen.find("lines were dropped") == std::string::npos && std::chrono::steady_clock::now() < end)
      seen += read();
    EXPECT_THAT(seen, testing::HasSubstr("lines were dropped, as nobody read them\n"));
    for (std::size_t i = 0; i < LinePrinter::kMost; ++i) printer.print(line + "\n");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60)) << "nor does the end";
}

}  // namespace
}  // namespace granary::cli
