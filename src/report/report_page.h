// The whole report: one self-contained HTML page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fwl {

struct ReportOptions {
  std::vector<std::string> inputs;  // run folders, JSON results, losses
  std::string title = "Report";
  std::string before, after;      // FILE:METHOD; empty: the first and last method of the first losses
  std::string train_tokens;       // for gains by training frequency
  std::string tokens, tokenizer;  // for tokens in context, and for the passage
  int64_t top = 8;                // gains and losses in context
  int64_t passage_tokens = 600, passage_start = -1;  // -1: where the gain is largest
};

struct Report {
  std::string page;     // HTML
  std::string picture;  // SVG of the gain charts; empty: nothing was compared
};
Report make_report(const ReportOptions& options);

}  // namespace fwl
