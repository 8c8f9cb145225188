// Plans of comparisons: which models are trained and how each method is tuned and tested, as ordinary commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fwl {

// One table: a config, trained once for every way of training and seed; methods that need no training of their own
// are applied to the static model.
struct TablePlan {
  std::string name, config, valid, test;
  std::vector<std::string> settings;           // key=value, over the config
  std::vector<std::string> slow_settings;      // the same for all but boundary: gradients at the slow weights
  std::vector<std::string> methods;            // static, fwl, boundary, bias-only, test-time, dynamic-sgd, dynamic-rms
  std::vector<std::string> protocol;           // flags of tune and perplexity
  std::vector<int64_t> seeds;                  // the first of them for every method, the others for the main comparison
  int64_t tuning_tokens = 0, test_tokens = 0;  // 0: all
};

std::vector<TablePlan> load_table_plans(const std::string& path);

// Where a method's model comes from.
bool is_tuned(const std::string& method);            // on the static model, with a value found on the validation data
bool has_seeds(const std::string& method);           // static, fwl, boundary: the main comparison
std::string training_of(const std::string& method);  // "static" for those that are tuned, otherwise itself

using Arguments = std::vector<std::string>;  // of `fwl`
std::string run_name(const TablePlan& plan, const std::string& training, int64_t seed);
Arguments train_arguments(const TablePlan& plan, const std::string& training, int64_t seed, const std::string& folder);
Arguments tune_arguments(const TablePlan& plan, const std::string& method, const std::string& model);
// `value`: the tuned step or rate, for methods that have one.
Arguments test_arguments(const TablePlan& plan, const std::string& method, const std::string& model, double value,
                         const std::string& nll_path);
std::string command_text(const Arguments& arguments);  // as one would type it

}  // namespace fwl
