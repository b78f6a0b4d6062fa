#pragma once
// Writes JSON as text, with a line for each value, indented by one space for each level.
//
// The text is made at once, and not from a document in memory: nlohmann::json allocates in its destructor, so a
// document that is given up for want of heap memory could end the process.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <granary/function_ref.h>

namespace granary::recovery {

class IndentedJson {
 public:
  // These functions add a field to the object that is being written, or, with an empty name, an element to the array.
  // Texts are printable ASCII, as escape() returns them.
  void number(std::string_view name, std::uint64_t value) {
    begin(name);
    text_ += std::to_string(value);
  }
  void flag(std::string_view name, bool value) {
    begin(name);
    text_ += value ? "true" : "false";
  }
  void text(std::string_view name, std::string_view value) {
    begin(name);
    quote(value);
  }
  /// `write` adds the fields.
  void object(std::string_view name, FunctionRef<void()> write) { nest(name, '{', write, '}'); }
  /// `write` adds the elements.
  void array(std::string_view name, FunctionRef<void()> write) { nest(name, '[', write, ']'); }

  std::string take() { return std::move(text_); }

 private:
  void nest(std::string_view name, char open, FunctionRef<void()> write, char close) {
    begin(name);
    text_ += open;
    ++depth_;
    empty_ = true;
    write();
    --depth_;
    if (!empty_) begin_line();
    text_ += close;
    empty_ = false;
  }
  void begin(std::string_view name) {
    if (!empty_) text_ += ',';
    if (depth_ != 0) begin_line();
    empty_ = false;
    if (name.empty()) return;
    quote(name);
    text_ += ": ";
  }
  void begin_line() {
    text_ += '\n';
    text_.append(depth_, ' ');
  }
  void quote(std::string_view value) {
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
  }

  std::string text_;
  std::size_t depth_ = 0;
  bool empty_ = true;  // whether the object or array that is being written has nothing in it so far
};

}  // namespace granary::recovery
