#pragma once
// Lets the nodes of a run wait for each other. A process alone waits for nobody.

#include <memory>

#include <granary/status.h>

namespace granary::bench {

/// The meetings, in this order; each takes place once.
enum class Meeting {
  kLoaded,    ///< all data is there: requests may reach other nodes
  kMeasured,  ///< no more requests: data may be checked
  kChecked,   ///< nobody reads any more: the store may be closed
};

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Waits until all nodes have come to this meeting. Returns an error if some node will not.
  virtual Status await(Meeting meeting) = 0;
  /// Says that this process, which takes the place of one that was killed, serves. It comes only to the later meetings.
  virtual void tell_return() = 0;
};

/// Meets through the process that started all nodes (bench/cluster/drive.h). A node has a socket to it, writes a byte
/// when it has come, and reads one when all have. Another byte, kReturnByte, says that it is back. The descriptor is
/// closed at the end.
std::unique_ptr<Rendezvous> rendezvous_over(int descriptor);

inline constexpr char kReturnByte = 'r';

/// The descriptor at which such a node finds its socket.
inline constexpr int kRendezvousDescriptor = 3;

}  // namespace granary::bench
