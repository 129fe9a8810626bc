// Program 1: a stream and an event.

#include <refrain/refrain.hpp>

#include <iostream>

namespace rf = refrain;

int main() {
  rf::Stream stream;
  rf::Event event;

  auto program = [&] {
    rf::Array t;
    {
      rf::StreamGuard on(stream);
      t = rf::array({1, 2, 3, 4, 5});
      t = t * 2;
      event.record(stream);
    }
    rf::current_stream().wait_event(event);
    return rf::array({10, 20, 30});
  };

  rf::Array res = program();  // eager
  rf::synchronize();
  std::cout << res << '\n';

  auto [graph, captured] = rf::capture(program);  // the same program, held back
  rf::GraphExec exec = graph.instantiate();
  exec.replay();
  rf::synchronize();
  std::cout << captured << '\n';
}
