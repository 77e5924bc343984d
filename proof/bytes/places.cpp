#include "proof/bytes/places.h"

#include <functional>

namespace pooljit::jit::x86 {
namespace {

constexpr int half = 16;  // most instructions work within 16 bytes

// lane(i): which lane of `width` bytes comes to lane i of the result.
std::vector<ByteSource> by_lane(int bytes, int width, const std::function<ByteSource(int)>& lane) {
  std::vector<ByteSource> all;
  for (int i = 0; i < bytes / width; ++i) {
    const ByteSource from = lane(i);
    for (int b = 0; b < width; ++b)
      all.push_back(from.source < 0 ? ByteSource{} : ByteSource{from.source, from.byte * width + b});
  }
  return all;
}

// The same in each 16 bytes: lane(i) counts in the lanes of these.
std::vector<ByteSource> in_halves(int bytes, int width, const std::function<ByteSource(int)>& lane) {
  const int each = half / width;
  return by_lane(bytes, width, [&](int i) {
    ByteSource from = lane(i % each);
    from.byte += i / each * each;
    return from;
  });
}

std::vector<ByteSource> unpacked(int bytes, int width, bool high) {
  const int first = high ? half / width / 2 : 0;
  return in_halves(bytes, width, [&](int i) { return ByteSource{i % 2, first + i / 2}; });
}

std::vector<ByteSource> repeated(int bytes, int unit) {
  std::vector<ByteSource> all;
  for (int i = 0; i < bytes; ++i) all.push_back({0, i % unit});
  return all;
}

std::vector<ByteSource> taken_out(int width, int bytes, int lane) {
  std::vector<ByteSource> all;
  for (int i = 0; i < bytes; ++i) all.push_back(i < width ? ByteSource{0, lane * width + i} : ByteSource{});
  return all;
}

std::vector<ByteSource> put_in(int width, int bytes, int lane) {
  std::vector<ByteSource> all;
  for (int i = 0; i < bytes; ++i)
    all.push_back(i / width == lane ? ByteSource{1, i % width} : ByteSource{0, i});
  return all;
}

std::vector<ByteSource> shuffled_bytes(int bytes, std::span<const uint8_t> control) {
  std::vector<ByteSource> all;
  for (int i = 0; i < bytes; ++i) {
    const uint8_t index = control[static_cast<size_t>(i)];
    all.push_back(index & 0x80 ? ByteSource{} : ByteSource{0, i / half * half + (index & 15)});
  }
  return all;
}

// Lanes of all sources, one after the other.
std::vector<ByteSource> by_indices(int bytes, int width, std::span<const uint8_t> control, int sources) {
  const int lanes = bytes / width;
  return by_lane(bytes, width, [&](int i) {
    const int index = control[static_cast<size_t>(i) * static_cast<size_t>(width)] % (lanes * sources);
    return ByteSource{index / lanes, index % lanes};
  });
}

// By lanes of any two vectors: the indices are where the result goes (vpermi2), or the first source is
// (vpermt2).
struct TwoSources {
  ZydisMnemonic mnemonic;
  int width;
  bool indices_first;
};
constexpr TwoSources two_sources[] = {
    {ZYDIS_MNEMONIC_VPERMI2W, 2, true},  {ZYDIS_MNEMONIC_VPERMT2W, 2, false},
    {ZYDIS_MNEMONIC_VPERMI2D, 4, true},  {ZYDIS_MNEMONIC_VPERMT2D, 4, false},
    {ZYDIS_MNEMONIC_VPERMI2PS, 4, true}, {ZYDIS_MNEMONIC_VPERMT2PS, 4, false},
    {ZYDIS_MNEMONIC_VPERMI2Q, 8, true},  {ZYDIS_MNEMONIC_VPERMT2Q, 8, false},
    {ZYDIS_MNEMONIC_VPERMI2PD, 8, true}, {ZYDIS_MNEMONIC_VPERMT2PD, 8, false},
};
const TwoSources* find_two_sources(ZydisMnemonic mnemonic) {
  for (const TwoSources& row : two_sources)
    if (row.mnemonic == mnemonic) return &row;
  return nullptr;
}

// The second source's lanes from `by` on, then the first one's.
std::vector<ByteSource> aligned_lanes(int bytes, int width, int by) {
  const int lanes = bytes / width;
  return by_lane(bytes, width, [&](int i) {
    const int from = i + by % lanes;
    return from < lanes ? ByteSource{1, from} : ByteSource{0, from - lanes};
  });
}

// Each 16 bytes are one of a source's, the lower half of the result's of the first source.
std::vector<ByteSource> shuffled_quarters(int bytes, uint8_t imm) {
  const int count = bytes / half, bits = count == 4 ? 2 : 1;
  return by_lane(bytes, half, [&](int i) {
    return ByteSource{i / (count / 2), imm >> (bits * i) & (count - 1)};
  });
}

// vpermilps and vpermilpd by a vector: within 16 bytes; of 8 bytes it is the second bit that counts.
std::vector<ByteSource> by_indices_in_halves(int bytes, int width, std::span<const uint8_t> control) {
  const int each = half / width;
  return by_lane(bytes, width, [&](int i) {
    const int index = control[static_cast<size_t>(i) * static_cast<size_t>(width)];
    return ByteSource{0, i / each * each + (width == 8 ? index >> 1 & 1 : index & 3)};
  });
}

std::vector<ByteSource> halves_by_immediate(uint8_t imm) {
  std::vector<ByteSource> all;
  for (int i = 0; i < 2 * half; ++i) {
    const int choice = imm >> (i / half * 4);
    all.push_back(choice & 8 ? ByteSource{} : ByteSource{choice >> 1 & 1, (choice & 1) * half + i % half});
  }
  return all;
}

std::vector<ByteSource> aligned(int bytes, int by) {
  std::vector<ByteSource> all;
  for (int i = 0; i < bytes; ++i) {
    const int at = i % half + by, base = i / half * half;
    all.push_back(at < half       ? ByteSource{1, base + at}
                  : at < 2 * half ? ByteSource{0, base + at - half}
                                  : ByteSource{});
  }
  return all;
}

std::vector<ByteSource> moved_bytes(int bytes, int by) {
  std::vector<ByteSource> all;
  for (int i = 0; i < bytes; ++i) {
    const int at = i % half + by;
    all.push_back(at >= 0 && at < half ? ByteSource{0, i / half * half + at} : ByteSource{});
  }
  return all;
}

// Lanes to the left by whole bytes.
std::optional<std::vector<ByteSource>> rotated(int bytes, int width, int bits) {
  if (bits % 8 != 0) return std::nullopt;
  const int by = bits / 8 % width;
  std::vector<ByteSource> all;
  for (int i = 0; i < bytes; ++i) all.push_back({0, i / width * width + (i % width + width - by) % width});
  return all;
}

}  // namespace

int control_operand(ZydisMnemonic mnemonic, bool has_immediate) {
  if (has_immediate) return no_control;
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VPSHUFB:
    case ZYDIS_MNEMONIC_VPERMILPS:
    case ZYDIS_MNEMONIC_VPERMILPD:
      return 2;
    case ZYDIS_MNEMONIC_VPERMW:
    case ZYDIS_MNEMONIC_VPERMD:
    case ZYDIS_MNEMONIC_VPERMPS:
    case ZYDIS_MNEMONIC_VPERMQ:
    case ZYDIS_MNEMONIC_VPERMPD:
      return 1;
    default:
      break;
  }
  const TwoSources* const row = find_two_sources(mnemonic);
  return !row ? no_control : row->indices_first ? 0 : 1;
}

bool reads_result(ZydisMnemonic mnemonic) { return find_two_sources(mnemonic) != nullptr; }

namespace {

// Instructions that differ only in the bytes of what they move.
enum class Kind : uint8_t { unpack_low, unpack_high, repeat, take_out, put_in };
struct Row {
  ZydisMnemonic mnemonic;
  Kind kind;
  int width;
};
constexpr Row by_width[] = {
    {ZYDIS_MNEMONIC_VPUNPCKLBW, Kind::unpack_low, 1},    {ZYDIS_MNEMONIC_VPUNPCKHBW, Kind::unpack_high, 1},
    {ZYDIS_MNEMONIC_VPUNPCKLWD, Kind::unpack_low, 2},    {ZYDIS_MNEMONIC_VPUNPCKHWD, Kind::unpack_high, 2},
    {ZYDIS_MNEMONIC_VPUNPCKLDQ, Kind::unpack_low, 4},    {ZYDIS_MNEMONIC_VPUNPCKHDQ, Kind::unpack_high, 4},
    {ZYDIS_MNEMONIC_VUNPCKLPS, Kind::unpack_low, 4},     {ZYDIS_MNEMONIC_VUNPCKHPS, Kind::unpack_high, 4},
    {ZYDIS_MNEMONIC_VPUNPCKLQDQ, Kind::unpack_low, 8},   {ZYDIS_MNEMONIC_VPUNPCKHQDQ, Kind::unpack_high, 8},
    {ZYDIS_MNEMONIC_VUNPCKLPD, Kind::unpack_low, 8},     {ZYDIS_MNEMONIC_VUNPCKHPD, Kind::unpack_high, 8},
    {ZYDIS_MNEMONIC_VPBROADCASTB, Kind::repeat, 1},      {ZYDIS_MNEMONIC_VPBROADCASTW, Kind::repeat, 2},
    {ZYDIS_MNEMONIC_VPBROADCASTD, Kind::repeat, 4},      {ZYDIS_MNEMONIC_VBROADCASTSS, Kind::repeat, 4},
    {ZYDIS_MNEMONIC_VPBROADCASTQ, Kind::repeat, 8},      {ZYDIS_MNEMONIC_VBROADCASTSD, Kind::repeat, 8},
    {ZYDIS_MNEMONIC_VBROADCASTF128, Kind::repeat, half}, {ZYDIS_MNEMONIC_VBROADCASTI128, Kind::repeat, half},
    {ZYDIS_MNEMONIC_VPEXTRB, Kind::take_out, 1},         {ZYDIS_MNEMONIC_VPEXTRW, Kind::take_out, 2},
    {ZYDIS_MNEMONIC_VPEXTRD, Kind::take_out, 4},         {ZYDIS_MNEMONIC_VPEXTRQ, Kind::take_out, 8},
    {ZYDIS_MNEMONIC_VEXTRACTF128, Kind::take_out, half}, {ZYDIS_MNEMONIC_VEXTRACTI128, Kind::take_out, half},
    {ZYDIS_MNEMONIC_VPINSRB, Kind::put_in, 1},           {ZYDIS_MNEMONIC_VPINSRW, Kind::put_in, 2},
    {ZYDIS_MNEMONIC_VPINSRD, Kind::put_in, 4},           {ZYDIS_MNEMONIC_VPINSRQ, Kind::put_in, 8},
    {ZYDIS_MNEMONIC_VINSERTF128, Kind::put_in, half},    {ZYDIS_MNEMONIC_VINSERTI128, Kind::put_in, half},
    {ZYDIS_MNEMONIC_VBROADCASTF32X2, Kind::repeat, 8},   {ZYDIS_MNEMONIC_VBROADCASTI32X2, Kind::repeat, 8},
    {ZYDIS_MNEMONIC_VBROADCASTF32X4, Kind::repeat, 16},  {ZYDIS_MNEMONIC_VBROADCASTI32X4, Kind::repeat, 16},
    {ZYDIS_MNEMONIC_VBROADCASTF64X2, Kind::repeat, 16},  {ZYDIS_MNEMONIC_VBROADCASTI64X2, Kind::repeat, 16},
    {ZYDIS_MNEMONIC_VBROADCASTF32X8, Kind::repeat, 32},  {ZYDIS_MNEMONIC_VBROADCASTI32X8, Kind::repeat, 32},
    {ZYDIS_MNEMONIC_VBROADCASTF64X4, Kind::repeat, 32},  {ZYDIS_MNEMONIC_VBROADCASTI64X4, Kind::repeat, 32},
    {ZYDIS_MNEMONIC_VEXTRACTF32X4, Kind::take_out, 16},  {ZYDIS_MNEMONIC_VEXTRACTI32X4, Kind::take_out, 16},
    {ZYDIS_MNEMONIC_VEXTRACTF64X2, Kind::take_out, 16},  {ZYDIS_MNEMONIC_VEXTRACTI64X2, Kind::take_out, 16},
    {ZYDIS_MNEMONIC_VEXTRACTF32X8, Kind::take_out, 32},  {ZYDIS_MNEMONIC_VEXTRACTI32X8, Kind::take_out, 32},
    {ZYDIS_MNEMONIC_VEXTRACTF64X4, Kind::take_out, 32},  {ZYDIS_MNEMONIC_VEXTRACTI64X4, Kind::take_out, 32},
    {ZYDIS_MNEMONIC_VINSERTF32X4, Kind::put_in, 16},     {ZYDIS_MNEMONIC_VINSERTI32X4, Kind::put_in, 16},
    {ZYDIS_MNEMONIC_VINSERTF64X2, Kind::put_in, 16},     {ZYDIS_MNEMONIC_VINSERTI64X2, Kind::put_in, 16},
    {ZYDIS_MNEMONIC_VINSERTF32X8, Kind::put_in, 32},     {ZYDIS_MNEMONIC_VINSERTI32X8, Kind::put_in, 32},
    {ZYDIS_MNEMONIC_VINSERTF64X4, Kind::put_in, 32},     {ZYDIS_MNEMONIC_VINSERTI64X4, Kind::put_in, 32},
    {ZYDIS_MNEMONIC_VEXTRACTPS, Kind::take_out, 4},
};

// vector: bytes of the one that is taken from or put into.
std::vector<ByteSource> places_of(const Row& row, int bytes, int vector, uint8_t imm) {
  // Elements of fewer than 16 bytes are counted within 16 bytes.
  const int lane = imm % ((row.width < half ? half : vector) / row.width);
  switch (row.kind) {
    case Kind::unpack_low:
      return unpacked(bytes, row.width, false);
    case Kind::unpack_high:
      return unpacked(bytes, row.width, true);
    case Kind::repeat:
      return repeated(bytes, row.width);
    case Kind::take_out:
      return taken_out(row.width, bytes, lane);
    default:
      return put_in(row.width, bytes, lane);
  }
}

// Of few lanes, and of rotations.
std::optional<std::vector<ByteSource>> of_lanes(ZydisMnemonic mnemonic, int bytes, uint8_t imm) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VINSERTPS:
      return by_lane(bytes, 4, [&](int i) {
        if ((imm >> i & 1) != 0) return ByteSource{};
        return i == (imm >> 4 & 3) ? ByteSource{1, imm >> 6} : ByteSource{0, i};
      });
    case ZYDIS_MNEMONIC_VMOVLHPS:
      return by_lane(bytes, 8, [](int i) { return ByteSource{i, 0}; });
    case ZYDIS_MNEMONIC_VMOVHLPS:
      return by_lane(bytes, 8, [](int i) { return ByteSource{1 - i, 1}; });
    case ZYDIS_MNEMONIC_VPROLD:
      return rotated(bytes, 4, imm);
    case ZYDIS_MNEMONIC_VPROLQ:
      return rotated(bytes, 8, imm);
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<ByteSource>> by_control(ZydisMnemonic mnemonic, int bytes,
                                                  std::span<const uint8_t> control) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VPSHUFB:
      return shuffled_bytes(bytes, control);
    case ZYDIS_MNEMONIC_VPERMW:
      return by_indices(bytes, 2, control, 1);
    case ZYDIS_MNEMONIC_VPERMD:
    case ZYDIS_MNEMONIC_VPERMPS:
      return by_indices(bytes, 4, control, 1);
    case ZYDIS_MNEMONIC_VPERMQ:
    case ZYDIS_MNEMONIC_VPERMPD:
      return by_indices(bytes, 8, control, 1);
    case ZYDIS_MNEMONIC_VPERMILPS:
      return by_indices_in_halves(bytes, 4, control);
    case ZYDIS_MNEMONIC_VPERMILPD:
      return by_indices_in_halves(bytes, 8, control);
    default:
      break;
  }
  if (const TwoSources* row = find_two_sources(mnemonic)) return by_indices(bytes, row->width, control, 2);
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<ByteSource>> places(ZydisMnemonic mnemonic, int bytes, int vector, uint8_t imm,
                                              std::span<const uint8_t> control) {
  if (!control.empty()) return by_control(mnemonic, bytes, control);
  for (const Row& row : by_width)
    if (row.mnemonic == mnemonic) return places_of(row, bytes, vector, imm);
  const auto two_bits = [imm](int i) { return imm >> (2 * i) & 3; };
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VPERMILPS:
    case ZYDIS_MNEMONIC_VPSHUFD:
      return in_halves(bytes, 4, [&](int i) { return ByteSource{0, two_bits(i)}; });
    case ZYDIS_MNEMONIC_VPERMILPD:
      return by_lane(bytes, 8, [&](int i) { return ByteSource{0, i / 2 * 2 + (imm >> i & 1)}; });
    case ZYDIS_MNEMONIC_VPSHUFLW:
      return in_halves(bytes, 2, [&](int i) { return ByteSource{0, i < 4 ? two_bits(i) : i}; });
    case ZYDIS_MNEMONIC_VPSHUFHW:
      return in_halves(bytes, 2, [&](int i) { return ByteSource{0, i < 4 ? i : 4 + two_bits(i - 4)}; });
    case ZYDIS_MNEMONIC_VSHUFPS:
      return in_halves(bytes, 4, [&](int i) { return ByteSource{i / 2, two_bits(i)}; });
    case ZYDIS_MNEMONIC_VSHUFPD:
      return by_lane(bytes, 8, [&](int i) { return ByteSource{i % 2, i / 2 * 2 + (imm >> i & 1)}; });
    case ZYDIS_MNEMONIC_VPERMQ:
    case ZYDIS_MNEMONIC_VPERMPD:
      return by_lane(bytes, 8, [&](int i) { return ByteSource{0, i / 4 * 4 + two_bits(i % 4)}; });
    case ZYDIS_MNEMONIC_VALIGND:
      return aligned_lanes(bytes, 4, imm);
    case ZYDIS_MNEMONIC_VALIGNQ:
      return aligned_lanes(bytes, 8, imm);
    case ZYDIS_MNEMONIC_VSHUFF32X4:
    case ZYDIS_MNEMONIC_VSHUFF64X2:
    case ZYDIS_MNEMONIC_VSHUFI32X4:
    case ZYDIS_MNEMONIC_VSHUFI64X2:
      return shuffled_quarters(bytes, imm);
    case ZYDIS_MNEMONIC_VPERM2I128:
    case ZYDIS_MNEMONIC_VPERM2F128:
      return halves_by_immediate(imm);
    case ZYDIS_MNEMONIC_VMOVDDUP:
      return by_lane(bytes, 8, [](int i) { return ByteSource{0, i / 2 * 2}; });
    case ZYDIS_MNEMONIC_VMOVSLDUP:
      return by_lane(bytes, 4, [](int i) { return ByteSource{0, i / 2 * 2}; });
    case ZYDIS_MNEMONIC_VMOVSHDUP:
      return by_lane(bytes, 4, [](int i) { return ByteSource{0, i / 2 * 2 + 1}; });
    case ZYDIS_MNEMONIC_VPALIGNR:
      return aligned(bytes, imm);
    case ZYDIS_MNEMONIC_VPSLLDQ:
      return moved_bytes(bytes, -int{imm});
    case ZYDIS_MNEMONIC_VPSRLDQ:
      return moved_bytes(bytes, imm);
    default:
      return of_lanes(mnemonic, bytes, imm);
  }
}

}  // namespace pooljit::jit::x86
