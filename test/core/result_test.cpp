// test/core/result_test.cpp
#include <keyspan/core/result.hpp>
#include <support/check.hpp>
using test::check;
constexpr bool an_error_passes_by(){ auto half=[](int n)->keyspan::result<int>{ if(n%2) return keyspan::fail(keyspan::errc::gap,"odd"); return n/2;}; check(half(8).and_then(half)==2); check(!half(3).and_then(half)); return true;}
CHECK_BOTH(an_error_passes_by);
