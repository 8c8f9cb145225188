// `fwl report`: writes one HTML page about runs and results.
#include "report/report_page.h"

#include "cli/commands.h"
#include "cli/model_name.h"
#include "files/atomic_file.h"
#include "support/error.h"

namespace fwl {
namespace {

struct Options {
  ReportOptions report;
  std::string out, picture;
};

void describe(Fields& fields, Options& options) {
  auto& report = options.report;
  fields
      .add("runs", report.inputs,
           "run folders of fwl train or attach, results of fwl perplexity --json, loss files of --save-nll")
      .positional()
      .required()
      .reads_file();
  fields.add("out", options.out, "HTML file to write").required().writes_file();
  fields.add("picture", options.picture, "SVG file to write: the charts of the gain").writes_file();
  fields.add("title", report.title, "title of the page");
  fields
      .add("before", report.before,
           "baseline, FILE:METHOD of --save-nll; default: the first method of the first loss file")
      .reads_file();
  fields.add("after", report.after, "compared with it, FILE:METHOD; default: the last method of the first loss file")
      .reads_file();
  fields.add("train_tokens", report.train_tokens, "training data, for the gain by frequency").reads_file();
  fields.add("tokens", report.tokens, "token file of the scored text, to show a passage and tokens in context")
      .reads_file();
  fields.add("tokenizer", report.tokenizer, "vocabulary of --tokens, to show them as text").reads_file();
  fields.add("top", report.top, "number of gains and losses to show in context").range(0, 100);
  fields.add("passage_tokens", report.passage_tokens, "length of the passage in tokens").range(1, 5000);
  fields.add("passage_start", report.passage_start, "first token of the passage; -1: where the gain is largest")
      .range(-1, 1e15);
}

int run(Options& options, Console& console) {
  options.report.tokenizer = find_tokenizer(options.report.tokenizer, console);
  const auto report = make_report(options.report);
  if (!options.picture.empty() && report.picture.empty())
    fail("--picture", "losses of two methods (fwl perplexity --save-nll)", "none", "there is nothing to compare");
  write_file_atomically(options.out, report.page);
  if (!options.picture.empty()) write_file_atomically(options.picture, report.picture);
  console.out() << options.out << '\n';
  return 0;
}

}  // namespace

Command report_command() {
  return make_command<Options>("report", "write one HTML page about runs and results: tables, curves, gains",
                               "examples:\n"
                               "  fwl report runs/static runs/fwl test.json --out report.html\n"
                               "  fwl report runs/fwl test.nll --train-tokens data/enwik8/train.tokens \\\n"
                               "    --tokens data/enwik8/test.tokens --tokenizer bytes --out report.html",
                               describe, run);
}

}  // namespace fwl
