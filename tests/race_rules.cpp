// The rules of happens-before, as a race checker knows them: which commands must be ordered, and what orders them. The
// checker is Hazards::error, which refuses the second command, and Hazards::add, which orders it and tells.

#include "support_races.hpp"

#include <optional>

using boost::unit_test::label;
namespace rf = refrain;
using rf::Hazards;
using rf::SourceLocation;
using rf::test::hold;
using rf::test::require_error;
using rf::test::Trial;

BOOST_AUTO_TEST_SUITE(race_rules)

// Which commands must be ordered

BOOST_AUTO_TEST_CASE(commands_that_touch_no_memory_never_conflict, *label("conformance-122")) {
  hold([](Trial& t) {
    rf::Array nothing = rf::zeros({0});
    for (const rf::Stream& stream : {t.first, t.second, t.first}) {
      const rf::StreamGuard on(stream);
      rf::bench::empty(stream);
      stream.launch_host_func([] {});
      nothing += 1;
      nothing.assign(nothing);
    }
  });
}

BOOST_AUTO_TEST_CASE(readers_need_no_order, *label("conformance-123")) {
  hold([](Trial& t) {
    for (const rf::Stream& stream : {t.first, t.second, t.third, t.first}) t.reads(stream, t.a);
  });
}

BOOST_AUTO_TEST_CASE(a_write_needs_an_order_with_reads_and_writes_before_it, *label("conformance-124")) {
  hold([](Trial& t) {
    const SourceLocation read = t.reads(t.first, t.a);
    t.finds(read, [&] { t.writes(t.second, t.a); });
  });
  hold([](Trial& t) {
    const SourceLocation write = t.writes(t.first, t.a);
    t.finds(write, [&] { t.writes(t.second, t.a); });
  });
  hold([](Trial& t) {
    const SourceLocation write = t.writes(t.first, t.a);
    t.writes(t.second, t.b);  // another array is no matter
    t.finds(write, [&] { t.reads(t.second, t.a); });
  });
}

BOOST_AUTO_TEST_CASE(a_read_needs_an_order_with_the_last_write_and_not_with_reads, *label("conformance-126")) {
  hold([](Trial& t) {
    const SourceLocation write = t.writes(t.first, t.a);
    t.second.wait_event(t.first.record_event());
    t.reads(t.second, t.a);
    t.finds(write, [&] { t.reads(t.third, t.a); });
  });
  hold([](Trial& t) {
    t.writes(t.first, t.a);
    t.second.wait_stream(t.first);
    const SourceLocation last = t.writes(t.second, t.a);
    const rf::Event first_write = t.first.record_event();
    t.third.wait_event(first_write);  // covers the first write, not the last
    t.finds(last, [&] { t.reads(t.third, t.a); });
  });
}

BOOST_AUTO_TEST_CASE(a_write_needs_an_order_with_every_read, *label("conformance-131")) {
  constexpr std::size_t readers = 5;
  const auto read_all = [](Trial& t, std::size_t left_out) {
    SourceLocation line;
    for (std::size_t i = 1; i <= readers; ++i) {
      line = t.reads(t.streams[i], t.a);
      const rf::Event event = t.streams[i].record_event();
      if (i != left_out) t.first.wait_event(event);
    }
    return line;
  };
  for (std::size_t left_out = 1; left_out <= readers; ++left_out) {
    hold([&](Trial& t) {
      const SourceLocation read = read_all(t, left_out);
      t.finds(read, [&] { t.writes(t.first, t.a); });
    });
  }
  hold([&](Trial& t) {
    read_all(t, 0);
    t.writes(t.first, t.a);
  });
}

BOOST_AUTO_TEST_CASE(every_conflict_is_found, *label("conformance-132")) {
  // Of one command with commands of two streams: both are told, or the command is refused for either.
  hold([](Trial& t) {
    const SourceLocation first = t.writes(t.first, t.a);
    const SourceLocation second = t.writes(t.second, t.b);
    const auto both = [&] {
      const rf::StreamGuard on(t.third);
      t.a.array += t.b.array;
    };
    if (rf::hazards() == Hazards::error) {
      require_error(rf::Errc::illegal_state, both, {"race_rules.cpp:"});
      t.third.wait_stream(t.first);
      t.finds(second, both);
      return;
    }
    t.finds(first, both);
    t.finds(second, [] {});
    t.a.value += t.b.value;
  });
  // Of several commands, one after another.
  hold([](Trial& t) {
    const SourceLocation a = t.reads(t.first, t.a);
    const SourceLocation b = t.writes(t.first, t.b);
    t.finds(a, [&] { t.writes(t.second, t.a); });
    t.finds(b, [&] { t.reads(t.second, t.b); });
    if (rf::hazards() == Hazards::add) return;
    t.finds(a, [&] { t.writes(t.third, t.a); });  // a refused command has touched nothing
    t.finds(b, [&] { t.writes(t.third, t.b); });
  });
}

BOOST_AUTO_TEST_CASE(an_array_that_comes_from_another_stream_orders_nothing_else) {
  hold([](Trial& t) {
    const SourceLocation write = t.writes(t.first, t.a);
    rf::Array fresh;
    {
      const rf::StreamGuard on(t.first);
      fresh = rf::empty({64});
    }
    {
      const rf::StreamGuard on(t.second);
      fresh.assign(1);
    }
    t.finds(write, [&] { t.reads(t.second, t.a); });
  });
}

// What orders them

BOOST_AUTO_TEST_CASE(an_event_that_is_waited_for_orders_two_streams, *label("conformance-125")) {
  hold([](Trial& t) {
    t.reads(t.first, t.a);
    rf::Event event;
    event.record(t.first);
    t.second.wait_event(event);
    t.writes(t.second, t.a);
  });
  hold([](Trial& t) {
    t.writes(t.first, t.a);
    t.first.record_event().wait(t.second);
    t.reads(t.second, t.a);
  });
  hold([](Trial& t) {
    t.writes(t.first, t.a);
    t.second.wait_stream(t.first);
    t.writes(t.second, t.a);
    t.first.wait_stream(t.second);
    t.writes(t.first, t.a);
  });
}

BOOST_AUTO_TEST_CASE(an_event_that_nobody_waits_for_orders_nothing) {
  hold([](Trial& t) {
    const SourceLocation write = t.writes(t.first, t.a);
    rf::Event event;
    event.record(t.first);
    t.third.wait_event(event);
    t.finds(write, [&] { t.reads(t.second, t.a); });
  });
  hold([](Trial& t) {  // a wait is one-way
    t.second.wait_stream(t.first);
    const SourceLocation write = t.writes(t.second, t.a);
    t.finds(write, [&] { t.reads(t.first, t.a); });
  });
}

BOOST_AUTO_TEST_CASE(branches_after_one_event_are_not_ordered_with_one_another, *label("conformance-127")) {
  hold([](Trial& t) {
    t.writes(t.first, t.a);
    const rf::Event fork = t.first.record_event();
    t.second.wait_event(fork);
    t.third.wait_event(fork);
    t.reads(t.second, t.a);
    const SourceLocation read = t.reads(t.third, t.a);
    t.finds(read, [&] { t.writes(t.second, t.a); });
  });
  hold([](Trial& t) {
    t.writes(t.first, t.a);
    const rf::Event fork = t.first.record_event();
    t.second.wait_event(fork);
    t.third.wait_event(fork);
    t.reads(t.second, t.a);
    t.reads(t.third, t.a);
    t.second.wait_event(t.third.record_event());
    t.writes(t.second, t.a);
  });
}

BOOST_AUTO_TEST_CASE(order_passes_along_a_chain_of_streams, *label("conformance-128")) {
  constexpr std::size_t last = 7;
  const auto chain = [](Trial& t, std::size_t broken) {
    const SourceLocation write = t.writes(t.first, t.a);
    for (std::size_t i = 0; i < last; ++i) {
      const rf::Event event = t.streams[i].record_event();
      if (i != broken) t.streams[i + 1].wait_event(event);
    }
    return write;
  };
  hold([&](Trial& t) {
    chain(t, last);
    t.reads(t.streams[last], t.a);
    t.writes(t.streams[last], t.a);
  });
  for (const std::size_t broken : {std::size_t{0}, last / 2, last - 1}) {
    hold([&](Trial& t) {
      const SourceLocation write = chain(t, broken);
      t.finds(write, [&] { t.writes(t.streams[last], t.a); });
    });
  }
}

BOOST_AUTO_TEST_CASE(an_event_does_not_cover_what_comes_after_its_record, *label("conformance-129")) {
  hold([](Trial& t) {
    rf::Event event;
    event.record(t.first);
    const SourceLocation read = t.reads(t.first, t.a);
    t.second.wait_event(event);
    t.finds(read, [&] { t.writes(t.second, t.a); });
  });
  hold([](Trial& t) {
    t.writes(t.first, t.a);
    t.second.wait_stream(t.first);
    const SourceLocation later = t.writes(t.first, t.a);
    t.finds(later, [&] { t.reads(t.second, t.a); });
  });
  hold([](Trial& t) {  // nor does a wait cover a record that comes after it
    const SourceLocation read = t.reads(t.first, t.a);
    rf::Event event;
    t.second.wait_event(event);
    event.record(t.first);
    t.finds(read, [&] { t.writes(t.second, t.a); });
  });
}

BOOST_AUTO_TEST_CASE(an_event_in_the_place_of_a_deleted_one_orders_nothing, *label("conformance-130")) {
  hold([](Trial& t) {  // often at the same address
    const SourceLocation read = t.reads(t.first, t.a);
    std::optional<rf::Event> event(std::in_place);
    event->record(t.first);
    event.reset();
    event.emplace();
    t.second.wait_event(*event);
    t.finds(read, [&] { t.writes(t.second, t.a); });
  });
  hold([](Trial& t) {  // the same name
    const SourceLocation read = t.reads(t.first, t.a);
    rf::Event event;
    event.record(t.first);
    event = rf::Event();
    t.second.wait_event(event);
    t.finds(read, [&] { t.writes(t.second, t.a); });
  });
  hold([](Trial& t) {  // no event at all any more
    const SourceLocation read = t.reads(t.first, t.a);
    rf::Event event;
    event.record(t.first);
    const rf::Event moved = std::move(event);
    require_error(rf::Errc::invalid_value, [&] { t.second.wait_event(event); });  // NOLINT(bugprone-use-after-move)
    t.finds(read, [&] { t.writes(t.second, t.a); });
  });
  hold([](Trial& t) {  // a deletion takes no wait back
    t.reads(t.first, t.a);
    std::optional<rf::Event> event(std::in_place);
    event->record(t.first);
    t.second.wait_event(*event);
    event.reset();
    t.writes(t.second, t.a);
  });
  hold([](Trial& t) {  // and another handle still names the event
    t.reads(t.first, t.a);
    std::optional<rf::Event> event(std::in_place);
    event->record(t.first);
    const rf::Event copy = *event;
    event.reset();
    t.second.wait_event(copy);
    t.writes(t.second, t.a);
  });
}

BOOST_AUTO_TEST_CASE(a_wait_adds_to_what_a_stream_knows_already, *label("conformance-133")) {
  // Each stream has come past the other's record, so that neither may take the other's view as it is.
  const auto cross = [](Trial& t) {
    t.writes(t.first, t.a);
    t.writes(t.second, t.b);
    const rf::Event of_first = t.first.record_event();
    const rf::Event of_second = t.second.record_event();
    t.writes(t.first, t.a);
    t.writes(t.second, t.b);
    t.first.wait_event(of_second);
    t.second.wait_event(of_first);
  };
  hold([&](Trial& t) {
    cross(t);
    t.writes(t.first, t.a);
    t.writes(t.second, t.b);
  });
  hold([&](Trial& t) {
    rf::Event event;
    t.writes(t.first, t.a);
    const SourceLocation b = t.writes(t.second, t.b);
    event.record(t.first);
    t.writes(t.first, t.a);
    t.second.wait_event(event);  // older than what follows
    const SourceLocation a = t.writes(t.first, t.a);
    t.finds(a, [&] { t.writes(t.second, t.a); });
    if (rf::hazards() == Hazards::error) t.finds(b, [&] { t.writes(t.first, t.b); });
  });
  hold([&](Trial& t) {  // knowledge of two streams comes together in a third, whatever the order of the waits
    t.writes(t.first, t.a);
    const rf::Event early = t.first.record_event();
    t.writes(t.second, t.b);
    t.second.wait_event(early);
    t.writes(t.first, t.a);
    t.third.wait_stream(t.first);
    t.third.wait_stream(t.second);  // knows less of the first stream
    t.writes(t.third, t.a);
    t.writes(t.third, t.b);
  });
}

BOOST_AUTO_TEST_CASE(a_new_record_takes_the_place_of_the_old_one, *label("conformance-134")) {
  hold([](Trial& t) {
    const SourceLocation read = t.reads(t.first, t.a);
    rf::Event event;
    event.record(t.first);
    event.record(t.second);
    t.third.wait_event(event);
    t.finds(read, [&] { t.writes(t.third, t.a); });
  });
  hold([](Trial& t) {  // a wait that came before keeps the old one
    t.reads(t.first, t.a);
    rf::Event event;
    event.record(t.first);
    t.third.wait_event(event);
    event.record(t.second);
    t.writes(t.third, t.a);
  });
  hold([](Trial& t) {  // on the same stream the new record covers more
    rf::Event event;
    event.record(t.first);
    t.writes(t.first, t.a);
    event.record(t.first);
    t.second.wait_event(event);
    t.writes(t.second, t.a);
  });
}

BOOST_AUTO_TEST_CASE(an_event_may_be_waited_for_many_times, *label("conformance-135")) {
  hold([](Trial& t) {
    t.writes(t.first, t.a);
    t.writes(t.first, t.b);
    const rf::Event event = t.first.record_event();
    for (int i = 0; i < 2; ++i) {
      t.second.wait_event(event);
      t.third.wait_event(event);
    }
    t.writes(t.second, t.a);
    const SourceLocation b = t.writes(t.third, t.b);
    t.finds(b, [&] { t.writes(t.second, t.b); });
  });
  hold([](Trial& t) {  // one stream, one event, several records
    rf::Event event;
    for (int i = 0; i < 3; ++i) {
      t.writes(t.first, t.a);
      event.record(t.first);
      t.second.wait_event(event);
      t.reads(t.second, t.a);
      event.record(t.second);
      t.first.wait_event(event);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
