#include "support/printable_stream.h"

#include <gtest/gtest.h>

#include <sstream>

namespace fwl {
namespace {

std::string shown(const std::string& text) {
  std::ostringstream target;
  PrintableStream stream(target);
  stream << text.substr(0, text.size() / 2) << std::flush << text.substr(text.size() / 2) << std::flush;
  return target.str();
}

TEST(PrintableStream, ControlCharactersBecomeEscapes) {
  EXPECT_EQ(shown("a\x1b[2Jb\r\x07\x7f\tc\n"), "a\\u001b[2Jb\\u000d\\u0007\\u007f\tc\n");
  EXPECT_EQ(shown("\xC2\x9B\x31m"), "\\u009b1m");
  EXPECT_EQ(shown(std::string("\0", 1)), "\\u0000");
}

TEST(PrintableStream, OtherTextIsUnchanged) {
  EXPECT_EQ(shown("é \xC2\xA0 日本 🙂 \xFF"), "é \xC2\xA0 日本 🙂 \xFF");
}

TEST(PrintableStream, AnErrorOfTheTargetIsItsOwn) {
  std::ostringstream target;
  target.setstate(std::ios::badbit);
  PrintableStream stream(target);
  stream << "a" << std::flush;
  EXPECT_FALSE(stream);
}

}  // namespace
}  // namespace fwl
