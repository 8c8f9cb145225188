// Small archives for tests.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <string>
#include <utility>
#include <vector>

namespace fwl {

struct SampleMember {
  std::string name, content;
  unsigned type = AE_IFREG;
};

// A zip where the path ends in .zip or .whl, a gzip file of the first member where it ends in plain .gz, else a tar.gz.
inline std::string write_archive(const std::string& path, const std::vector<SampleMember>& members) {
  auto* out = archive_write_new();
  const bool is_zip = path.ends_with(".zip") || path.ends_with(".whl"), is_tar = path.ends_with(".tar.gz");
  if (is_zip) {
    archive_write_set_format_zip(out);
  } else {
    archive_write_add_filter_gzip(out);
    is_tar ? archive_write_set_format_pax_restricted(out) : archive_write_set_format_raw(out);
  }
  archive_write_open_filename(out, path.c_str());
  for (const auto& member : members) {
    auto* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, member.type);
    archive_entry_set_perm(entry, 0644);
    if (member.type == AE_IFLNK) archive_entry_set_symlink(entry, member.content.c_str());
    archive_entry_set_size(entry, member.type == AE_IFREG ? static_cast<int64_t>(member.content.size()) : 0);
    archive_write_header(out, entry);
    if (member.type == AE_IFREG) archive_write_data(out, member.content.data(), member.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(out);
  archive_write_free(out);
  return path;
}

}  // namespace fwl
