#include "tools/npy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "tools/regular_file.h"

namespace pooljit::tools {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t prefix_bytes = 8;          // magic, major, minor
constexpr uint32_t longest_header = 65536;  // numpy itself stops at 10000

// A reader of the Python literals that a header may hold. Every function leaves `rest` after what it took.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool take_string(std::string& text) {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return false;
    const size_t close = rest_.find(rest_.front(), 1);
    if (close == std::string_view::npos) return false;
    text = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    return true;
  }
  bool take_extent(int64_t& value) {
    skip_space();
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || value < 0) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  bool take_bool(bool& value) {
    value = take_word("True");
    return value || take_word("False");
  }
  // "(2, 3)", "(5,)", "()"; "(5)" is a number in Python, not a tuple.
  bool take_shape(std::vector<int64_t>& shape) {
    if (!take('(')) return false;
    bool comma = true;
    while (!take(')')) {
      int64_t extent = 0;
      if (!comma || !take_extent(extent)) return false;
      shape.push_back(extent);
      comma = take(',');
    }
    return shape.size() != 1 || comma;
  }
  // A list, as a structured dtype's descr is: skipped whole, brackets matched.
  bool skip_list() {
    if (!take('[')) return false;
    for (int depth = 1; depth > 0; rest_.remove_prefix(1)) {
      if (rest_.empty()) return false;
      if (rest_.front() == '[') ++depth;
      if (rest_.front() == ']') --depth;
    }
    return true;
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }

 private:
  void skip_space() {
    const size_t first = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }
  std::string_view rest_;
};

class File {
 public:
  explicit File(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return fd_ >= 0; }
  // What is left of a regular file; nothing for a pipe or the like.
  std::optional<size_t> bytes_left() const {
    struct stat info = {};
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    return static_cast<size_t>(info.st_size) - position_;
  }
  // How many bytes there were, up to the span's size.
  ir::Result<size_t> read(std::span<std::byte> to) {
    size_t done = 0;
    while (done < to.size()) {
      const ssize_t got = ::read(fd_, to.data() + done, to.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0)
        return ir::system_error("file.read", fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    position_ += done;
    return done;
  }
  // Exactly that many bytes, or "npy.truncated".
  ir::Result<void> read_all(std::span<std::byte> to, std::string_view what) {
    const ir::Result<size_t> got = read(to);
    if (!got) return tl::unexpected(got.error());
    if (*got < to.size())
      return ir::invalid("npy.truncated",
                         fmt::format("{} ends within its {}: {} bytes of {}", path_, what, *got, to.size()),
                         "write the file again");
    return {};
  }

 private:
  std::string path_;
  int fd_;
  size_t position_ = 0;
};

ir::Result<void> check_prefix(File& file, const std::string& path, std::array<std::byte, 8>& prefix) {
  const ir::Result<size_t> got = file.read(prefix);
  if (!got) return tl::unexpected(got.error());
  // A file that is too short, but so far right, is a truncated npy file and not some other kind of file.
  const size_t known = std::min(*got, magic.size());
  if (std::memcmp(prefix.data(), magic.data(), known) != 0)
    return ir::invalid("npy.magic", fmt::format("{} is not an npy file", path), "write it with numpy.save()");
  if (*got < prefix.size())
    return ir::invalid("npy.truncated", fmt::format("{} ends after {} bytes, within its first 8", path, *got),
                       "write the file again");
  return {};
}

// The text between prefix and data.
ir::Result<std::string> read_dictionary(File& file, const std::string& path) {
  std::array<std::byte, prefix_bytes> prefix = {};
  if (auto ok = check_prefix(file, path, prefix); !ok) return tl::unexpected(ok.error());
  const int major = static_cast<int>(prefix[6]), minor = static_cast<int>(prefix[7]);
  if (major < 1 || major > 3 || minor != 0)
    return ir::invalid("npy.version", fmt::format("{} has npy version {}.{}; 1.0, 2.0 and 3.0 are known",
                                                  path, major, minor));

  std::array<std::byte, 4> length_bytes = {};  // little-endian, 2 bytes in version 1
  const std::span<std::byte> used = std::span(length_bytes).first(major == 1 ? 2 : 4);
  if (auto ok = file.read_all(used, "header length"); !ok) return tl::unexpected(ok.error());
  uint32_t length = 0;
  std::memcpy(&length, length_bytes.data(), sizeof length);
  if (length > longest_header)
    return ir::invalid("npy.header_size",
                       fmt::format("{} says that its header has {} bytes; at most {} make sense", path,
                                   length, longest_header));
  std::string dictionary(length, '\0');
  const std::span<std::byte> text(reinterpret_cast<std::byte*>(dictionary.data()), dictionary.size());
  if (auto ok = file.read_all(text, "header"); !ok) return tl::unexpected(ok.error());
  return dictionary;
}

// numpy has no bfloat16: its files hold two opaque bytes an element (as the package ml_dtypes writes them,
// and as pooljit does) or the bits as integers.
struct OtherDescr {
  ir::DType dtype;
  std::string_view descr;
};
constexpr OtherDescr other_descrs[] = {{ir::DType::bf16, "<V2"}, {ir::DType::bf16, "<u2"}};

bool holds(const std::string& descr, const ir::DTypeInfo& wanted) {
  return descr == wanted.npy || std::ranges::any_of(other_descrs, [&](const OtherDescr& other) {
           return other.dtype == wanted.dtype && other.descr == descr;
         });
}

ir::Result<void> check_header(const NpyHeader& header, const std::string& path, ir::DType dtype,
                              const std::vector<int64_t>& shape) {
  const ir::DTypeInfo& wanted = ir::info(dtype);
  if (!holds(header.descr, wanted))
    return ir::invalid("npy.dtype",
                       fmt::format("{} holds {}, {} needs '{}'", path,
                                   header.descr.empty() ? "a structured dtype" : "'" + header.descr + "'",
                                   wanted.spec_name, wanted.npy),
                       wanted.dtype == ir::DType::bf16
                           ? "save the bits of a bfloat16 tensor: x.view(torch.int16).numpy().view('<u2')"
                           : fmt::format("convert it: x.astype('{}')", wanted.npy));
  if (header.fortran_order)
    return ir::invalid("npy.fortran", fmt::format("{} lies in Fortran order", path),
                       "save it in C order: numpy.save(path, numpy.ascontiguousarray(x))");
  if (header.shape != shape)
    return ir::invalid(
        "npy.shape",
        fmt::format("{} has shape {}, the spec needs {}", path, npy_shape(header.shape), npy_shape(shape)),
        "the shape follows the layout: (N, C, H, W) for nchw, (N, H, W, C) for nhwc");
  return {};
}

// From the beginning of the file to its data.
ir::Result<NpyHeader> read_header(File& file, const std::string& path) {
  if (!file.is_open())
    return ir::system_error("file.open", fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  const ir::Result<std::string> dictionary = read_dictionary(file, path);
  if (!dictionary) return tl::unexpected(dictionary.error());
  ir::Result<NpyHeader> header = parse_npy_header(*dictionary);
  if (!header) header.error().message = path + ": " + header.error().message;
  return header;
}

}  // namespace

ir::Result<NpyHeader> parse_npy_header(std::string_view dictionary) {
  const auto malformed = [&](std::string_view why) {
    return ir::invalid("npy.header", fmt::format("the npy header is malformed: {}", why),
                       "write it with numpy.save()");
  };
  Literal literal(dictionary);
  NpyHeader header;
  bool descr = false, order = false, shape = false;
  if (!literal.take('{')) return malformed("it is not a dictionary");
  bool comma = true;
  while (!literal.take('}')) {
    std::string key;
    if (!comma || !literal.take_string(key) || !literal.take(':')) return malformed("a key is expected");
    if (key == "descr" && !descr) {
      descr = literal.take_string(header.descr) ? !header.descr.empty() : literal.skip_list();
      if (!descr) return malformed("descr is not a dtype");
    } else if (key == "fortran_order" && !order) {
      order = literal.take_bool(header.fortran_order);
      if (!order) return malformed("fortran_order is not True or False");
    } else if (key == "shape" && !shape) {
      shape = literal.take_shape(header.shape);
      if (!shape) return malformed("shape is not a tuple of sizes");
    } else {
      return malformed("a key is unknown or there twice");
    }
    comma = literal.take(',');
  }
  if (!literal.at_end()) return malformed("something follows the dictionary");
  if (!descr || !order || !shape) return malformed("descr, fortran_order or shape is missing");
  return header;
}

ir::Result<NpyHeader> read_npy_header(const std::string& path) {
  if (auto regular = check_regular_file(path); !regular) return tl::unexpected(regular.error());
  File file(path);
  return read_header(file, path);
}

ir::Result<Buffer> read_npy(const std::string& path, ir::DType dtype, const std::vector<int64_t>& shape) {
  if (auto regular = check_regular_file(path); !regular) return tl::unexpected(regular.error());
  File file(path);
  const ir::Result<NpyHeader> header = read_header(file, path);
  if (!header) return tl::unexpected(header.error());
  if (auto ok = check_header(*header, path, dtype, shape); !ok) return tl::unexpected(ok.error());

  size_t data_bytes = static_cast<size_t>(ir::bytes(dtype));
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(data_bytes, static_cast<size_t>(extent), &data_bytes))
      return ir::invalid("npy.shape",
                         fmt::format("{}: {} is more than memory can hold", path, npy_shape(shape)));
  // A regular file says beforehand how much there is: nothing large is allocated for a small file.
  if (const std::optional<size_t> left = file.bytes_left(); left && *left < data_bytes)
    return ir::invalid("npy.truncated",
                       fmt::format("{} ends within its data: {} bytes of {}", path, *left, data_bytes),
                       "write the file again");
  ir::Result<Buffer> data = Buffer::allocate(data_bytes);
  if (!data) return data;
  if (auto ok = file.read_all((*data).span(), "data"); !ok) return tl::unexpected(ok.error());
  std::array<std::byte, 1> more = {};
  const ir::Result<size_t> got = file.read(more);
  if (!got) return tl::unexpected(got.error());
  if (*got != 0)
    return ir::invalid("npy.trailing", fmt::format("{} goes on after its {} bytes of data", path, data_bytes),
                       "write the file again, one array per file");
  return data;
}

std::string npy_shape(const std::vector<int64_t>& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::string npy_header(ir::DType dtype, const std::vector<int64_t>& shape) {
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                       ir::info(dtype).npy, npy_shape(shape));
  constexpr size_t length_bytes = 2, alignment = 64;
  const size_t unpadded = prefix_bytes + length_bytes + dictionary.size() + 1;
  dictionary.append((alignment - unpadded % alignment) % alignment, ' ');
  dictionary += '\n';
  std::string header(magic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace pooljit::tools
