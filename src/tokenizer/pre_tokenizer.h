// Splits text into the pieces within which byte-level BPE merges, in one or more steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/split_pattern.h"

namespace fwl {

// Every match of the pattern is a piece, and so is the text between two matches.
struct SplitStep {
  std::string pattern;         // empty: do not split
  bool is_literal = false;     // the pattern is a literal string
  bool adds_space = false;     // add a space to a text that does not start with one
  bool drops_between = false;  // drop the text between matches
};

// The steps for a name in a GGUF file ("gpt-2", "smollm", "llama-bpe", "qwen2", …). Throws a UserError.
std::vector<SplitStep> published_split(std::string_view where, std::string_view name);

// Names under which Llama 3 and Mistral publish: a piece that is a token becomes it without merging, and texts start
// with the begin token unless the file says otherwise.
bool takes_whole_pieces(std::string_view name);

// "\p{N}" for single digits, as a step before GPT-2's.
SplitStep digits_step(bool one_by_one);
SplitStep gpt2_step();

// True for the published steps above, for which split_cut.h knows where text may be cut.
bool is_published(const SplitStep& step);

class PreTokenizer {
 public:
  PreTokenizer(const std::string& where, const std::vector<SplitStep>& steps);

  // Calls sink(piece) for every piece of a valid UTF-8 text, in order. The view is valid only during the call.
  template <class Sink>
  void split(std::string_view text, SplitPattern::Workspace& workspace, Sink&& sink) const {
    run(0, text, workspace, sink);
  }

 private:
  struct Step {
    SplitStep plan;
    SplitPattern pattern;
  };

  template <class Sink>
  void run(size_t step, std::string_view text, SplitPattern::Workspace& workspace, Sink& sink) const {
    if (text.empty()) return;
    if (step == steps_.size()) return sink(text);
    if (steps_[step].plan.adds_space && text[0] != ' ')
      cut(step, " " + std::string(text), workspace, sink);
    else
      cut(step, text, workspace, sink);
  }

  template <class Sink>
  void cut(size_t step, std::string_view text, SplitPattern::Workspace& workspace, Sink& sink) const {
    const auto& [plan, pattern] = steps_[step];
    if (plan.pattern.empty()) return run(step + 1, text, workspace, sink);
    size_t done = 0;
    for (SplitPattern::Match match; pattern.find(text, done, match, workspace); done = match.end) {
      if (match.start > done && !plan.drops_between)
        run(step + 1, text.substr(done, match.start - done), workspace, sink);
      run(step + 1, text.substr(match.start, match.end - match.start), workspace, sink);
    }
    if (done < text.size() && !plan.drops_between) run(step + 1, text.substr(done), workspace, sink);
  }

  std::vector<Step> steps_;
};

}  // namespace fwl
