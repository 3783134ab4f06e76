// test/package/consumer/curl.cpp — a program that uses keyspan::curl.
#include <keyspan/adapter/curl.hpp>
#include <keyspan/core/print.hpp>

#include <iostream>

int main() {
  auto const where = keyspan::service_endpoint::parse("http://127.0.0.1:1");
  if (!where) return 1;
  keyspan::curl_options options;
  options.proxy = "";
  keyspan::curl_loop loop;
  keyspan::curl_transport nobody{loop, *where, options};
  auto const answer = loop.complete(nobody.send({}));
  if (answer) return 1;
  std::cout << "keyspan::curl works: " << answer.error() << '\n';
}
