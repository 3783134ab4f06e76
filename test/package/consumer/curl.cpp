// test/package/consumer/curl.cpp — a program that uses keyspan::curl.
#include <keyspan/keyspan.hpp>

#include <curl/curl.h>

#include <iostream>

int main() { std::cout << "keyspan::curl works with " << curl_version() << '\n'; }
