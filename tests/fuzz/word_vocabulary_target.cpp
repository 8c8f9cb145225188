#include "fuzz/fuzz_target.h"
#include "tokenizer/word_tokenizer.h"

namespace fwl {
namespace {

void run(std::string_view bytes) {
  const WordTokenizer tokenizer("input.vocab", parse_word_vocabulary("input.vocab", bytes));
  (void)tokenizer.decode(tokenizer.encode("the cat\n\nthe <unk>\n"));
}

}  // namespace

FuzzTarget word_vocabulary_target() {
  return {"word_vocabulary", {"<eos>\t30\nthe\t20\n<unk>\t9\ncat\t1\n", "the\t4\ncat\t2\n<eos>\t1\n<unk>\t0\n"}, run};
}

}  // namespace fwl
