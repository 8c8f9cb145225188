// Opens the vocabulary inside a GGUF file.
#pragma once

#include <memory>

#include "files/gguf.h"
#include "tokenizer/tokenizer.h"

namespace fwl {

// tokenizer.ggml.model "gpt2" is byte-level BPE, with the split pattern named by tokenizer.ggml.pre; "llama" is
// SentencePiece. Throws UserError.
std::unique_ptr<Tokenizer> open_gguf_tokenizer(const GgufFile& file);

}  // namespace fwl
