// keyspan/core/version.hpp — which keyspan this is, and what the toolchain offers it.
//
// The only header of the library that defines macros. CMakeLists.txt and conanfile.py read the
// three numbers from here, so they stand in one place.
#pragma once

#if !defined(__cpp_concepts) || !__has_include(<source_location>) || !__has_include(<version>)
#error "keyspan is C++20: compile with -std=c++20 or newer, by g++ 12, clang 16 or newer"
#elif defined(__clang__) && !defined(__apple_build_version__) && __clang_major__ < 16
#error "keyspan needs clang 16 or newer"
#endif

#include <version>

#define KEYSPAN_VERSION_MAJOR 0
#define KEYSPAN_VERSION_MINOR 1
#define KEYSPAN_VERSION_PATCH 0
#define KEYSPAN_VERSION_STRING "0.1.0"

/// 1 where exceptions are enabled. Without them `result::value()` ends in the contract handler.
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define KEYSPAN_EXCEPTIONS 1
#else
#define KEYSPAN_EXCEPTIONS 0
#endif

/// 1 where `std::expected` exists; `result` then converts from it and to it.
#if defined(__cpp_lib_expected)
#define KEYSPAN_STD_EXPECTED 1
#else
#define KEYSPAN_STD_EXPECTED 0
#endif

/// 1 where `std::format` exists; values that have a text can then be formatted.
#if defined(__cpp_lib_format)
#define KEYSPAN_STD_FORMAT 1
#else
#define KEYSPAN_STD_FORMAT 0
#endif

/// 1 where `std::from_chars` reads a double. libc++ has it from version 20 on; before that
/// `core/number.hpp` reads doubles with fast_float.
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#define KEYSPAN_STD_FROM_CHARS_DOUBLE 0
#else
#define KEYSPAN_STD_FROM_CHARS_DOUBLE 1
#endif

/// 1 where the program is checked by AddressSanitizer, which is then told of memory that is kept.
#if defined(__SANITIZE_ADDRESS__)
#define KEYSPAN_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEYSPAN_ADDRESS_SANITIZER 1
#endif
#endif
#if !defined(KEYSPAN_ADDRESS_SANITIZER)
#define KEYSPAN_ADDRESS_SANITIZER 0
#endif

/// 1 where the program is checked by ThreadSanitizer, which takes memory that is kept for memory in
/// use: so none is kept.
#if defined(__SANITIZE_THREAD__)
#define KEYSPAN_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KEYSPAN_THREAD_SANITIZER 1
#endif
#endif
#if !defined(KEYSPAN_THREAD_SANITIZER)
#define KEYSPAN_THREAD_SANITIZER 0
#endif
