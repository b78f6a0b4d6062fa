#pragma once
// The side of a node that serves the others: a thread that sleeps in epoll, carries out frames and answers them. A
// connection belongs to one worker of another node. When it ends, its transaction's locks are released.

#include <memory>
#include <thread>
#include <unordered_map>

#include "bench/store/two_pc/address_book.h"
#include "bench/store/two_pc/rows.h"
#include "bench/store/two_pc/stream.h"

namespace granary::bench::two_pc {

class Server {
 public:
  /// Starts a server that listens at a free port of this address.
  static Result<std::unique_ptr<Server>> start(const std::string& address, Rows& rows);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Returns the entry of the address book by which callers find the server.
  const Entry& entry() const { return entry_; }

 private:
  struct Caller {
    Caller(Socket socket, Rows& rows) : stream(std::move(socket)), branch(rows) {}
    Stream stream;
    Branch branch;
    bool known = false;  // whether the caller has shown the token
  };

  /// The sockets and the epoll instance with which the thread waits.
  struct Waiting {
    Socket listener, epoll, end;
    Socket spare;  ///< closed to have a descriptor for a caller that is refused, when there are no others
  };
  static Status watch(const Waiting& waiting);

  Server(Entry entry, Waiting waiting, Rows& rows);
  void serve();
  void accept_all();
  void refuse_one();
  // These return false if the caller is to be dropped.
  bool serve(Caller& caller);
  bool take(Caller& caller, const Frame& frame);
  bool watch(const Caller& caller, int operation);

  Rows& rows_;
  const Entry entry_;
  Waiting waiting_;
  std::unordered_map<int, std::unique_ptr<Caller>> callers_;  // by descriptor
  std::string answer_;
  std::thread thread_;
};

}  // namespace granary::bench::two_pc
