// Program 2: two streams. Nothing joins stream 2 back to the main stream.

#include <refrain/refrain.hpp>

#include <iostream>

namespace rf = refrain;

int main() {
  rf::manual_seed(0);
  rf::Stream stream1;
  rf::Stream stream2;
  rf::Event event;

  auto program = [&] {
    rf::Array t1;
    rf::Array t2;
    {
      rf::StreamGuard on(stream1);
      t1 = rf::randn({100, 100});
      t1 = t1 * 2;
      event.record(stream1);
    }
    {
      rf::StreamGuard on(stream2);
      stream2.wait_event(event);
      t2 = rf::randn({100, 100});
      t2 = t2 + t1;
    }
    return t2;
  };

  rf::Array t2 = program();  // eager
  rf::synchronize();
  std::cout << t2.shape() << '\n';

  auto [graph, captured] = rf::capture(program);  // the same program, held back
  rf::GraphExec exec = graph.instantiate();
  exec.replay();
  rf::synchronize();
  std::cout << captured.shape() << '\n';
}
