// Builds, saves and loads word vocabularies.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "files/atomic_file.h"
#include "files/memory_map.h"
#include "support/error.h"
#include "tokenizer/word_tokenizer.h"

namespace fwl {
namespace {

constexpr std::string_view end_of_line = "<eos>", unknown_word = "<unk>";

// Words in the order of their first occurrence, with their counts.
class WordCounter {
 public:
  void add(std::string_view word, int64_t count = 1) {
    const auto found = places_.find(word);
    if (found != places_.end()) {
      counts_[found->second].count += count;
    } else {
      places_.emplace(word, counts_.size());
      counts_.push_back({std::string(word), count});
    }
  }
  std::vector<WordCount> take() { return std::move(counts_); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> places_;
  std::vector<WordCount> counts_;
};

void count_line(std::string_view line, WordCounter& counter) {
  constexpr std::string_view white_space = " \t\v\f\r";
  for (auto start = line.find_first_not_of(white_space); start != std::string_view::npos;) {
    const auto end = std::min(line.find_first_of(white_space, start), line.size());
    counter.add(line.substr(start, end - start));
    start = line.find_first_not_of(white_space, end);
  }
}

void count_text(std::string_view text, WordCounter& counter, const ProgressReport& report, ProgressEvent& event) {
  constexpr size_t report_bytes = 1 << 20;
  size_t next_report = report_bytes;
  for (size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find('\n', start), text.size());
    count_line(text.substr(start, end - start), counter);
    if (end < text.size()) counter.add(end_of_line);
    start = end + 1;
    if (report && start >= next_report) {
      next_report = start + report_bytes;
      report({event.done + static_cast<int64_t>(start), event.total, event.unit, event.note});
    }
  }
  event.done += static_cast<int64_t>(text.size());
  if (report) report(event);
}

std::vector<WordCount> fold_rare_words(const std::vector<WordCount>& words, int64_t min_count) {
  WordCounter kept;
  for (const auto& entry : words) {
    const bool is_kept = entry.count >= min_count || entry.word == end_of_line;
    kept.add(is_kept ? std::string_view(entry.word) : unknown_word, entry.count);
  }
  return kept.take();
}

}  // namespace

std::vector<WordCount> count_words(const std::vector<std::string>& text_files, const WordVocabularyOptions& options,
                                   const ProgressReport& report) {
  ProgressEvent event{0, 0, "bytes", ""};
  for (const auto& path : text_files) event.total += static_cast<int64_t>(MemoryMap(path).size());
  WordCounter counter;
  for (const auto& path : text_files) count_text(MemoryMap(path).text(), counter, report, event);
  counter.add(end_of_line, 0);  // every vocabulary has <eos>, even if the text has no line end
  auto words = fold_rare_words(counter.take(), options.min_count);
  const auto is_first = [&](const WordCount& a, const WordCount& b) {
    const bool a_leads = options.is_eos_first && a.word == end_of_line;
    const bool b_leads = options.is_eos_first && b.word == end_of_line;
    return a_leads != b_leads ? a_leads : a.count > b.count;
  };
  std::stable_sort(words.begin(), words.end(), is_first);
  return words;
}

void save_word_vocabulary(const std::string& path, const std::vector<WordCount>& words) {
  AtomicFile file(path);
  for (const auto& [word, count] : words) file.write(fmt::format("{}\t{}\n", word, count));
  file.commit();
}

std::vector<WordCount> load_word_vocabulary(const std::string& path) {
  return parse_word_vocabulary(path, MemoryMap(path).text());
}

std::vector<WordCount> parse_word_vocabulary(const std::string& where, std::string_view text) {
  std::vector<WordCount> words;
  for (size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find('\n', start), text.size());
    const auto line = text.substr(start, end - start);
    const auto tab = line.find('\t');
    int64_t count = -1;
    const auto* stop = line.data() + line.size();
    const bool has_count =
        tab != std::string_view::npos && std::from_chars(line.data() + tab + 1, stop, count).ptr == stop && count >= 0;
    if (!has_count)
      fail(fmt::format("{}:{}", where, words.size() + 1), "word, tab, count", fmt::format("'{}'", line.substr(0, 80)));
    words.push_back({std::string(line.substr(0, tab)), count});
    start = end + 1;
  }
  return words;
}

}  // namespace fwl
