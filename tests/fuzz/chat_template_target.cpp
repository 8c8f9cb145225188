#include "fuzz/fuzz_target.h"
#include "template/chat_template.h"
#include "template/chat_template_samples.h"

namespace fwl {
namespace {

void run(std::string_view bytes) {
  (void)ChatTemplate("t", bytes, "<s>", "</s>").render({{"user", "Hi"}, {"assistant", " Ho "}}, true);
}

}  // namespace

FuzzTarget chat_template_target() {
  FuzzTarget target{"chat_template", {}, run};
  for (const auto sample : {chatml_template, llama2_template, llama3_template, mistral_template, zephyr_template,
                            gemma_template, phi3_template})
    target.seeds.emplace_back(sample);
  return target;
}

}  // namespace fwl
