// What can be fuzzed: a reader of files that nobody vouches for, with valid files to start from.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fwl {

struct FuzzTarget {
  std::string name;
  std::vector<std::string> seeds;             // valid files, small, made in code
  std::function<void(std::string_view)> run;  // reads and uses the bytes; may throw UserError and nothing else
  // Optional: makes a length or checksum right again, so that a mutation gets past the first check. Used on half of
  // the inputs.
  std::function<std::string(std::string)> repair = {};
};

// One function per tests/fuzz/<name>_target.cpp.
FuzzTarget chat_template_target();
FuzzTarget config_target();
FuzzTarget gguf_target();
FuzzTarget gguf_tokenizer_target();
FuzzTarget question_file_target();
FuzzTarget safetensors_target();
FuzzTarget sentencepiece_target();
FuzzTarget shard_index_target();
FuzzTarget split_pattern_target();
FuzzTarget token_file_target();
FuzzTarget tokenizer_json_target();
FuzzTarget word_vocabulary_target();

std::vector<FuzzTarget> all_fuzz_targets();

}  // namespace fwl
