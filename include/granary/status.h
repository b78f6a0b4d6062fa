#pragma once
// Errors of set-up and administration: a code for programs, a message for people.
// The hot path of a transaction uses the small enums of outcome.h instead.

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <granary/export.h>

namespace granary {

/// What kind of mistake or obstacle a Status reports.
enum class StatusCode : std::uint8_t {
  kOk,
  kInvalidArgument,     ///< a value is outside its documented range
  kAlreadyExists,       ///< a name or resource is taken
  kNotFound,            ///< a name is unknown
  kResourceExhausted,   ///< memory, workers or another bounded resource is used up
  kFailedPrecondition,  ///< the call does not fit the object's state (e.g. schema mismatch)
  kUnavailable,         ///< the environment lacks something (huge pages required but absent, a directory not writable)
  kDamaged,             ///< stored data is not what was written: bad checksum, foreign or missing files
  kIoError,             ///< a read, write or sync failed
  kDiskFull,            ///< a write found no space
  kMembershipLost,      ///< this node is no longer a member of its cluster, and never will be again in this life
};

/// Success, or a code with a message that names the value, the place and the mend.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

/// Prints the status that stands in a value's place, on standard error, and ends the program (std::abort).
[[noreturn]] GRANARY_EXPORT void end_without_value(const Status& status);

/// A value, or the Status that says why there is none. Look at ok() first: whoever takes the value of an error ends the
/// program, in every build, with the error's message on standard error. So `Database::open(options).value()` is fine
/// where a program could not go on anyway.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor): `return value;`
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!status_.ok() && "a Result without a value needs an error");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  /// The value. Ends the program with the error's message if there is none; so do `*` and `->`.
  T& value() & { return checked(*this); }
  const T& value() const& { return checked(*this); }
  T&& value() && { return std::move(checked(*this)); }
  T& operator*() & { return checked(*this); }
  const T& operator*() const& { return checked(*this); }
  T&& operator*() && { return std::move(checked(*this)); }
  T* operator->() { return &checked(*this); }
  const T* operator->() const { return &checked(*this); }

 private:
  template <typename Self>
  static auto& checked(Self& self) {
    if (!self.value_.has_value()) [[unlikely]]
      end_without_value(self.status_);
    return *self.value_;
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace granary
