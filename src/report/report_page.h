// The whole report: one HTML page that needs nothing but itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fwl {

struct ReportOptions {
  std::vector<std::string> inputs;  // folders of runs, JSON results, losses
  std::string title = "Report";
  std::string before, after;      // FILE:METHOD; empty: the first and last method of the first losses
  std::string train_tokens;       // for the gain by frequency
  std::string tokens, tokenizer;  // for tokens in context and the passage
  int64_t top = 8;                // gains and losses in context
  int64_t passage_tokens = 600, passage_start = -1;  // -1: where the gain is largest
};

struct Report {
  std::string page;     // HTML
  std::string picture;  // SVG: where one method gains over the other; empty: nothing was compared
};
Report make_report(const ReportOptions& options);

}  // namespace fwl
