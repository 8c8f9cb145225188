// Plans of comparisons: which models are trained and how each method is tuned and tested, as ordinary commands.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fwl {

// One table: a config, trained once for every way of training and seed; methods that need no training of their own
// are applied to the static model. With a base, what is trained are adapters for it (fwl attach): "base" is a row, and
// dynamic evaluation is that of the base.
struct TablePlan {
  std::string name, config, valid, test;
  std::string train, tokenizer;            // training tokens and vocabulary, for the report; empty: it shows less
  std::string runs;                        // name of the trained models, by default the table's: tables may share them
  std::string base;                        // path of a pretrained model; empty: models are trained from scratch
  std::vector<std::string> settings;       // key=value, over the config
  std::vector<std::string> slow_settings;  // the same for all but boundary: gradients at the slow weights
  // The same for one method, over all of these. A name that is not a method's is one more: boundary with them.
  std::map<std::string, std::vector<std::string>> method_settings;
  // Flags of fwl perplexity for methods that score the base without training, each under a name of its own.
  std::map<std::string, std::vector<std::string>> method_flags;
  // base, static, fwl, boundary, bias-only, delta-rule, test-time, dynamic-sgd, dynamic-rms; dynamic-reset: dynamic-sgd
  // that starts anew wherever fast weights do; fwl-off and boundary-off: the models that were trained so, with their
  // fast weights off
  std::vector<std::string> methods;
  std::vector<std::string> protocol;           // flags of tune and perplexity
  std::vector<std::string> rates;              // flags of tune for dynamic evaluation: where it looks
  std::vector<int64_t> seeds;                  // the first of them for every method, the others for `seeded`
  std::vector<std::string> seeded;             // methods that are trained with every seed; static and fwl if not given
  std::string against;                         // the method that the others are compared with; static if not given
  int64_t tuning_tokens = 0, test_tokens = 0;  // 0: all
};

std::vector<TablePlan> load_table_plans(const std::string& path);

// Where a method's model comes from.
bool is_tuned(const std::string& method);  // on the static model, with a value found on the validation data
bool has_seeds(const TablePlan& plan, const std::string& method);       // others have the first seed alone
bool needs_training(const TablePlan& plan, const std::string& method);  // false: the base alone
std::string training_of(const std::string& method);                     // the way of training whose model a method uses

using Arguments = std::vector<std::string>;  // of `fwl`
std::string run_name(const std::string& table, const std::string& method, int64_t seed);
Arguments train_arguments(const TablePlan& plan, const std::string& training, int64_t seed, const std::string& folder);
// `trained`: the folder of the best model or adapter; empty: the base alone. `value`: the tuned step or rate, for
// methods that have one.
Arguments tune_arguments(const TablePlan& plan, const std::string& method, const std::string& trained);
Arguments test_arguments(const TablePlan& plan, const std::string& method, const std::string& trained, double value,
                         const std::string& nll_path);
// The page and the picture of a table: its runs, and the losses of static and of the best method.
Arguments report_arguments(const TablePlan& plan, const std::vector<std::string>& inputs, const std::string& before,
                           const std::string& after, const std::string& page, const std::string& picture);
// Time and memory of static, fwl and dynamic evaluation, in one run on one model.
Arguments speed_arguments(const TablePlan& plan, const std::string& trained);
std::string command_text(const Arguments& arguments);  // as one would type it

}  // namespace fwl
