// Bytes choose a sequence of calls of the C API: right and wrong specs, options, buffers, orders. Codes,
// errors and results go together, and nothing crashes.
#include <array>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "pooljit.h"
#include "runtime/memory_view.h"
#include "tests/fuzz/target.h"
#include "tools/fuzz/random_spec.h"

using namespace pooljit;

namespace {

constexpr const char* option_texts[] = {nullptr,
                                        "",
                                        "threads=1",
                                        "backend=interpreter",
                                        "backend=reference",
                                        "isa=avx2",
                                        "threads=2 isa=auto",
                                        "backend=xbyak isa=avx512",
                                        "colour=red",
                                        "threads=-1",
                                        "schedule=channels_last(lanes=1)",
                                        "schedule=channels_first(lanes=4, order=rows_first)",
                                        "schedule=x("};

struct Held {
  pooljit_kernel* kernel = nullptr;
  frontend::PoolSpec spec;
};

class Session {
 public:
  explicit Session(std::span<const uint8_t> bytes) : draw_(bytes) {}
  ~Session() {
    for (Held& held : held_) pooljit_release(held.kernel);
  }

  void step() {
    Held& held = held_[draw_.below(held_.size())];
    switch (draw_.below(6)) {
      case 0:
      case 1:
        return compile(held);
      case 2:
        return release(held);
      case 3:
        return shape(held);
      default:
        return run(held);
    }
  }
  bool is_over() const { return draw_.is_used_up(); }

 private:
  // A code that is no success has an error with an id.
  static void expect(int code, const char* what) {
    const std::string error = pooljit_last_error();
    fuzz::demand(code >= POOLJIT_OK && code <= POOLJIT_SYSTEM, "no code of the API", what);
    if (code != POOLJIT_OK)
      fuzz::demand(error.find(": ") != std::string::npos, "an error without an id", what);
  }

  void release(Held& held) {
    pooljit_release(held.kernel);
    held.kernel = nullptr;
  }

  void compile(Held& held) {
    release(held);
    held.spec = fuzz::random_spec(draw_);
    std::string text = print(held.spec);
    const bool is_spoilt = draw_.one_in(4);
    if (is_spoilt) text[draw_.below(text.size())] = static_cast<char>(draw_.between(1, 127));
    const char* const options = option_texts[draw_.below(std::size(option_texts))];
    const char* const given = draw_.one_in(30) ? nullptr : text.c_str();
    const int code = text.size() % 3 == 0 ? by_spec_object(given, options, held)
                                          : pooljit_compile(given, options, &held.kernel);
    expect(code, text.c_str());
    fuzz::demand((code == POOLJIT_OK) == (held.kernel != nullptr), "kernel and code do not go together",
                 text);
    if (code == POOLJIT_OK && is_spoilt) held.spec = *frontend::parse_spec(text);
  }

  static int by_spec_object(const char* text, const char* options, Held& held) {
    pooljit_spec* object = nullptr;
    const int code = pooljit_spec_read(text, options, &object);
    fuzz::demand((code == POOLJIT_OK) == (object != nullptr), "object and code do not go together");
    if (code != POOLJIT_OK) return code;
    const int compiled = pooljit_spec_compile(object, &held.kernel);
    pooljit_spec_release(object);
    return compiled;
  }

  void shape(const Held& held) {
    std::array<int64_t, POOLJIT_MAX_RANK> dims{};
    int rank = 0;
    const int code = pooljit_output_shape(held.kernel, draw_.one_in(20) ? nullptr : dims.data(), &rank);
    expect(code, "pooljit_output_shape");
    if (code != POOLJIT_OK) return;
    const std::vector<int64_t> wanted = output_shape(held.spec);
    fuzz::demand(std::vector(dims.begin(), dims.begin() + rank) == wanted, "the shape is another one");
  }

  void run(const Held& held) {
    if (!held.kernel) return expect(pooljit_run(nullptr, nullptr, nullptr, nullptr), "pooljit_run of null");
    // A text that was spoilt may be valid, and large.
    const ir::PoolNest nest = make_nest(held.spec);
    const int64_t batch = held.spec.batch.value_or(1);
    const int64_t sizes[] = {runtime::input_view(nest, batch).span_bytes(),
                             runtime::output_view(nest, batch).span_bytes(),
                             runtime::indices_view(nest, batch).span_bytes()};
    constexpr int64_t most_bytes = 1 << 24;
    for (const int64_t size : sizes)
      if (size > most_bytes) return;
    std::vector<uint8_t> input(sizes[0] + 1, 0x40), output(sizes[1] + 1), indices(sizes[2] + 8);
    void* const out = draw_.one_in(20) ? input.data() : output.data();
    const bool has_indices = (sizes[2] > 0) != draw_.one_in(20);
    const void* const in = draw_.one_in(20) ? nullptr : input.data();
    expect(pooljit_run(held.kernel, in, out, has_indices ? indices.data() : nullptr), "pooljit_run");
  }

  fuzz::Draw draw_;
  std::array<Held, 3> held_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Session session(std::span(data, size));
  for (int steps = 0; steps < 64 && !session.is_over(); ++steps) session.step();
  return 0;
}
