// A regular expression that finds the pieces of a text, compiled to machine code by PCRE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace fwl {

class SplitPattern {
 public:
  struct Match {
    size_t start = 0, end = 0;
  };
  // What a search writes to; one per thread, for patterns of any kind.
  class Workspace {
   public:
    Workspace();
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

   private:
    friend class SplitPattern;
    void* match_data_;
  };

  // A pattern as published (see pattern_dialect.h), or with `is_literal` a plain text. Throws UserError.
  SplitPattern(std::string where, std::string_view pattern, bool is_literal = false);

  // The first match at or after `from` that is not empty; false if there is none. `text` must be valid UTF-8.
  bool find(std::string_view text, size_t from, Match& match, Workspace& workspace) const;

 private:
  struct Code;
  std::string where_;
  std::shared_ptr<const Code> code_;
};

}  // namespace fwl
