#include "fuzz/fuzz_target.h"
#include "support/fields.h"

namespace fwl {
namespace {

// One field of each kind. What was accepted is written and read again.
void run(std::string_view bytes) {
  int64_t steps = 3;
  double rate = 0.5;
  bool is_tied = false;
  std::string name = "layer";
  std::vector<std::string> texts;
  Fields fields;
  fields.add("run.steps", steps, "steps").range(1, 1e6);
  fields.add("optimizer.lr", rate, "learning rate").range(0, 1);
  fields.add("model.tied", is_tied, "one matrix");
  fields.add("memory.kind", name, "kind");
  fields.add("text", texts, "files");
  fields.load_toml("input.toml", bytes);
  fields.check("input.toml");
  const auto written = fields.to_toml();
  fields.load_toml("again.toml", written);
  if (fields.to_toml() != written) throw std::logic_error("a config did not come back");
}

}  // namespace

FuzzTarget config_target() {
  return {
      "config",
      {"text = ['a.txt', \"b\\u0041\"]\n[run]\nsteps = 1_000  # few\n[optimizer]\nlr = 1e-3\n[model]\ntied = true\n",
       "run = {steps = 0x10}\nmemory.kind = '''delta\nrule'''\ntext = []\n"},
      run};
}

}  // namespace fwl
