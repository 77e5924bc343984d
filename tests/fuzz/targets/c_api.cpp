// Bytes choose a sequence of calls of the C API: right and wrong specs, options, buffers, orders. Codes,
// errors and results go together, and nothing crashes.
#include <array>
#include <string>
#include <vector>

#include "frontend/pool_spec.h"
#include "pooljit.h"
#include "runtime/memory_view.h"
#include "tests/c_words.h"
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
                                        "schedule=channels_first(lanes=4, scan=rows_first)",
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
                                          : tests::compile_words(given, options, &held.kernel);
    expect(code, text.c_str());
    fuzz::demand((code == POOLJIT_OK) == (held.kernel != nullptr), "kernel and code do not go together",
                 text);
    if (code == POOLJIT_OK && is_spoilt) held.spec = *frontend::parse_spec(text, frontend::FreeDims::allowed);
  }

  static int by_spec_object(const char* text, const char* options, Held& held) {
    pooljit_spec* object = nullptr;
    const int code = tests::read_words(text, options, &object);
    fuzz::demand((code == POOLJIT_OK) == (object != nullptr), "object and code do not go together");
    if (code != POOLJIT_OK) return code;
    const int compiled = pooljit_spec_compile(object, &held.kernel);
    pooljit_spec_release(object);
    return compiled;
  }

  void shape(const Held& held) {
    pooljit_tensor output = {};
    const int number = draw_.one_in(20) ? draw_.between(-2, 9) : 0;
    const int code = pooljit_kernel_output(held.kernel, number, &output, nullptr);
    expect(code, "pooljit_kernel_output");
    const bool has_it = held.kernel && number >= 0 && size_t(number) < outputs_of(held.spec).size();
    fuzz::demand((code == POOLJIT_OK) == has_it, "an output that there is not");
    if (code != POOLJIT_OK) return;
    const std::vector<int64_t> wanted = output_shape(held.spec, size_t(number));
    fuzz::demand(std::vector(output.dims + (held.spec.batch ? 0 : 1), output.dims + output.rank) == wanted,
                 "the shape is another one");
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
    void* const index_pointer = has_indices ? indices.data() : nullptr;
    if (draw_.one_in(2)) return expect(pooljit_run(held.kernel, in, out, index_pointer), "pooljit_run");
    run_with(held, in, out, index_pointer, {std::ssize(input), std::ssize(output), std::ssize(indices)});
  }

  // With byte counts no argument, right or wrong, makes a run leave its buffers.
  void run_with(const Held& held, const void* in, void* out, void* indices,
                const std::array<int64_t, 3>& bytes) {
    const auto often = [&](int64_t usual, int64_t least, int64_t most) {
      return draw_.one_in(8) ? draw_.between(least, most) : usual;
    };
    const auto word = [&](int64_t usual, int64_t least, int64_t most) {
      return static_cast<int32_t>(often(usual, least, most));
    };
    void* const outputs[] = {out, out};
    void* const index_lists[] = {indices, indices};
    const void* const operands[] = {in, in, in};
    const int64_t output_bytes[] = {bytes[1], bytes[1]}, indices_bytes[] = {bytes[2], bytes[2]},
                  operand_bytes[] = {bytes[0], bytes[0], bytes[0]};
    pooljit_args args = {};
    args.size = static_cast<size_t>(often(sizeof args, 0, sizeof args));
    args.input = in;
    args.outputs = outputs, args.output_count = word(1, -1, 2);
    args.indices = indices ? index_lists : nullptr, args.indices_count = word(indices ? 1 : 0, -1, 2);
    args.operands = draw_.one_in(2) ? operands : nullptr, args.operand_count = word(0, -1, 3);
    args.has_batch = word(held.spec.free_batch ? 1 : 0, -1, 2);
    args.batch = often(args.has_batch, -(int64_t{1} << 61), int64_t{1} << 61);
    std::array<int64_t, 4> dims;
    for (int64_t& extent : dims) extent = draw_.between(0, 20);
    const bool is_sized = has_free_dims(held.spec) || draw_.one_in(20);
    args.dims = is_sized ? dims.data() : nullptr;
    args.dim_count = word(is_sized ? static_cast<int>(held.spec.dims.size()) : 0, -1, 4);
    args.threads = word(0, -2, 300);
    args.parts = word(0, -1, 5), args.part = word(0, -1, 5);
    args.scratch = draw_.one_in(20) ? out : nullptr;
    args.context = draw_.one_in(20) ? out : nullptr;
    args.has_bytes = 1;
    args.input_bytes = bytes[0];
    args.output_bytes = output_bytes;
    args.indices_bytes = args.indices ? indices_bytes : nullptr;
    args.operand_bytes = args.operands ? operand_bytes : nullptr;
    expect(pooljit_run_with(held.kernel, &args), "pooljit_run_with");
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
