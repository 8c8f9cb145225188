#include "report/recalled_terms.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fwl {
namespace {

constexpr size_t shortest_term = 4;        // bytes
constexpr int64_t rarer_than = 500;        // words per occurrence
constexpr double is_predicted_from = 0.5;  // probability

bool is_in_word(unsigned char letter) {
  return letter >= 0x80 || letter == '_' || std::isalnum(letter);
}

struct Word {
  std::string text;
  int64_t first, past;  // tokens
};

// What each token adds to the text: decoded alone, some vocabularies would drop its space.
std::string added_text(const ScoredText& text, int64_t token) {
  if (token == 0) return text.text(0, 1);
  const auto before = text.text(token - 1, token), both = text.text(token - 1, token + 1);
  return both.starts_with(before) ? both.substr(before.size()) : text.text(token, token + 1);
}

// The words of tokens [first, past).
std::vector<Word> words_of(const ScoredText& text, int64_t first, int64_t past) {
  std::vector<Word> words;
  bool is_open = false;
  for (int64_t token = first; token < past; ++token)
    for (const char letter : added_text(text, token)) {
      const bool goes_on = is_in_word(static_cast<unsigned char>(letter));
      if (goes_on && !is_open) words.push_back({{}, token, token});
      if (goes_on) words.back().text += letter;
      if (goes_on) words.back().past = token + 1;
      is_open = goes_on;
    }
  return words;
}

// One text without a reset of the fast weights: its first token, and its scored tokens [first, past) in the pair.
struct Stretch {
  int64_t start;
  size_t first, past;
};

std::vector<Stretch> stretches_of(const NllPair& pair) {
  std::vector<Stretch> stretches;
  for (size_t index = 0; index < pair.targets.size(); ++index) {
    const bool starts = index == 0 || pair.stretches[index] != pair.stretches[index - 1];
    if (starts) stretches.push_back({pair.targets[index] - 1, index, index});
    stretches.back().past = index + 1;
  }
  return stretches;
}

class TermCounter {
 public:
  TermCounter(const NllPair& pair, int64_t context_tokens, Recall& recall)
      : pair_(pair), context_tokens_(context_tokens), recall_(recall) {}

  void count(const Stretch& stretch, const std::vector<Word>& words) {
    struct Seen {
      int64_t last, times;
    };
    std::unordered_map<std::string, Seen> seen;
    int64_t words_read = 0;
    for (const auto& word : words) {
      auto& [last, times] = seen.try_emplace(word.text, Seen{-1, 0}).first->second;
      const int64_t read = word.first - stretch.start;
      // The first token of a window is the target of the last input of the window before.
      const int64_t window = stretch.start + std::max<int64_t>(0, read - 1) / context_tokens_ * context_tokens_;
      const bool is_term = word.text.size() >= shortest_term && times * rarer_than < words_read;
      if (times > 0 && last < window && is_term && word.first > stretch.start)
        add(stretch, {word.text, word.first, word.past, word.first - last, 0, 0});
      last = word.past - 1;
      ++times;
      ++words_read;
    }
  }

 private:
  void add(const Stretch& stretch, RecalledTerm term) {
    double before = 0, after = 0;
    for (int64_t token = term.first; token < term.past; ++token) {
      const size_t index = stretch.first + static_cast<size_t>(token - stretch.start - 1);
      before += pair_.before[index];
      after += pair_.after[index];
    }
    term.before = std::exp(-before);
    term.after = std::exp(-after);
    const bool knew = term.before > is_predicted_from, knows = term.after > is_predicted_from;
    ++recall_.terms;
    recall_.before_predicts += knew;
    recall_.after_predicts += knows;
    if (knows && !knew)
      recall_.gained.push_back(std::move(term));
    else if (knew && !knows)
      recall_.lost.push_back(std::move(term));
  }

  const NllPair& pair_;
  int64_t context_tokens_;
  Recall& recall_;
};

}  // namespace

Recall recalled_terms(const NllPair& pair, const ScoredText& text, int64_t context_tokens) {
  Recall recall;
  if (context_tokens <= 0) return recall;
  TermCounter counter(pair, context_tokens, recall);
  for (const auto& stretch : stretches_of(pair))
    counter.count(stretch, words_of(text, stretch.start, pair.targets[stretch.past - 1] + 1));
  const auto difference = [](const RecalledTerm& term) { return std::abs(term.after - term.before); };
  for (auto* terms : {&recall.gained, &recall.lost}) std::ranges::stable_sort(*terms, std::greater<>(), difference);
  return recall;
}

int64_t window_of(const EvaluationResult& result) {
  return result.protocol == "stream" ? result.context_tokens : 0;
}

}  // namespace fwl
