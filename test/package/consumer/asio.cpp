// test/package/consumer/asio.cpp — a program that uses keyspan::asio.
#include <keyspan/keyspan.hpp>

#include <boost/asio/io_context.hpp>
#include <openssl/crypto.h>

#include <iostream>

int main() {
  boost::asio::io_context context;
  context.run();
  std::cout << "keyspan::asio works with " << OpenSSL_version(OPENSSL_VERSION) << '\n';
}
