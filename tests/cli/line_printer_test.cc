// Lines for somebody who may not read them.

#include "src/cli/printing/line_printer.h"

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
  LinePrinterTest() {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~LinePrinterTest() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  /// All that is in the pipe now.
  std::string read() const {
    std::string text;
    char piece[4096];
    for (ssize_t got; (got = ::read(ends_[0], piece, sizeof piece)) > 0;)
      text.append(piece, static_cast<std::size_t>(got));
    return text;
  }

  int ends_[2] = {-1, -1};
};

TEST_F(LinePrinterTest, PrintsInOrder) {
  {
    const LinePrinter printer;
    for (const char* const line : {"one\n", "two\n", "three\n"}) printer.print(ends_[1], line);
  }
  EXPECT_EQ(read(), "one\ntwo\nthree\n");
}

TEST_F(LinePrinterTest, NobodyWaitsForAReaderThatDoesNotRead) {
  const auto began = std::chrono::steady_clock::now();
  const auto end = began + std::chrono::seconds(60);
  const std::string line = std::string(1000, 'x') + "\n";
  std::string seen;
  testing::internal::CaptureStderr();
  {
    const LinePrinter printer;
    for (std::size_t i = 0; i < 10 * LinePrinter::kMost; ++i) printer.print(ends_[1], line);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
    while (seen.size() < LinePrinter::kMost * line.size() && std::chrono::steady_clock::now() < end) seen += read();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("lines were dropped, as nobody read them\n"));
  (void)read();
  {
    const LinePrinter printer;
    for (std::size_t i = 0; i < LinePrinter::kMost; ++i) printer.print(ends_[1], line);
    seen.clear();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(50)) << "the end waits a second";
  while (seen.size() < LinePrinter::kMost * line.size() && std::chrono::steady_clock::now() < end) seen += read();
  EXPECT_EQ(seen.size(), LinePrinter::kMost * line.size());
}

}  // namespace
}  // namespace granary::cli
