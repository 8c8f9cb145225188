// SentencePiece writes to the error stream as it likes; this library never does.
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
