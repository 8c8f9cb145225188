#include "files/own_folder.h"

#include <dlfcn.h>
#include <link.h>

namespace fwl {

std::filesystem::path own_folder() {
  Dl_info info;
  link_map* map = nullptr;
  const bool is_found =
      dladdr1(reinterpret_cast<void*>(&own_folder), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 &&
      map && map->l_name[0] != '\0';
  std::error_code error;
  // The program itself has no name there.
  const auto file = std::filesystem::canonical(is_found ? map->l_name : "/proc/self/exe", error);
  return error ? std::filesystem::path() : file.parent_path();
}

}  // namespace fwl
