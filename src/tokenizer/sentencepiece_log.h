// Silences SentencePiece's messages on the error stream.
#pragma once

// Exported by the library, but in none of its installed headers.
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
}

namespace fwl {

inline void silence_sentencepiece() {
  constexpr int above_errors = 3;
  sentencepiece::logging::SetMinLogLevel(above_errors);
}

}  // namespace fwl
