#include "tests/crash/told.h"

#include <sstream>

#include <gtest/gtest.h>

#include "tests/crash/acknowledged.h"

namespace granary::crash {

std::string tail_of(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = lines.size() < 20 ? 0 : lines.size() - 20; i < lines.size(); ++i) text += lines[i] + "\n";
  return text;
}

std::array<std::uint64_t, kWorkers> counters_of(const std::vector<std::string>& lines) {
  std::array<std::uint64_t, kWorkers> counters{};
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string word;
    std::size_t worker = 0;
    if (words >> word >> worker && word == "counter") words >> counters.at(worker);
  }
  return counters;
}

void see_that_it_saw_no_violation(const std::vector<std::string>& lines) {
  for (const char* const wrong : {"violation ", "cannot read"})
    EXPECT_EQ(line_of(lines, wrong), nullptr) << "the client read something wrong:\n" << tail_of(lines);
}

void see_that_nothing_failed(const std::vector<std::string>& lines) {
  EXPECT_EQ(line_of(lines, "failed "), nullptr) << "the client could not go on:\n" << tail_of(lines);
}

void see_that_it_was_told(const std::vector<std::string>& lines) {
  const std::string* const status = line_of(lines, "status ");
  const std::string* const failed = line_of(lines, "failed ");  // to open, or to make a table
  for (const std::string* const told : {status, failed}) {
    if (told != nullptr) {
      EXPECT_NE(told->find("cannot "), std::string::npos) << *told;
    }
  }
  if (status != nullptr) {
    EXPECT_NE(line_of(lines, "reads on"), nullptr) << "reads do not go on:\n" << tail_of(lines);
  }
}

void see_that_the_full_disk_was_told(const std::vector<std::string>& lines) {
  see_that_it_was_told(lines);
  EXPECT_TRUE(line_of(lines, "status ") != nullptr || line_of(lines, "failed ") != nullptr)
      << "the disk is full, and the client was not told:\n"
      << tail_of(lines);
}

void see_that_nothing_was_released_after_a_fault(const std::vector<std::string>& lines) {
  const std::string* const fault = line_of(lines, "fault ");
  if (fault == nullptr) return;
  std::istringstream words(*fault);
  std::string word, call, error, path;
  std::uint64_t durable = 0;
  words >> word >> call >> error >> path >> durable;
  if (!path.ends_with(".glog") || error == "EINTR" || error == "SHORT") return;
  for (const std::string& line : lines) {
    std::uint64_t worker = 0, number = 0, released = 0;
    std::istringstream release(line);
    if (release >> word >> worker >> number >> released && word == "released") {
      EXPECT_LE(released, durable) << "released after '" << *fault << "'";
    }
  }
}

}  // namespace granary::crash
