// Program 3: several events.

#include <refrain/refrain.hpp>

#include <iostream>

namespace rf = refrain;

int main() {
  rf::manual_seed(0);
  rf::Stream stream_a;
  rf::Stream stream_b;
  rf::Stream main_stream = rf::current_stream();
  rf::Event event_a;
  rf::Event event_b;

  auto program = [&] {
    rf::Array data_a;
    rf::Array data_b;
    {
      rf::StreamGuard on(stream_a);
      data_a = rf::randn({50, 50});
      data_a = data_a * 3;
      event_a.record(stream_a);
    }
    {
      rf::StreamGuard on(stream_b);
      data_b = rf::randn({50, 50});
      data_b = data_b + 5;
      event_b.record(stream_b);
    }
    main_stream.wait_event(event_a);
    main_stream.wait_event(event_b);
    return data_a + data_b;
  };

  rf::Array result = program();  // eager
  rf::synchronize();
  std::cout << result.shape() << '\n';

  auto [graph, captured] = rf::capture(program);  // the same program, held back
  rf::GraphExec exec = graph.instantiate();
  exec.replay();
  rf::synchronize();
  std::cout << captured.shape() << '\n' << exec.explain();
}
