#include <refrain/refrain.hpp>

#include <iostream>

namespace rf = refrain;

int main() {
  rf::Array x = rf::array({1, 2, 3});
  rf::Stream side;
  rf::Event doubled;
  auto program = [&] {
    rf::Array y = x * 2;  // on the current stream
    doubled.record();
    rf::StreamGuard on(side);
    side.wait_event(doubled);  // captured, an edge of the graph
    return y + 1;              // on `side`
  };
  std::cout << program() << '\n';          // eager: [3, 5, 7]
  auto [graph, z] = rf::capture(program);  // recorded: nothing runs
  rf::GraphExec exec = graph.instantiate();
  x += 10;
  exec.replay();                             // reads x as it is now
  std::cout << z << '\n' << exec.explain();  // [23, 25, 27]
}
