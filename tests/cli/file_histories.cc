#include "tests/cli/file_histories.h"

#include <filesystem>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/contents.h"

namespace granary::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kValueBytes = 8 << 10;
constexpr int kSegmentful = 9;  ///< rows that are more than a segment

/// One opening. Rows are numbered on from one life to the next.
class Life {
 public:
  Life(const Home& home, int first_row) : database_(Database::open(home.options()).value()), next_row_(first_row) {
    if (!database_->table("t").ok()) static_cast<void>(database_->create_table("t").value());
    for (Worker& worker : workers_) worker = database_->register_worker().value();
  }

  /// By both workers in turn, so that both rings have some.
  Life& put(int rows) {
    const Table table = database_->table("t").value();
    for (int i = 0; i < rows; ++i, ++next_row_) {
      const RunResult done = workers_[next_row_ % 2].run(
          [&](Transaction& t) { static_cast<void>(t.put(table, key_of(next_row_), value_of(next_row_))); });
      if (!done.committed()) ::_exit(2);
    }
    return *this;
  }
  /// What was put is in the log and durable.
  Life& log(int steps = 4) {
    for (int i = 0; i < steps; ++i) database_->step();
    return *this;
  }
  Life& checkpoint() {
    const Status done = log(100).database_->checkpoint();
    EXPECT_TRUE(done.ok()) << done.message();
    return *this;
  }
  void close() {
    for (Worker& worker : workers_) worker = {};
    EXPECT_TRUE(database_->close().ok());
  }

 private:
  std::unique_ptr<Database> database_;
  Worker workers_[2];
  int next_row_;
};

void live_first(const Home& home) { Life(home, 0).put(5).checkpoint().put(5).log().close(); }

/// `save` is called when each of the two segments is the last one.
void live_second(const Home& home, const std::function<void(int)>& save) {
  Life life(home, 10);
  life.checkpoint().put(2).log();
  save(0);
  life.put(kSegmentful).log();
  save(1);
  life.log().close();
}

/// Ends the process, too.
void live_third(const Home& home, const std::function<void(int)>& save, LastLife last) {
  Life life(home, 21);
  for (int segment = 0; segment < Histories::kMoments; ++segment) {
    life.put(2).log();
    save(segment);
    life.put(segment + 1 < Histories::kMoments ? kSegmentful : 4).log();
  }
  life.put(Rows::kAll - Rows::kLogged);
  if (last == LastLife::kEndsInOrder) life.log().close();
  ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace

std::string key_of(int row) { return "row " + std::to_string(1000 + row); }
std::string value_of(int row) { return std::string(kValueBytes, static_cast<char>('a' + row % 26)); }

void in_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    ::_exit(3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

Options Home::options() const {
  Options options;
  options.directory = directory();
  options.log_directories = {logs()};
  options.reliable_directory = root_ + "/rings";
  options.memory_limit_bytes = std::uint64_t{32} << 20;
  options.max_workers = 4;
  options.ring_bytes = std::uint64_t{128} << 10;
  options.log_segment_bytes = std::uint64_t{64} << 10;
  options.snapshot_epochs = 4;
  options.max_open_epochs = 0;
  options.background = Background::kManual;
  options.checkpoint_interval_s = 0;
  options.huge_pages = HugePages::kOff;
  return options;
}

void Home::note_rings() {
  ring_directory_.clear();
  const fs::path parent = root_ + "/rings";
  for (const auto& entry : fs::exists(parent) ? fs::directory_iterator(parent) : fs::directory_iterator())
    ring_directory_ = entry.path().filename();
}

std::string Home::path(const std::string& name) const {
  constexpr std::string_view kRings = "rings/";
  if (!name.starts_with(kRings)) return root_ + "/" + name;
  return root_ + "/rings/" + ring_directory_ + "/" + name.substr(kRings.size());
}

Image Home::image() const {
  Image image;
  for (const auto& entry : fs::recursive_directory_iterator(root_)) {
    if (!entry.is_regular_file()) continue;
    const fs::path below = entry.path().lexically_relative(root_);
    const std::string name = *below.begin() == "rings" ? "rings/" + below.filename().string() : below.string();
    image[name] = tests::contents(entry.path());
  }
  return image;
}

void Home::restore(const Image& image) const {
  for (const std::string& top : {directory(), logs(), root_ + "/rings"}) {
    for (const auto& entry : fs::directory_iterator(top)) fs::remove_all(entry.path());
  }
  for (const auto& [name, bytes] : image) {
    const fs::path file = path(name);
    if (fs::create_directories(file.parent_path())) fs::permissions(file.parent_path(), fs::perms::owner_all);
    std::ofstream(file, std::ios::binary) << bytes;
  }
}

int count_rows(Database& database) {
  const Table table = database.table("t").value();
  Worker worker = database.register_worker().value();
  int found = 0;
  const RunResult read = worker.run([&](Transaction& t) {
    found = 0;
    static_cast<void>(t.scan(table, {}, [&](std::string_view key, std::string_view value) {
      const int row = std::stoi(std::string(key.substr(4))) - 1000;
      if (key == key_of(row) && value == value_of(row)) ++found;
      return true;
    }));
  });
  EXPECT_TRUE(read.committed());
  return found;
}

Histories::Histories(LastLife last) {
  const auto ignore = [](int) {};
  for (Home* const each : {&home, &other_home}) live_first(*each);
  first_life = home.image();
  for (const std::string part : {"db", "logs"}) {
    fs::create_directories(path("copy"));
    fs::copy(path("database/" + part), path("copy/" + part), fs::copy_options::recursive);
  }
  live_second(home, [&](int moment) { ends[moment] = home.image(); });
  live_second(other_home, ignore);
  live_second(copy_home, ignore);
  second_life = home.image();
  for (const Home* const each : {&home, &other_home, &copy_home}) {
    in_child([&] {
      const auto save = [&](int moment) {
        if (each != &home) return;
        const std::string saved = path(std::to_string(moment));
        fs::copy(path("database"), saved, fs::copy_options::recursive);
      };
      live_third(*each, save, last);
    });
  }
  for (Home* const each : {&home, &other_home, &copy_home}) each->note_rings();
  for (int moment = 0; moment < kMoments; ++moment) moments[moment] = Home(path(std::to_string(moment))).image();
  whole = home.image();
  other = other_home.image();
  copy = copy_home.image();
}

}  // namespace granary::cli
