// keyspan/lease/lease_record.hpp — what is kept of a lease, of a host, and of all of them together.
//
//   lease.20-40    who owns [20, 40), since when, and how far it was read
//   member.41d0…   a host that takes part, and that it lives
//   layout         a number that grows when somebody comes or goes, or a range is split or merged
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

template <class Record>
std::string text_of_lease_record(Record const& record);
template <class Record, class Scheme>
result<Record> read_lease_record(Scheme const& scheme, std::string_view text);

}  // namespace detail

/// How often what follows a position was tried and not done, also by hosts that died of it.
struct lease_attempts {
  std::uint64_t sequence = 0;  ///< of the position
  std::uint32_t count = 0;

  friend bool operator==(lease_attempts const&, lease_attempts const&) = default;
};

/// One range, who owns it and how far it was read.
template <token Token>
struct lease_record {
  token_range<Token> range;
  lease_facts facts{};
  /// What the owner calls itself; for people.
  std::string owner_name{};
  /// How far it was read: what `facts.sequence` counts. Its parts cover the range and nothing else;
  /// after a merge there may be several.
  composite_cursor<Token> position{};
  /// The leases that it took the place of.
  std::vector<token_range<Token>> parents{};
  /// Once it has ended: the leases that take its place.
  std::vector<token_range<Token>> children{};
  lease_attempts attempts{};
  /// Its share of the work, in changes a second.
  double weight = 0;
  /// Why nobody handles it for now; empty where that is not so.
  std::string paused{};
  /// Where somebody wants it to be read from anew; its parts cover the range as well.
  std::optional<composite_cursor<Token>> reset{};

  /// The record as JSON, in one stable form; `from_text` reads it, where the values are such as it
  /// takes. Requires a finite weight. Complexity: linear.
  std::string to_text() const
    requires detail::cursor_token<Token>
  {
    return detail::text_of_lease_record(*this);
  }

  /// The record whose text this is, its members in any order and any white space between them.
  /// Errors, with the place: `malformed` for what is no such text; `unsupported` for another
  /// version; `not_representable` for numbers too large; `gap` and `invalid_range` where the parts
  /// of `position` or of `reset` do not cover the range exactly; those of
  /// `composite_cursor::from_text`. Complexity: linear, and that of sorting the parts.
  template <scheme_of_cursor_texts Scheme>
    requires std::same_as<token_of_scheme<Scheme>, Token>
  [[nodiscard]] static result<lease_record> from_text(Scheme const& scheme, std::string_view text) {
    return detail::read_lease_record<lease_record>(scheme, text);
  }

  friend bool operator==(lease_record const&, lease_record const&) = default;
};

/// A host from one start to its end.
struct member_record {
  session_id session{};
  /// What it calls itself; for people.
  std::string name{};
  member_phase phase = member_phase::live;
  /// Grows with every write of the host: what shows that it lives.
  std::uint64_t beat = 0;
  /// For how long a beat lets its session hold, by its own clock.
  instant::duration held_for{};
  /// How many leases it takes at least and at most; 0 where that is not bounded.
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  /// The name of the place that it fills, which whoever follows it can take over.
  std::uint64_t place = 0;
  /// Leases of a zone go to members of it first.
  std::uint64_t zone = 0;

  /// The record as JSON, in one stable form; `from_text` reads it, where the values are such as it
  /// takes.
  std::string to_text() const;
  /// The record whose text this is, its members in any order and any white space between them.
  /// Errors, with the place: `malformed` for what is no such text; `unsupported` for another
  /// version; `not_representable` for numbers too large.
  [[nodiscard]] static result<member_record> from_text(std::string_view text);

  friend bool operator==(member_record const&, member_record const&) = default;
};

/// What every host reads often, so that it need not read all the rest.
struct layout_record {
  std::uint64_t number = 0;

  /// The record as JSON, in one stable form; `from_text` reads it.
  std::string to_text() const;
  /// The record whose text this is. Errors: those of `member_record::from_text`.
  [[nodiscard]] static result<layout_record> from_text(std::string_view text);

  friend bool operator==(layout_record const&, layout_record const&) = default;
};

namespace detail {

inline constexpr std::int64_t record_version = 1;

// What tells the records apart: each has one member that no other has.
struct record_kind_words {
  std::string_view member;
  std::string_view name;    // "this is the record of …"
  std::string_view reader;  // the struct that reads it
};
inline constexpr std::array record_kinds{
    record_kind_words{"lease", "a lease", "lease_record"},
    record_kind_words{"member", "a member", "member_record"},
    record_kind_words{"layout", "the layout", "layout_record"},
};

// ---- writing ----

inline void write_word(json_writer& out, std::uint64_t word) {
  auto const digits = session_id{word}.to_text();
  out.string(digits);
}

inline void write_held_for(json_writer& out, instant::duration held_for) {
  auto const ns = std::chrono::duration_cast<std::chrono::nanoseconds>(held_for);
  out.name("held_for_ns").integer(std::int64_t{ns.count()});
}

template <cursor_token Token>
void write_range(json_writer& out, token_range<Token> const& range) {
  out.begin_object().name("lower");
  write_token(out, range.lower());
  out.name("upper");
  if (range.upper().is_space_end()) {
    out.null();
  } else {
    write_token(out, range.upper().at());
  }
  out.end_object();
}

template <cursor_token Token>
void write_ranges(json_writer& out, std::string_view name,
                  std::vector<token_range<Token>> const& ranges) {
  if (ranges.empty()) return;
  out.name(name).begin_array();
  for (auto const& range : ranges) write_range(out, range);
  out.end_array();
}

// What says nothing is left out, so that people see what matters.
template <class Record>
std::string text_of_lease_record(Record const& record) {
  std::string text;
  text.reserve(512);
  json_writer out{text};
  lease_facts const& facts = record.facts;
  out.begin_object().name("keyspan").integer(record_version).name("lease");
  write_range(out, record.range);
  out.name("phase").string(name_of(facts.phase));
  if (facts.is_detached) out.name("detached").boolean(true);
  out.name("owner");
  write_word(out, facts.owner.value);
  if (!record.owner_name.empty()) {
    out.name("owner_name");
    write_bytes(out, record.owner_name);
  }
  out.name("epoch").integer(facts.epoch).name("sequence").integer(facts.sequence);
  out.name("stamp").begin_object().name("session");
  write_word(out, facts.stamp.session.value);
  out.name("number").integer(facts.stamp.number).end_object();
  write_held_for(out, facts.held_for);
  if (facts.place != 0) {
    out.name("place");
    write_word(out, facts.place);
  }
  out.name("position").string(record.position.to_text());
  write_ranges(out, "parents", record.parents);
  write_ranges(out, "children", record.children);
  if (record.attempts != lease_attempts{}) {
    out.name("attempts").begin_object().name("sequence").integer(record.attempts.sequence);
    out.name("count").integer(record.attempts.count).end_object();
  }
  if (record.weight != 0) out.name("weight").number(record.weight);
  if (!record.paused.empty()) {
    out.name("paused");
    write_bytes(out, record.paused);
  }
  if (record.reset) out.name("reset").string(record.reset->to_text());
  out.end_object();
  expects(out.ok(), "the weight of a lease is a finite number");
  return text;
}

// ---- reading ----

// Goes to a member of the outermost object and hands the reader to `read`, or to the end of the
// object.
template <class Read>
void at_record_member(json_reader& in, std::string_view wanted, Read const& read) {
  in.begin_object();
  std::string_view name;
  while (in.next_member(name)) {
    if (name == wanted) return read(in);
    in.skip();
  }
  in.fail_here("no record: the member \"", wanted, "\" is missing");
}

inline result<void> see_record_version(std::string_view text) {
  json_reader in{text};
  at_record_member(in, "keyspan", [](json_reader& at) {
    auto const version = at.integer<std::int64_t>();
    if (at.ok() && version != record_version)
      at.fail_here(error{errc::unsupported, "the record is of version ", version,
                         "; this library reads version ", record_version});
  });
  if (!in.ok()) return unexpected{in.error()};
  return {};
}

// That a text is a record, of which version and of what, is seen before all else: what is said of
// another text is not about details.
inline result<void> see_record(std::string_view text, std::string_view wanted) {
  if (auto const version = see_record_version(text); !version) return version;
  auto const kind_of = [](std::string_view name) {
    return std::find_if(record_kinds.begin(), record_kinds.end(),
                        [&](record_kind_words const& kind) { return kind.member == name; });
  };
  auto const own = kind_of(wanted);
  json_reader in{text};
  std::string_view name;
  in.begin_object();
  while (in.next_member(name)) {
    if (name == wanted) return {};
    if (auto const other = kind_of(name); other != record_kinds.end()) {
      in.fail_here("this is the record of ", other->name, ", not of ", own->name, ": ",
                   other->reader, " reads it");
      break;
    }
    in.skip();
  }
  in.fail_here("no record of ", own->name, ": the member \"", wanted, "\" is missing");
  return unexpected{in.error()};
}

// Sixteen digits: a session, or the number of a place or a zone.
inline std::uint64_t read_word(json_reader& in, std::string_view name) {
  std::string_view const digits = in.string();
  if (!in.ok()) return 0;
  if (auto const word = session_id::from_text(digits)) return word->value;
  in.fail_here("\"", name, "\" is 16 hexadecimal digits in lower case, not \"",
               inline_text<40>{digits}, "\"");
  return 0;
}

inline instant::duration read_held_for(json_reader& in) {
  auto const ns = in.integer<std::int64_t>();
  if (in.ok() && ns < 0) in.fail_here("\"held_for_ns\" is 0 or more, not ", ns);
  return saturated(std::chrono::nanoseconds{ns});
}

inline lease_phase read_lease_phase(json_reader& in) {
  std::string_view const name = in.string();
  for (auto const phase : {lease_phase::open, lease_phase::ended})
    if (name == name_of(phase)) return phase;
  in.fail_here("a lease is open or ended, not \"", inline_text<40>{name}, "\"");
  return {};
}

inline member_phase read_member_phase(json_reader& in) {
  std::string_view const name = in.string();
  for (auto const phase :
       {member_phase::live, member_phase::draining, member_phase::away, member_phase::fenced})
    if (name == name_of(phase)) return phase;
  in.fail_here("a member is live, draining, away or fenced, not \"", inline_text<40>{name}, "\"");
  return {};
}

inline lease_stamp read_stamp(json_reader& in) {
  lease_stamp made;
  bool has_session = false;
  bool has_number = false;
  std::string_view name;
  in.begin_object();
  while (in.next_member(name)) {
    if (name == "session") {
      made.session.value = read_word(in, name);
      has_session = true;
    } else if (name == "number") {
      made.number = in.integer<std::uint64_t>();
      has_number = true;
    } else {
      in.fail_here("a stamp has no member \"", inline_text<40>{name}, "\"");
    }
  }
  expect_member(in, has_session, "session");
  expect_member(in, has_number, "number");
  return made;
}

inline lease_attempts read_attempts(json_reader& in) {
  lease_attempts made;
  bool has_sequence = false;
  bool has_count = false;
  std::string_view name;
  in.begin_object();
  while (in.next_member(name)) {
    if (name == "sequence") {
      made.sequence = in.integer<std::uint64_t>();
      has_sequence = true;
    } else if (name == "count") {
      made.count = in.integer<std::uint32_t>();
      has_count = true;
    } else {
      in.fail_here("attempts have no member \"", inline_text<40>{name}, "\"");
    }
  }
  expect_member(in, has_sequence, "sequence");
  expect_member(in, has_count, "count");
  return made;
}

template <class Scheme>
class lease_record_reader {
  using token_type = token_of_scheme<Scheme>;
  using range_type = token_range<token_type>;
  using cursor_type = composite_cursor<token_type>;

 public:
  lease_record_reader(Scheme const& scheme, std::string_view text) : scheme_{scheme}, text_{text} {}

  result<lease_record<token_type>> read() {
    if (auto const kind = see_record(text_, "lease"); !kind) return unexpected{kind.error()};
    if (auto const all = read_members(); !all) return unexpected{all.error()};
    lease_record<token_type> made{*std::move(range_)};
    made.facts = facts_;
    made.owner_name = std::move(owner_name_);
    made.position = *std::move(position_);
    made.parents = std::move(parents_);
    made.children = std::move(children_);
    made.attempts = attempts_;
    made.weight = weight_;
    made.paused = std::move(paused_);
    made.reset = std::move(reset_);
    if (auto const fits = see_cover(made.range, made.position, "position"); !fits)
      return unexpected{fits.error()};
    if (made.reset) {
      if (auto const fits = see_cover(made.range, *made.reset, "reset"); !fits)
        return unexpected{fits.error()};
    }
    return made;
  }

 private:
  result<void> read_members() {
    bool has_phase = false;
    bool has_owner = false;
    bool has_epoch = false;
    bool has_sequence = false;
    bool has_stamp = false;
    bool has_held_for = false;
    json_reader in{text_};
    in.begin_object();
    std::string_view name;
    while (in.next_member(name)) {
      if (name == "keyspan") {
        static_cast<void>(in.integer<std::int64_t>());
      } else if (name == "lease") {
        range_ = read_range(in);
      } else if (name == "phase") {
        facts_.phase = read_lease_phase(in);
        has_phase = true;
      } else if (name == "detached") {
        facts_.is_detached = in.boolean();
      } else if (name == "owner") {
        facts_.owner.value = read_word(in, name);
        has_owner = true;
      } else if (name == "owner_name") {
        owner_name_ = read_bytes(in);
      } else if (name == "epoch") {
        facts_.epoch = in.integer<std::uint64_t>();
        has_epoch = true;
      } else if (name == "sequence") {
        facts_.sequence = in.integer<std::uint64_t>();
        has_sequence = true;
      } else if (name == "stamp") {
        facts_.stamp = read_stamp(in);
        has_stamp = true;
      } else if (name == "held_for_ns") {
        facts_.held_for = read_held_for(in);
        has_held_for = true;
      } else if (name == "place") {
        facts_.place = read_word(in, name);
      } else if (name == "position") {
        position_ = read_position(in, name);
      } else if (name == "parents") {
        parents_ = read_ranges(in);
      } else if (name == "children") {
        children_ = read_ranges(in);
      } else if (name == "attempts") {
        attempts_ = read_attempts(in);
      } else if (name == "weight") {
        weight_ = in.number();
        if (in.ok() && weight_ < 0) in.fail_here("\"weight\" is 0 or more");
      } else if (name == "paused") {
        paused_ = read_bytes(in);
      } else if (name == "reset") {
        reset_ = read_position(in, name);
      } else {
        in.fail_here("the record of a lease has no member \"", inline_text<40>{name}, "\"");
      }
    }
    expect_member(in, has_phase, "phase");
    expect_member(in, has_owner, "owner");
    expect_member(in, has_epoch, "epoch");
    expect_member(in, has_sequence, "sequence");
    expect_member(in, has_stamp, "stamp");
    expect_member(in, has_held_for, "held_for_ns");
    expect_member(in, position_.has_value(), "position");
    in.finish();
    if (!in.ok()) return unexpected{in.error()};
    return {};
  }

  std::optional<range_type> read_range(json_reader& in) const {
    std::optional<token_type> lower;
    std::optional<upper_end<token_type>> upper;
    std::string_view name;
    in.begin_object();
    while (in.next_member(name)) {
      if (name == "lower") {
        lower = read_token(scheme_, in);
      } else if (name != "upper") {
        in.fail_here("a range has no member \"", inline_text<40>{name}, "\"");
      } else if (in.peek() == json_kind::null) {
        in.null();
        upper.emplace(space_end);
      } else if (auto at = read_token(scheme_, in)) {
        upper.emplace(*std::move(at));
      }
    }
    expect_member(in, lower.has_value(), "lower");
    expect_member(in, upper.has_value(), "upper");
    if (!in.ok()) return std::nullopt;
    auto range = range_type::from(*std::move(lower), *std::move(upper));
    if (range) return *std::move(range);
    in.fail_here(range.error());
    return std::nullopt;
  }

  std::vector<range_type> read_ranges(json_reader& in) const {
    std::vector<range_type> made;
    in.begin_array();
    while (in.next_element())
      if (auto range = read_range(in)) made.push_back(*std::move(range));
    return made;
  }

  std::optional<cursor_type> read_position(json_reader& in, std::string_view name) const {
    std::string_view const text = in.string();
    if (!in.ok()) return std::nullopt;
    auto made = cursor_type::from_text(scheme_, text);
    if (made) return *std::move(made);
    error const& why = made.error();
    in.fail_here(error{why.code, "in the text of \"", name, "\", line ", why.position.line,
                       ", column ", why.position.column, ": ", why.text});
    return std::nullopt;
  }

  // Whoever reads on from a position reads the range of the lease, and nothing else.
  result<void> see_cover(range_type const& range, cursor_type const& position,
                         std::string_view name) const {
    using part = cursor<token_type>;
    std::vector<part const*> sorted;
    sorted.reserve(position.parts.size());
    for (part const& one : position.parts) sorted.push_back(&one);
    std::sort(sorted.begin(), sorted.end(),
              [](part const* a, part const* b) { return a->range < b->range; });
    auto const exact = covers_exactly(
        sorted, range, [](part const* one) -> range_type const& { return one->range; });
    if (exact) return {};
    json_reader in{text_};
    at_record_member(in, name, [&](json_reader& at) {
      static_cast<void>(at.string());
      at.fail_here(
          error{exact.error().code, "\"", name, "\" does not fit \"lease\": ", exact.error().text});
    });
    return unexpected{in.error()};
  }

  Scheme const& scheme_;
  std::string_view text_;
  std::optional<range_type> range_{};
  lease_facts facts_{};
  std::string owner_name_{};
  std::optional<cursor_type> position_{};
  std::vector<range_type> parents_{};
  std::vector<range_type> children_{};
  lease_attempts attempts_{};
  double weight_ = 0;
  std::string paused_{};
  std::optional<cursor_type> reset_{};
};

template <class Record, class Scheme>
result<Record> read_lease_record(Scheme const& scheme, std::string_view text) {
  return lease_record_reader<Scheme>{scheme, text}.read();
}

}  // namespace detail

inline std::string member_record::to_text() const {
  std::string text;
  json_writer out{text};
  out.begin_object().name("keyspan").integer(detail::record_version).name("member");
  detail::write_word(out, session.value);
  if (!name.empty()) {
    out.name("name");
    detail::write_bytes(out, name);
  }
  out.name("phase").string(name_of(phase)).name("beat").integer(beat);
  detail::write_held_for(out, held_for);
  if (least != 0) out.name("least").integer(least);
  if (most != 0) out.name("most").integer(most);
  if (place != 0) {
    out.name("place");
    detail::write_word(out, place);
  }
  if (zone != 0) {
    out.name("zone");
    detail::write_word(out, zone);
  }
  out.end_object();
  expects(out.ok(), "every value of a member has a text");
  return text;
}

inline result<member_record> member_record::from_text(std::string_view text) {
  if (auto const kind = detail::see_record(text, "member"); !kind) return unexpected{kind.error()};
  member_record made;
  bool has_phase = false;
  bool has_beat = false;
  bool has_held_for = false;
  json_reader in{text};
  in.begin_object();
  std::string_view member;
  while (in.next_member(member)) {
    if (member == "keyspan") {
      static_cast<void>(in.integer<std::int64_t>());
    } else if (member == "member") {
      made.session.value = detail::read_word(in, member);
      if (made.session == no_session || made.session == departed_session)
        in.fail_here("\"member\" is the session of a host: neither all 0 nor all f");
    } else if (member == "name") {
      made.name = detail::read_bytes(in);
    } else if (member == "phase") {
      made.phase = detail::read_member_phase(in);
      has_phase = true;
    } else if (member == "beat") {
      made.beat = in.integer<std::uint64_t>();
      has_beat = true;
    } else if (member == "held_for_ns") {
      made.held_for = detail::read_held_for(in);
      has_held_for = true;
    } else if (member == "least") {
      made.least = in.integer<std::uint32_t>();
    } else if (member == "most") {
      made.most = in.integer<std::uint32_t>();
    } else if (member == "place") {
      made.place = detail::read_word(in, member);
    } else if (member == "zone") {
      made.zone = detail::read_word(in, member);
    } else {
      in.fail_here("the record of a member has no member \"", inline_text<40>{member}, "\"");
    }
  }
  detail::expect_member(in, has_phase, "phase");
  detail::expect_member(in, has_beat, "beat");
  detail::expect_member(in, has_held_for, "held_for_ns");
  return in.finish(std::move(made));
}

inline std::string layout_record::to_text() const {
  std::string text;
  json_writer out{text};
  out.begin_object().name("keyspan").integer(detail::record_version);
  out.name("layout").integer(number).end_object();
  return text;
}

inline result<layout_record> layout_record::from_text(std::string_view text) {
  if (auto const kind = detail::see_record(text, "layout"); !kind) return unexpected{kind.error()};
  layout_record made;
  json_reader in{text};
  in.begin_object();
  std::string_view name;
  while (in.next_member(name)) {
    if (name == "keyspan") {
      static_cast<void>(in.integer<std::int64_t>());
    } else if (name == "layout") {
      made.number = in.integer<std::uint64_t>();
    } else {
      in.fail_here("the record of the layout has no member \"", inline_text<40>{name}, "\"");
    }
  }
  return in.finish(made);
}

}  // namespace keyspan
