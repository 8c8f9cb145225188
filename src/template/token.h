// The tokens of a template.
#pragma once

#include <string>

namespace fwl {

struct TemplateToken {
  enum class Kind { text, output_begin, output_end, tag_begin, tag_end, name, string, integer, real, symbol, end };

  Kind kind = Kind::end;
  int line = 1;
  std::string text;  // of strings: without quotes, escapes resolved
};

}  // namespace fwl
