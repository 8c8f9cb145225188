// Reads a text, forgets it but for what the fast weights have learned, and writes: embed MODEL TEXT PROMPT
#include <ATen/core/grad_mode.h>
#include <files/memory_map.h>
#include <generate/generator.h>
#include <store/open_model.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::fprintf(stderr, "usage: embed MODEL TEXT PROMPT\n");
    return 2;
  }
  const at::NoGradGuard no_grad;                                                  // nothing is trained
  const auto opened = fwl::with_blocks(fwl::open_model(argv[1]), {.at = "all"});  // untrained memories in all blocks
  const fwl::LanguageModel& model = *opened.model;
  auto session = model.new_session();
  fwl::Generator generator(model, session);

  const auto text = model.tokenizer()->encode(fwl::MemoryMap(argv[2]).text());
  const auto loss = generator.read(text, fwl::Adaptation::write);
  std::printf("read %lld tokens, %.2f nats each\n", static_cast<long long>(loss.read_tokens),
              loss.sum / static_cast<double>(loss.tokens));

  model.forget_context(session);
  generator.read(model.tokenizer()->encode(argv[3]), fwl::Adaptation::read);
  const auto written = generator.generate({.adaptation = fwl::Adaptation::read, .max_tokens = 24});
  std::printf("%s%s\n", argv[3], written.text.c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
