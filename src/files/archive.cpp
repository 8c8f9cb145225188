#include "files/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace fwl {
namespace {

constexpr size_t block_bytes = 1 << 18;

using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

[[noreturn]] void reject(const std::string& path, const Reader& reader) {
  const char* message = archive_error_string(reader.get());
  fail(path, "a readable archive", message ? message : "a damaged one", "the download may be incomplete");
}

void open(const Reader& reader, const std::string& path) {
  archive_read_support_filter_all(reader.get());
  if (archive_read_open_filename(reader.get(), path.c_str(), block_bytes) != ARCHIVE_OK) reject(path, reader);
}

void read_content(const Reader& reader, const std::string& path, int64_t largest_bytes, const ByteSink& sink) {
  std::vector<char> block(block_bytes);
  int64_t done = 0;
  while (true) {
    const auto count = archive_read_data(reader.get(), block.data(), block.size());
    if (count < 0) reject(path, reader);
    if (count == 0) return;
    done += count;
    if (done > largest_bytes) fail(path, fmt::format("at most {} bytes", largest_bytes), "more", "not the known file");
    sink(std::span(block).first(static_cast<size_t>(count)));
  }
}

}  // namespace

void read_archive_member(const std::string& archive_path, const std::string& member, int64_t largest_bytes,
                         const ByteSink& sink) {
  const Reader reader(archive_read_new(), archive_read_free);
  archive_read_support_format_zip(reader.get());
  archive_read_support_format_tar(reader.get());
  open(reader, archive_path);
  archive_entry* entry = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK || status == ARCHIVE_WARN) {
    const char* name = archive_entry_pathname(entry);
    if (!name || std::string_view(name) != member) continue;
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
      fail(archive_path, fmt::format("'{}' to be a plain file", member), "a link or a folder");
    return read_content(reader, archive_path + ": " + member, largest_bytes, sink);
  }
  if (status != ARCHIVE_EOF) reject(archive_path, reader);
  fail(archive_path, fmt::format("a member '{}'", member), "none of that name");
}

void read_compressed_file(const std::string& path, int64_t largest_bytes, const ByteSink& sink) {
  const Reader reader(archive_read_new(), archive_read_free);
  archive_read_support_format_raw(reader.get());
  open(reader, path);
  archive_entry* entry = nullptr;
  if (archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK) reject(path, reader);
  read_content(reader, path, largest_bytes, sink);
}

}  // namespace fwl
