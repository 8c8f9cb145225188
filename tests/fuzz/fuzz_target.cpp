#include "fuzz/fuzz_target.h"

namespace fwl {

std::vector<FuzzTarget> all_fuzz_targets() {
  return {
      chat_template_target(), config_target(),      gguf_target(),           gguf_tokenizer_target(),
      question_file_target(), safetensors_target(), sentencepiece_target(),  shard_index_target(),
      split_pattern_target(), token_file_target(),  tokenizer_json_target(), word_vocabulary_target(),
  };
}

}  // namespace fwl
