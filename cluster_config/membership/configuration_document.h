#pragma once
// Keeps the configuration as a document of the board: reads it, changes it by compare-and-set, and waits for changes.
// Each of these is a conversation with the board. There is one at a time; a thread that wants to begin another waits.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <granary/function_ref.h>
#include <granary/status.h>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/configuration.h"

namespace granary::membership {

class ConfigurationDocument {
 public:
  /// Makes the next configuration of the newest one, or refuses. If it leaves the configuration as it is, there is no
  /// change.
  using Edit = FunctionRef<Status(Configuration&)>;
  /// Whether the awaited event has happened, by the newest configuration and the marks that were read after it.
  using Over = FunctionRef<bool(const Configuration&, const Marks&)>;

  /// `publish` gets each configuration that amend() has read or made, within the conversation.
  ConfigurationDocument(std::unique_ptr<Board> board, std::function<void(Configuration)> publish)
      : board_(std::move(board)),
        publish_(std::move(publish)) {}

  /// Returns the board for calls that need no conversation: its constants, wait() and wake(). An edit, which is within
  /// a conversation, may also ask it for the marks.
  Board& board() const { return *board_; }

  /// Changes the configuration. An error is that of the edit, or of the board. The edit is called again if the
  /// compare-and-set fails, and then may find its own change in the configuration (Board::replace).
  Status amend(Edit edit);
  /// Shows `look` the newest configuration, which is empty if there is none, and returns the result.
  Status inspect(Edit look);
  /// Waits until the newest configuration is `over`. Returns false after `patience_us`; kUnavailable if `give_up` says
  /// so meanwhile.
  Result<bool> await(std::uint64_t patience_us, FunctionRef<bool()> give_up, Over over);
  /// Takes this node's mark away.
  Status unmark();

 private:
  Result<std::uint64_t> read(Configuration& configuration);

  const std::unique_ptr<Board> board_;
  const std::function<void(Configuration)> publish_;
  std::mutex mutex_;  ///< held for as long as a conversation lasts
};

}  // namespace granary::membership
