#include "jit/x86/places.h"

#include <functional>

namespace pooljit::jit::x86 {
namespace {

constexpr int half = 16;  // most instructions work within 16 bytes

// lane(i): which lane of `width` bytes comes to lane i of the result.
std::vector<Place> by_lane(int bytes, int width, const std::function<Place(int)>& lane) {
  std::vector<Place> all;
  for (int i = 0; i < bytes / width; ++i) {
    const Place from = lane(i);
    for (int b = 0; b < width; ++b)
      all.push_back(from.source < 0 ? Place{} : Place{from.source, from.byte * width + b});
  }
  return all;
}

// The same in each 16 bytes: lane(i) counts in the lanes of these.
std::vector<Place> in_halves(int bytes, int width, const std::function<Place(int)>& lane) {
  const int each = half / width;
  return by_lane(bytes, width, [&](int i) {
    Place from = lane(i % each);
    from.byte += i / each * each;
    return from;
  });
}

std::vector<Place> unpacked(int bytes, int width, bool high) {
  const int first = high ? half / width / 2 : 0;
  return in_halves(bytes, width, [&](int i) { return Place{i % 2, first + i / 2}; });
}

std::vector<Place> repeated(int bytes, int unit) {
  std::vector<Place> all;
  for (int i = 0; i < bytes; ++i) all.push_back({0, i % unit});
  return all;
}

std::vector<Place> taken_out(int width, int bytes, int lane) {
  std::vector<Place> all;
  for (int i = 0; i < bytes; ++i) all.push_back(i < width ? Place{0, lane * width + i} : Place{});
  return all;
}

std::vector<Place> put_in(int width, int bytes, int lane) {
  std::vector<Place> all;
  for (int i = 0; i < bytes; ++i) all.push_back(i / width == lane ? Place{1, i % width} : Place{0, i});
  return all;
}

std::vector<Place> shuffled_bytes(int bytes, std::span<const uint8_t> control) {
  std::vector<Place> all;
  for (int i = 0; i < bytes; ++i) {
    const uint8_t index = control[static_cast<size_t>(i)];
    all.push_back(index & 0x80 ? Place{} : Place{0, i / half * half + (index & 15)});
  }
  return all;
}

std::vector<Place> by_indices(int bytes, int width, std::span<const uint8_t> control) {
  const int lanes = bytes / width;
  return by_lane(bytes, width, [&](int i) {
    return Place{0, control[static_cast<size_t>(i) * static_cast<size_t>(width)] % lanes};
  });
}

// vpermilps and vpermilpd by a vector: within 16 bytes; of 8 bytes it is the second bit that counts.
std::vector<Place> by_indices_in_halves(int bytes, int width, std::span<const uint8_t> control) {
  const int each = half / width;
  return by_lane(bytes, width, [&](int i) {
    const int index = control[static_cast<size_t>(i) * static_cast<size_t>(width)];
    return Place{0, i / each * each + (width == 8 ? index >> 1 & 1 : index & 3)};
  });
}

std::vector<Place> halves_by_immediate(uint8_t imm) {
  std::vector<Place> all;
  for (int i = 0; i < 2 * half; ++i) {
    const int choice = imm >> (i / half * 4);
    all.push_back(choice & 8 ? Place{} : Place{choice >> 1 & 1, (choice & 1) * half + i % half});
  }
  return all;
}

std::vector<Place> aligned(int bytes, int by) {
  std::vector<Place> all;
  for (int i = 0; i < bytes; ++i) {
    const int at = i % half + by, base = i / half * half;
    all.push_back(at < half ? Place{1, base + at} : at < 2 * half ? Place{0, base + at - half} : Place{});
  }
  return all;
}

std::vector<Place> moved_bytes(int bytes, int by) {
  std::vector<Place> all;
  for (int i = 0; i < bytes; ++i) {
    const int at = i % half + by;
    all.push_back(at >= 0 && at < half ? Place{0, i / half * half + at} : Place{});
  }
  return all;
}

}  // namespace

int control_operand(ZydisMnemonic mnemonic, bool has_immediate) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VPSHUFB:
      return 2;
    case ZYDIS_MNEMONIC_VPERMD:
    case ZYDIS_MNEMONIC_VPERMPS:
      return 1;
    case ZYDIS_MNEMONIC_VPERMILPS:
    case ZYDIS_MNEMONIC_VPERMILPD:
      return has_immediate ? 0 : 2;
    default:
      return 0;
  }
}

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
};

std::vector<Place> places_of(const Row& row, int bytes, uint8_t imm) {
  // Elements of 16 bytes are two in a vector, others are counted within 16 bytes.
  const int lane = imm % (row.width == half ? 2 : half / row.width);
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

std::optional<std::vector<Place>> by_control(ZydisMnemonic mnemonic, int bytes,
                                             std::span<const uint8_t> control) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VPSHUFB:
      return shuffled_bytes(bytes, control);
    case ZYDIS_MNEMONIC_VPERMD:
    case ZYDIS_MNEMONIC_VPERMPS:
      return by_indices(bytes, 4, control);
    case ZYDIS_MNEMONIC_VPERMILPS:
      return by_indices_in_halves(bytes, 4, control);
    case ZYDIS_MNEMONIC_VPERMILPD:
      return by_indices_in_halves(bytes, 8, control);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<Place>> places(ZydisMnemonic mnemonic, int bytes, uint8_t imm,
                                         std::span<const uint8_t> control) {
  if (!control.empty()) return by_control(mnemonic, bytes, control);
  for (const Row& row : by_width)
    if (row.mnemonic == mnemonic) return places_of(row, bytes, imm);
  const auto two_bits = [imm](int i) { return imm >> (2 * i) & 3; };
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_VPERMILPS:
    case ZYDIS_MNEMONIC_VPSHUFD:
      return in_halves(bytes, 4, [&](int i) { return Place{0, two_bits(i)}; });
    case ZYDIS_MNEMONIC_VPERMILPD:
      return by_lane(bytes, 8, [&](int i) { return Place{0, i / 2 * 2 + (imm >> i & 1)}; });
    case ZYDIS_MNEMONIC_VPSHUFLW:
      return in_halves(bytes, 2, [&](int i) { return Place{0, i < 4 ? two_bits(i) : i}; });
    case ZYDIS_MNEMONIC_VPSHUFHW:
      return in_halves(bytes, 2, [&](int i) { return Place{0, i < 4 ? i : 4 + two_bits(i - 4)}; });
    case ZYDIS_MNEMONIC_VSHUFPS:
      return in_halves(bytes, 4, [&](int i) { return Place{i / 2, two_bits(i)}; });
    case ZYDIS_MNEMONIC_VSHUFPD:
      return by_lane(bytes, 8, [&](int i) { return Place{i % 2, i / 2 * 2 + (imm >> i & 1)}; });
    case ZYDIS_MNEMONIC_VPERMQ:
    case ZYDIS_MNEMONIC_VPERMPD:
      return by_lane(bytes, 8, [&](int i) { return Place{0, two_bits(i)}; });
    case ZYDIS_MNEMONIC_VPERM2I128:
    case ZYDIS_MNEMONIC_VPERM2F128:
      return halves_by_immediate(imm);
    case ZYDIS_MNEMONIC_VMOVDDUP:
      return by_lane(bytes, 8, [](int i) { return Place{0, i / 2 * 2}; });
    case ZYDIS_MNEMONIC_VMOVSLDUP:
      return by_lane(bytes, 4, [](int i) { return Place{0, i / 2 * 2}; });
    case ZYDIS_MNEMONIC_VMOVSHDUP:
      return by_lane(bytes, 4, [](int i) { return Place{0, i / 2 * 2 + 1}; });
    case ZYDIS_MNEMONIC_VPALIGNR:
      return aligned(bytes, imm);
    case ZYDIS_MNEMONIC_VPSLLDQ:
      return moved_bytes(bytes, -int{imm});
    case ZYDIS_MNEMONIC_VPSRLDQ:
      return moved_bytes(bytes, imm);
    default:
      return std::nullopt;
  }
}

}  // namespace pooljit::jit::x86
