// reject-gcc: text_viewed_or_joined.*string
// reject-clang: string.* does not satisfy 'text_viewed_or_joined'
#include <keyspan/key/extractor.hpp>

#include <string>
#include <string_view>

class person {
 public:
  std::string name() const { return name_; }
  std::string_view name_view() const { return name_; }

 private:
  std::string name_;
};

#ifdef KEYSPAN_GOOD_TWIN
constexpr auto by_name = keyspan::key_of(&person::name_view);
#else
constexpr auto by_name = keyspan::key_of(&person::name);
#endif
