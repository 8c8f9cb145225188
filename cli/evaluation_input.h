// Input shared by the commands that score texts: the model, the text, and how it is split.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/model_input.h"
#include "evaluate/evaluation.h"

namespace fwl {

struct EvaluationInput : ModelInput {
  std::vector<std::string> text;
  std::string tokens, documents = "file", weights = "auto";
  bool special = false;
  std::string protocol = "stream", reset = "never";
  int64_t context = 0, stride = 0, segment = 0, dynamic_segment = 128, max_tokens = 0;
  DynamicOptions dynamic;
  std::string train_tokens;
  int64_t train_segments = 100;
};

void add_fields(Fields& fields, EvaluationInput& input);

// The opened model and text.
class EvaluationData {
 public:
  // The methods decide how the weights are opened: dynamic evaluation updates them, so it needs them dense.
  EvaluationData(const EvaluationInput& input, const std::vector<std::string>& methods, Console& console);

  const LanguageModel& model() const { return *opened_.model; }
  const std::string& identity() const { return opened_.identity; }
  const TokenFile& tokens() const { return *tokens_; }
  int64_t context_tokens() const;    // of a window; 0: the text is read without a limit
  std::string context_text() const;  // "8192 tokens, the model's own"
  std::vector<Piece> pieces(const MethodOptions& method) const;
  // Warns if the fast weights will be carried over more tokens than they were trained for.
  void warn_of_length(const std::vector<Piece>& pieces, Console& console) const;
  // Gradient statistics of the training data, for dynamic-rms; computed once.
  const std::vector<at::Tensor>& statistics(const MethodOptions& method, Console& console);

 private:
  ProtocolOptions protocol_options(bool is_dynamic) const;
  std::unique_ptr<TokenFile> tokenize(Console& console) const;  // into a temporary file

  EvaluationInput input_;
  OpenedModel opened_;
  std::unique_ptr<TokenFile> tokens_;
  std::vector<at::Tensor> statistics_;
};

// Throws UsageError for an unknown name.
void check_method(const std::string& name);

}  // namespace fwl
