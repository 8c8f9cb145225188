// Training of SentencePiece vocabularies.
#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <optional>
#include <thread>
#include <unordered_map>

#include "files/atomic_file.h"
#include "files/memory_map.h"
#include "support/error.h"
#include "tokenizer/sentencepiece_log.h"
#include "tokenizer/sentencepiece_tokenizer.h"
#include "tokenizer/utf8.h"

namespace fwl {
namespace {

// Every n-th non-empty line of the files, without invalid UTF-8.
class Lines : public sentencepiece::SentenceIterator {
 public:
  Lines(const std::vector<std::string>& files, int64_t stride, ProgressEvent event, const ProgressReport& report)
      : files_(files), stride_(stride), event_(std::move(event)), report_(report) {
    Next();
  }

  bool done() const override { return is_done_; }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

  void Next() override {
    while (read_line())
      if (!line_.empty() && count_++ % stride_ == 0) return;
    is_done_ = true;
  }

 private:
  bool read_line() {
    while (!map_ || rest_.empty()) {
      if (next_file_ == files_.size()) return false;
      map_.emplace(files_[next_file_++]);
      rest_ = map_->text();
      if (report_) report_(event_);
    }
    const auto end = std::min(rest_.find('\n'), rest_.size());
    take_valid(rest_.substr(0, end));
    const auto taken = std::min(end + 1, rest_.size());
    rest_.remove_prefix(taken);
    event_.done += static_cast<int64_t>(taken);
    return true;
  }

  void take_valid(std::string_view line) {
    line_.clear();
    while (!line.empty()) {
      const auto valid = valid_utf8_prefix(line);
      line_ += line.substr(0, valid);
      line.remove_prefix(std::min(valid + 1, line.size()));
    }
    std::erase(line_, '\0');  // the trainer refuses it
  }

  const std::vector<std::string>& files_;
  int64_t stride_, count_ = 0;
  ProgressEvent event_;
  const ProgressReport& report_;
  size_t next_file_ = 0;
  std::optional<MemoryMap> map_;
  std::string_view rest_;
  std::string line_;
  bool is_done_ = false;
};

std::unordered_map<std::string, std::string> trainer_settings(const SentencePieceOptions& options) {
  return {{"model_type", options.model_type},
          {"vocab_size", fmt::format("{}", options.vocabulary_size)},
          {"hard_vocab_limit", "false"},
          {"character_coverage", fmt::format("{}", options.character_coverage)},
          {"byte_fallback", "true"},
          {"normalization_rule_name", "identity"},
          {"add_dummy_prefix", "false"},
          {"remove_extra_whitespaces", "false"},
          {"max_sentence_length", "1000000"},
          {"num_threads", fmt::format("{}", std::max(1U, std::thread::hardware_concurrency()))},
          {"minloglevel", "3"}};
}

}  // namespace

void train_sentencepiece(const std::vector<std::string>& text_files, const SentencePieceOptions& options,
                         const std::string& model_path, const ProgressReport& report) {
  constexpr auto where = "SentencePiece training";
  if (options.model_type != "unigram" && options.model_type != "bpe") fail(where, "unigram or bpe", options.model_type);
  silence_sentencepiece();
  ProgressEvent event{0, 0, "bytes", ""};
  for (const auto& path : text_files) event.total += static_cast<int64_t>(MemoryMap(path).size());
  const auto stride = std::max<int64_t>(1, (event.total + options.max_text_bytes - 1) / options.max_text_bytes);
  Lines lines(text_files, stride, event, report);
  if (lines.done()) fail(where, "text to train on", "none");
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(trainer_settings(options), &lines, &model);
  if (!status.ok())
    fail(where, fmt::format("text for {} pieces", options.vocabulary_size), "an error", status.message());
  write_file_atomically(model_path, model);
}

}  // namespace fwl
