// The three programs Refrain began with, line by line.

#include "workload.hpp"

#include <refrain/event.hpp>
#include <refrain/random.hpp>
#include <refrain/stream.hpp>

namespace refrain::bench {
namespace {

Step stream_and_event() {
  return [stream = Stream(), event = Event()]() mutable -> std::vector<Array> {
    {
      StreamGuard on(stream);
      Array t = array({1, 2, 3, 4, 5});
      t = t * 2;
      event.record(stream);
    }
    current_stream().wait_event(event);
    return {array({10, 20, 30})};
  };
}

Step two_streams() {
  return [stream1 = Stream(), stream2 = Stream(), event = Event()]() mutable -> std::vector<Array> {
    Array t1, t2;
    {
      StreamGuard on(stream1);
      t1 = randn({100, 100});
      t1 = t1 * 2;
      event.record(stream1);
    }
    {
      StreamGuard on(stream2);
      stream2.wait_event(event);
      t2 = randn({100, 100});
      t2 = t2 + t1;
    }
    return {t2};
  };
}

Step several_events() {
  return
      [stream_a = Stream(), stream_b = Stream(), event_a = Event(), event_b = Event()]() mutable -> std::vector<Array> {
        const Stream main_stream = current_stream();
        Array data_a, data_b;
        {
          StreamGuard on(stream_a);
          data_a = randn({50, 50});
          data_a = data_a * 3;
          event_a.record(stream_a);
        }
        {
          StreamGuard on(stream_b);
          data_b = randn({50, 50});
          data_b = data_b + 5;
          event_b.record(stream_b);
        }
        main_stream.wait_event(event_a);
        main_stream.wait_event(event_b);
        return {data_a + data_b};
      };
}

}  // namespace

std::vector<Workload> seed_workloads() {
  return {
      {"seed1", "a stream and an event: 5 integers doubled, 3 made after them", 3, 2, stream_and_event},
      {"seed2", "two streams: randn(100, 100) * 2, then randn(100, 100) + it", 4, 3, two_streams},
      {"seed3", "two branches of randn(50, 50), joined by events and added", 5, 4, several_events},
  };
}

}  // namespace refrain::bench
