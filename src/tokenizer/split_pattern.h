// A regular expression that finds the pieces of a text, compiled to machine code by PCRE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace fwl {

class EncodeBudget;

class SplitPattern {
 public:
  struct Match {
    size_t start = 0, end = 0;
  };
  // Buffers of a search; one per thread, for any pattern.
  class Workspace {
   public:
    Workspace();
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    EncodeBudget* budget = nullptr;  // of the present call; may be null

   private:
    friend class SplitPattern;
    void* match_data_;
    void* limits_;
  };

  // A pattern as published (see pattern_dialect.h), or a literal string. Throws a UserError.
  SplitPattern(std::string where, std::string_view pattern, bool is_literal = false);

  // The first match at or after `from` that is not empty; false if there is none. `text` must be valid UTF-8.
  bool find(std::string_view text, size_t from, Match& match, Workspace& workspace) const;

 private:
  struct Code;
  std::string where_;
  std::shared_ptr<const Code> code_;
};

}  // namespace fwl
