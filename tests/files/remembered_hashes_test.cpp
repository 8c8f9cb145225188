#include "files/remembered_hashes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "files/checksum.h"
#include "support/scratch.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

class RememberedHashes : public testing::Test {
 protected:
  RememberedHashes() : folder_(fresh_folder("remembered_hashes")), path_(folder_ + "/model.gguf") {
    if (const char* before = std::getenv("FWL_DATA")) before_ = before;
    setenv("FWL_DATA", (folder_ + "/cache").c_str(), 1);
    write("weights");
  }
  ~RememberedHashes() override { before_.empty() ? unsetenv("FWL_DATA") : setenv("FWL_DATA", before_.c_str(), 1); }

  void write(const std::string& text) { std::ofstream(path_) << text; }

  // The time of status change cannot be set; so what is remembered is written by hand, as if it were an hour later.
  std::string note() const { return fs::directory_iterator(folder_ + "/cache/hashes")->path().string(); }

  std::string folder_, path_, before_;
};

TEST_F(RememberedHashes, AreThoseOfTheFile) {
  EXPECT_EQ(remembered_hash_of_file(path_), checksum_of_file(path_, "sha256:"));
  write("others");
  EXPECT_EQ(remembered_hash_of_file(path_), checksum_of_file(path_, "sha256:"));
}

TEST_F(RememberedHashes, AreNotKeptOfAFileThatHasJustChanged) {
  remembered_hash_of_file(path_);
  EXPECT_FALSE(is_remembered(path_));
}

TEST_F(RememberedHashes, AreUsedUntilTheFileChangesAndOnlyIfNobodyElseCouldHaveWrittenThem) {
  const std::string settled = "/bin/sh";  // whose status changed long ago
  const auto hash = remembered_hash_of_file(settled);
  EXPECT_EQ(hash, checksum_of_file(settled, "sha256:"));
  ASSERT_TRUE(is_remembered(settled));
  const auto content = [&] {
    std::ifstream in(note());
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  const auto rewrite = [&](std::string text) { std::ofstream(note()) << text; };
  auto forged = content;
  forged.replace(forged.find(hash), hash.size(), "sha256:forged");
  rewrite(forged);
  EXPECT_EQ(remembered_hash_of_file(settled), "sha256:forged");  // it is really read
  chmod(note().c_str(), 0666);
  EXPECT_EQ(remembered_hash_of_file(settled), hash);
  EXPECT_TRUE(is_remembered(settled));  // written anew
  rewrite("{damaged");
  EXPECT_EQ(remembered_hash_of_file(settled), hash);
  auto older = content;
  older.replace(older.find("\"stamp\":\"") + 9, 1, "x");
  rewrite(older);
  EXPECT_FALSE(is_remembered(settled));
  EXPECT_EQ(remembered_hash_of_file(settled), hash);
  fs::permissions(folder_ + "/cache/hashes", fs::perms::all);
  EXPECT_FALSE(is_remembered(settled));
  EXPECT_EQ(remembered_hash_of_file(settled), hash);
}

}  // namespace
}  // namespace fwl
