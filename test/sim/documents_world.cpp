// test/sim/documents_world.cpp — documents travel as JSON over a link that delays and damages them.
//
// Writers send small random documents; the link delays, overtakes, doubles, cuts, flips bits and
// puts white space between the tokens; the reader asks again for what arrived damaged. What was not
// damaged is read as exactly the document that was written; what was damaged is refused at a place
// in the text, or is another good document; and nothing is lost.
#include <sim/player.hpp>
#include <sim/world.hpp>

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;

// ---- documents

struct document {
  struct array {
    std::vector<document> elements;
    bool operator==(array const& other) const;
  };
  struct object {  // the value of names[i] is values[i]
    std::vector<std::string> names;
    std::vector<document> values;
    bool operator==(object const& other) const;
  };
  struct number {
    double value;
    bool operator==(number const& other) const {  // bit for bit
      return std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(other.value);
    }
  };
  std::variant<std::nullptr_t, bool, number, std::string, array, object> is;
  bool operator==(document const& other) const { return is == other.is; }
};
bool document::array::operator==(array const& other) const { return elements == other.elements; }
bool document::object::operator==(object const& other) const {
  return names == other.names && values == other.values;
}

std::string random_text(test::random& random) {
  constexpr std::array<std::string_view, 16> characters{"a",
                                                        "Z",
                                                        "0",
                                                        " ",
                                                        "\"",
                                                        "\\",
                                                        "/",
                                                        "\n",
                                                        "\t",
                                                        "\x1F",
                                                        "\x7F",
                                                        "\xC3\xA4",
                                                        "\xE2\x82\xAC",
                                                        "\xEF\xBF\xBF",
                                                        "\xED\x9F\xBF",
                                                        "\xF0\x9F\x98\x80"};
  std::string text;
  for (auto left = random.below(12); left > 0; --left) text += random.pick(characters);
  return text;
}

double random_number(test::random& random) {
  switch (random.below(8)) {
    case 0:
      return static_cast<double>(random.between(-10, 10));
    case 1:
      return static_cast<double>(random.between(-(1LL << 53), 1LL << 53));
    case 2:
      return static_cast<double>(random.between(-1000, 1000)) / 8;
    case 3:
      return -0.0;
    default:
      return random.any_finite_double();
  }
}

document random_document(test::random& random, int depth) {
  switch (random.below(depth > 0 ? 6 : 4)) {
    case 0:
      return {nullptr};
    case 1:
      return {random.chance(50)};
    case 2:
      return {document::number{random_number(random)}};
    case 3:
      return {random_text(random)};
    case 4: {
      document::array array;
      for (auto left = random.below(4); left > 0; --left)
        array.elements.push_back(random_document(random, depth - 1));
      return {std::move(array)};
    }
    default: {
      document::object object;
      for (auto left = random.below(4); left > 0; --left) {
        auto name = random_text(random);
        if (std::ranges::find(object.names, name) != object.names.end()) continue;
        object.names.push_back(std::move(name));
        object.values.push_back(random_document(random, depth - 1));
      }
      return {std::move(object)};
    }
  }
}

// ---- as JSON and back

void write(document const& what, keyspan::json_writer& out) {
  struct visitor {
    keyspan::json_writer& out;
    void operator()(std::nullptr_t) const { out.null(); }
    void operator()(bool value) const { out.boolean(value); }
    void operator()(document::number number) const {
      double const value = number.value;
      bool const is_whole = std::abs(value) <= 0x1p53 && std::trunc(value) == value;
      if (is_whole && !std::signbit(value)) {
        out.integer(static_cast<std::int64_t>(value));
      } else {
        out.number(value);
      }
    }
    void operator()(std::string const& text) const { out.string(text); }
    void operator()(document::array const& array) const {
      out.begin_array();
      for (auto const& element : array.elements) write(element, out);
      out.end_array();
    }
    void operator()(document::object const& object) const {
      out.begin_object();
      for (std::size_t i = 0; i < object.names.size(); ++i) {
        out.name(object.names[i]);
        write(object.values[i], out);
      }
      out.end_object();
    }
  };
  std::visit(visitor{out}, what.is);
}

document read_value(keyspan::json_reader& in) {
  switch (in.peek()) {
    case keyspan::json_kind::null:
      in.null();
      return {nullptr};
    case keyspan::json_kind::boolean:
      return {in.boolean()};
    case keyspan::json_kind::number:
      return {document::number{in.number()}};
    case keyspan::json_kind::string:
      return {std::string{in.string()}};
    case keyspan::json_kind::array: {
      document::array array;
      in.begin_array();
      while (in.next_element()) array.elements.push_back(read_value(in));
      return {std::move(array)};
    }
    case keyspan::json_kind::object: {
      document::object object;
      in.begin_object();
      for (std::string_view name; in.next_member(name);) {
        object.names.emplace_back(name);
        object.values.push_back(read_value(in));
      }
      return {std::move(object)};
    }
    case keyspan::json_kind::end:
      break;
  }
  in.skip();  // no value begins like this, which the reader says at its place
  return {nullptr};
}

keyspan::result<document> read(std::string_view text) {
  keyspan::json_reader in{text};
  auto value = read_value(in);
  return in.finish(std::move(value));
}

std::string text_of(sim::world const& w, document const& what, bool ascii) {
  std::string text;
  keyspan::json_writer out{text, {.ascii = ascii}};
  write(what, out);
  auto const written = out.finish();
  w.demand(written.has_value(), "a good document was not written");
  // Given room says the same, and one byte less says that it has none.
  std::vector<char> room(text.size());
  keyspan::json_writer exact{std::span{room}, {.ascii = ascii}};
  write(what, exact);
  w.demand(exact.finish() == std::string_view{text}, "given room and a string disagree");
  keyspan::json_writer tight{std::span{room}.first(room.size() - 1), {.ascii = ascii}};
  write(what, tight);
  w.demand(tight.finish().error_or(keyspan::error{errc::gap}).code == errc::too_large,
           "a byte was written where there was no room");
  return text;
}

// ---- the link

struct letter {
  std::size_t number;
  std::string text;
  bool is_cut = false;
  bool is_flipped = false;
};

class link_and_ends {
 public:
  explicit link_and_ends(sim::world& w)
      : w_{w},
        network_{w.stream("network")},
        overtaking_{w.declare_fault("overtaking", 20)},
        doubling_{w.declare_fault("doubling", 15)},
        cutting_{w.declare_fault("cutting", 20)},
        flipping_{w.declare_fault("flipping", 30)},
        spacing_{w.declare_fault("spacing", 30)} {
    w.always("every document is on its way until it has arrived", [this] { return lost(); });
    auto const writers = network_.between(1, 4);
    for (std::int64_t i = 0; i < writers; ++i) begin_writer(sim::line("writer ", i));
  }

  void expect_all_arrived() const {
    for (auto const& each : sent_) w_.demand(each.has_arrived, "a document never arrived");
    w_.demand(!sent_.empty(), "nothing was sent");
  }

 private:
  struct sent {
    document original;
    std::string text;
    int on_the_way = 0;  // letters, and requests to send it again
    bool has_arrived = false;
  };

  void begin_writer(std::string const& name) {
    auto numbers = w_.stream(name);
    bool const ascii = numbers.chance(50);
    sim::duration at{0};
    for (auto left = numbers.between(1, 8); left > 0; --left) {
      at += std::chrono::milliseconds{static_cast<std::int64_t>(numbers.exponential(20))};
      w_.schedule(at, name + " writes", [this, ascii, own = numbers.fork()]() mutable {
        document::object root;
        for (auto members = own.below(4); members > 0; --members) {
          root.names.push_back(sim::line("m", members));
          root.values.push_back(random_document(own, 3));
        }
        document original{std::move(root)};
        auto text = text_of(w_, original, ascii);
        w_.note(text);
        sent_.push_back({std::move(original), std::move(text)});
        post(sent_.size() - 1);
      });
    }
  }

  void post(std::size_t number) {
    carry(number);
    if (doubling_.strikes()) carry(number);
  }

  void carry(std::size_t number) {
    ++sent_[number].on_the_way;
    letter sheet{number, sent_[number].text};
    if (spacing_.strikes()) sheet.text = spaced(sheet.text);
    if (cutting_.strikes()) {
      auto const last = sheet.text.rfind('}');  // white space may follow, and does no harm missing
      sheet.text.resize(cutting_.stream().below(sheet.text.size()));
      sheet.is_cut = sheet.text.size() <= last;
    }
    if (!sheet.text.empty() && flipping_.strikes()) {
      auto const before = sheet.text;
      for (auto left = flipping_.stream().between(1, 8); left > 0; --left) {
        auto& byte = sheet.text[flipping_.stream().below(sheet.text.size())];
        byte = static_cast<char>(static_cast<unsigned char>(byte) ^
                                 (1U << flipping_.stream().below(8)));
      }
      sheet.is_flipped = sheet.text != before;  // an even number of flips may undo itself
    }
    sim::duration delay = std::chrono::microseconds{network_.between(500, 5'000)};
    if (overtaking_.strikes()) delay += std::chrono::milliseconds{overtaking_.stream().below(200)};
    w_.schedule(delay, sim::line("document ", number, " arrives"),
                [this, sheet = std::move(sheet)] { receive(sheet); });
  }

  // White space is no damage: before and after each bracket, comma and colon outside of strings.
  std::string spaced(std::string_view text) {
    constexpr std::array<std::string_view, 5> spaces{"", " ", "\n", "\r\n", "\t "};
    std::string wide;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      bool const is_mark = !in_string && std::string_view{"[]{},:"}.find(text[i]) != text.npos;
      if (is_mark) wide += spacing_.stream().pick(spaces);
      wide += text[i];
      if (is_mark) wide += spacing_.stream().pick(spaces);
      if (in_string && text[i] == '\\')
        wide += text[++i];
      else if (text[i] == '"')
        in_string = !in_string;
    }
    return wide;
  }

  void receive(letter const& sheet) {
    auto& original = sent_[sheet.number];
    auto const seen = read(sheet.text);
    w_.note(seen ? std::string_view{"read"} : seen.error().to_text().view());
    if (!sheet.is_cut && !sheet.is_flipped) {
      w_.demand(seen.has_value(),
                "an undamaged text was refused: ", seen ? "" : seen.error().to_text().view());
      w_.demand(*seen == original.original, "an undamaged text was read as another document");
      original.has_arrived = true;
      --original.on_the_way;
      return;
    }
    if (seen) {
      w_.demand(!sheet.is_cut || sheet.is_flipped, "half an object was read as a whole one");
      auto const text = text_of(w_, *seen, true);
      auto const again = read(text);
      w_.demand(again.has_value() && *again == *seen, "what was read is not read back: ", text);
      w_.demand(text_of(w_, *again, true) == text, "what was written is not written again: ", text);
    } else {
      check_refusal(seen.error(), sheet.text);
    }
    // The request takes the place of the damaged letter.
    w_.schedule(2ms, sim::line("document ", sheet.number, " is asked for again"),
                [this, number = sheet.number] {
                  post(number);
                  --sent_[number].on_the_way;
                });
  }

  void check_refusal(keyspan::error const& refusal, std::string_view text) const {
    constexpr std::array expected{errc::malformed, errc::invalid_utf8, errc::not_representable,
                                  errc::too_large};
    w_.demand(std::ranges::find(expected, refusal.code) != expected.end(),
              "refused for a strange reason: ", refusal.to_text());
    auto const& place = refusal.position;
    bool const is_inside = place.line >= 1 && place.column >= 1 && place.offset <= text.size() &&
                           place.column <= place.offset + 1;
    w_.demand(is_inside, "refused at a place outside of the text: ", refusal.to_text());
    auto const breaks = std::ranges::count_if(text.substr(0, place.offset),
                                              [](char c) { return c == '\n' || c == '\r'; });
    w_.demand(place.line <= static_cast<std::uint64_t>(breaks) + 1,
              "refused in a line that is not there: ", refusal.to_text());
    w_.demand(!refusal.text.empty(), "refused without a word");
  }

  std::string lost() const {
    for (std::size_t i = 0; i < sent_.size(); ++i)
      if (!sent_[i].has_arrived && sent_[i].on_the_way <= 0) return sim::line("document ", i);
    return {};
  }

  sim::world& w_;
  test::random network_;
  sim::fault& overtaking_;
  sim::fault& doubling_;
  sim::fault& cutting_;
  sim::fault& flipping_;
  sim::fault& spacing_;
  std::vector<sent> sent_;
};

sim::registered const documents{
    "documents", "JSON documents over a link that delays, doubles, cuts and flips bits",
    [](sim::world& w) {
      link_and_ends ends{w};
      w.run_until(sim::instant{500ms});
      w.heal();
      w.run();
      ends.expect_all_arrived();
    }};

}  // namespace
