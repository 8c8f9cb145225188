// A stream on which text from outside cannot control the terminal.
#pragma once

#include <ostream>
#include <streambuf>

namespace fwl {

// Passes text on to `target`. Control characters other than line ends and tabs become \u001b and the like, a form that
// is also valid inside JSON. Errors of the target are errors of the stream.
class PrintableStream : public std::ostream {
 public:
  explicit PrintableStream(std::ostream& target) : std::ostream(nullptr), buffer_(target) { rdbuf(&buffer_); }

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(std::ostream& target) : target_(target) {}

   private:
    int_type overflow(int_type character) override;
    int sync() override;

    std::ostream& target_;
    bool is_after_c2_ = false;  // the first byte of a two-byte character, which may be a control character
  };

  Buffer buffer_;
};

}  // namespace fwl
