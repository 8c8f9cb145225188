# What others link: fwl::fwl, a shared library of everything in src but the server, and its installation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(fwl_shared SHARED $<TARGET_OBJECTS:fwl_torch_free> $<TARGET_OBJECTS:fwl_library>)
add_library(fwl::fwl ALIAS fwl_shared)
if(FWL_SANITIZE)
  set_target_properties(fwl_shared PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
# Before 1.0 every minor version may change the interface.
set_target_properties(fwl_shared PROPERTIES
  OUTPUT_NAME fwl EXPORT_NAME fwl LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exported_names.txt
  INSTALL_RPATH ${TORCH_INSTALL_PREFIX}/lib)
target_compile_features(fwl_shared INTERFACE cxx_std_20)
target_compile_definitions(fwl_shared INTERFACE FMT_HEADER_ONLY)
target_include_directories(fwl_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/fwl>)
target_link_options(fwl_shared PRIVATE
  LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exported_names.txt LINKER:--no-undefined)
target_link_libraries(fwl_shared
  PUBLIC torch nlohmann_json::nlohmann_json
  PRIVATE OpenSSL::Crypto LibArchive::LibArchive Threads::Threads PkgConfig::PCRE2 PkgConfig::UTF8PROC
    PkgConfig::SENTENCEPIECE PkgConfig::TOMLPLUSPLUS ${TORCH_OPENMP_LIBRARY})

if(SKBUILD OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
set(PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/fwl)
install(TARGETS fwl_shared EXPORT fwl LIBRARY)
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fwl
  FILES_MATCHING PATTERN "*.h" PATTERN serve EXCLUDE)
install(DIRECTORY adapters DESTINATION ${CMAKE_INSTALL_DATADIR}/fwl)
install(EXPORT fwl NAMESPACE fwl:: FILE fwlTargets.cmake DESTINATION ${PACKAGE_FOLDER})
configure_package_config_file(cmake/fwlConfig.cmake.in fwlConfig.cmake INSTALL_DESTINATION ${PACKAGE_FOLDER})
write_basic_package_version_file(fwlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fwlConfig.cmake ${PROJECT_BINARY_DIR}/fwlConfigVersion.cmake
  DESTINATION ${PACKAGE_FOLDER})
