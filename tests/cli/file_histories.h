#pragma once
// A database, a copy of it that went on by itself, and another database, all of the same history, so that each has
// files of the same names: what files_test.cc exchanges. Nothing runs by itself; every step is made here, so that every
// run makes the same files.

#include <functional>
#include <map>
#include <string>

#include <granary/granary.h>

#include "tests/support/ring_directory.h"

namespace granary::cli {

/// The contents of all files of a database: by path below its home, but for rings, which are "rings/ring-0000" wherever
/// they are.
using Image = std::map<std::string, std::string>;

/// Where one of the databases is: its directory "db", its log in "logs", and its rings below "rings".
class Home {
 public:
  explicit Home(std::string root) : root_(std::move(root)) {}

  Options options() const;
  std::string directory() const { return root_ + "/db"; }
  std::string logs() const { return root_ + "/logs"; }
  /// Of a file of an image.
  std::string path(const std::string& name) const;
  Image image() const;
  /// As the image has it, in the same directories. Nobody has the database open.
  void restore(const Image& image) const;
  /// From now on rings are where they are now.
  void note_rings();

 private:
  const std::string root_;
  std::string ring_directory_;
};

/// What a database holds, all of which was acknowledged.
struct Rows {
  static constexpr int kLogged = 49;  ///< that are in its log or checkpoint, and durable
  static constexpr int kAll = 52;     ///< and those that only rings have
};

std::string key_of(int row);
std::string value_of(int row);
/// The rows of the history that are there as they were written.
int count_rows(Database& database);

/// Runs the body in a child process, which ends by itself with 0.
void in_child(const std::function<void()>& body);

/// A database that died, another one, and a copy that went on by itself.
struct FileStates {
  /// In memory, where a sync costs nothing.
  tests::RingDirectory directory;
  std::string path(const std::string& name) const { return directory.path() + "/" + name; }

  Home home{path("database")};
  Image whole, other, copy;
};

/// How the third life of the histories ends.
enum class LastLife { kDies, kEndsInOrder };

/// First a life that ends in order, then the same with a checkpoint, after which the log goes on in a second, empty
/// segment. In the third the log has three segments, and the process dies with rows in its rings, or ends in order, so
/// that the log has them, too.
struct Histories : FileStates {
  explicit Histories(LastLife last = LastLife::kDies);
  static constexpr int kMoments = 3;

  Home other_home{path("other")}, copy_home{path("copy")};
  Image first_life, second_life;  ///< as it was after these
  Image ends[2];                  ///< in the second life, when each of its segments was the last one
  Image moments[kMoments];        ///< in the third life, when each of its segments was the last one
};

}  // namespace granary::cli
