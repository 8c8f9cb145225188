// Word-level vocabularies as in WikiText and Transformer-XL: words separated by white space, one <eos> per line end.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/progress.h"
#include "tokenizer/tokenizer.h"

namespace fwl {

struct WordCount {
  std::string word;
  int64_t count = 0;
};

// White space is ASCII's (space, tab, vertical tab, form feed, carriage return); a line ends with "\n", blank or not.
// An unknown word becomes <unk> if the vocabulary has it, and is an error otherwise.
class WordTokenizer : public Tokenizer {
 public:
  // `where` names the vocabulary in errors. A word's id is its index. Throws a UserError unless <eos> is among the
  // words and they are unique, not empty and free of white space.
  WordTokenizer(std::string where, std::vector<WordCount> words);
  WordTokenizer(const WordTokenizer&) = delete;
  WordTokenizer& operator=(const WordTokenizer&) = delete;

  std::string kind() const override { return "word"; }
  int64_t vocabulary_size() const override { return static_cast<int64_t>(words_.size()); }

  void encode_marked(std::string_view text, Markup markup, std::vector<TokenId>& ids) const override;
  // Words of a line are joined by one space and <eos> becomes "\n".
  std::string decode(std::span<const TokenId> ids) const override;

  std::optional<TokenId> end_token() const override { return eos_; }
  Digest hash() const override;

  const std::vector<WordCount>& words() const { return words_; }

 private:
  TokenId id_of(std::string_view word, std::string_view text) const;

  std::string where_;
  std::vector<WordCount> words_;
  std::unordered_map<std::string_view, TokenId> ids_;  // views into words_
  TokenId eos_ = 0;
  std::optional<TokenId> unknown_;
};

struct WordVocabularyOptions {
  bool is_eos_first = false;  // <eos> gets id 0 regardless of its frequency, as in Transformer-XL's vocabularies
  int64_t min_count = 1;      // rarer words are counted as <unk>
};

// Counts the words of text files, most frequent first, ties in order of first occurrence; <eos> counts like any word.
// The files are read as a stream: memory grows only with the number of distinct words.
std::vector<WordCount> count_words(const std::vector<std::string>& text_files,
                                   const WordVocabularyOptions& options = {}, const ProgressReport& report = {});

// A .vocab file is plain text with one line per word in the order of ids: word, tab, count. Written atomically.
void save_word_vocabulary(const std::string& path, const std::vector<WordCount>& words);
std::vector<WordCount> load_word_vocabulary(const std::string& path);
std::vector<WordCount> parse_word_vocabulary(const std::string& where, std::string_view text);

}  // namespace fwl
