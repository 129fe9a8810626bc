#pragma once

#include "support.hpp"
#include "support_scopes.hpp"

// Rules of a race checker, tried in every way that commands can be issued.

namespace refrain::test {

/// An array that several streams touch, and what it holds when commands run in issue order.
struct Shared {
  Array array = zeros({64});
  float value = 0;
};

/// Streams, arrays that they share, and a book of what the checker has to say.
class Trial {
 public:
  Trial();

  const std::vector<Stream> streams = std::vector<Stream>(8);
  const Stream& first = streams[0];
  const Stream& second = streams[1];
  const Stream& third = streams[2];
  Shared a;
  Shared b;

  /// Issues a command that reads the array; returns its place.
  SourceLocation reads(const Stream& stream, Shared& shared, SourceLocation where = SourceLocation::current());
  /// Issues a command that writes the array; returns its place.
  SourceLocation writes(const Stream& stream, Shared& shared, SourceLocation where = SourceLocation::current());

  /// The command conflicts with that of the place, and nothing has ordered the two.
  void finds(SourceLocation earlier, const std::function<void()>& command);

  /// That the findings are those of `finds`.
  void check_findings(const std::vector<Diagnostic>& all) const;
  /// That every array holds what it holds when commands run in issue order.
  void check_values() const;
  /// What a replay is to find: the arrays as they were at the beginning.
  void reset();

 private:
  static constexpr std::size_t most_reads = 16;
  std::vector<Shared> copies_ = std::vector<Shared>(most_reads);  // of each read
  std::size_t used_ = 0;
  float next_ = 1;
  std::vector<std::string> expected_;
};

/// The program as a graph, whose streams all belong to the capture from its beginning.
Graph record_on(const std::vector<Stream>& streams, Scope scope, const std::function<void()>& body);

/// Tries a rule under Hazards::error and Hazards::add, eagerly and recorded.
void hold(const std::function<void(Trial&)>& rule);

}  // namespace refrain::test
