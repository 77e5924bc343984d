// `pooljit bench --file`: layers beside a toy engine and the plain loop. Nothing here depends on how fast the
// machine is.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/bench/peers.h"
#include "tools/shell.h"

namespace pooljit::tools {
namespace {

using nlohmann::json;
using test::Outcome;
using test::read_file;
using test::shell;
using test::TempFolder;
using test::write_file;

constexpr const char* quick = " --seconds 0.001 --threads 1 --peer-path '" POOLJIT_TOYS "' ";

// $P and $T in the line, as in shell().
Outcome bench(const std::string& arguments, const TempFolder& folder) {
  write_file(folder / "layers.txt",
             "# two that the toy does, one that it does not, one that nobody does\n"
             "first\tmax_pool2d(float32[1,3,10,12], kernel_size=3, padding=1)\n"
             "global\tadaptive_max_pool2d(float32[2,3,6,6], output_size=2)\n"
             "mean\tavg_pool2d(float32[1,3,10,12], kernel_size=2)\n"
             "wrong\tmax_pool2d(float32[1,3,10,12], kernel_size=0)\n");
  return shell("$P bench --file $T/layers.txt" + std::string(quick) + arguments, folder);
}

constexpr const char* toy = "'" POOLJIT_TOYS "/libtoy_engine_right.so'";  // as a word of shell

TEST(BenchPeers, EveryLayerBesideEveryPeer) {
  const TempFolder folder;
  const Outcome outcome = bench(std::string("--peers plain,") + toy + " --json", folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  const json found = json::parse(outcome.out);
  ASSERT_EQ(found["layers"].size(), 3U);
  EXPECT_EQ(found["engines"][2]["version"], "toy 1");
  const json& first = found["layers"][0];
  ASSERT_EQ(first["engines"].size(), 3U);
  for (const json& engine : first["engines"]) {
    EXPECT_EQ(engine["differences"], 0) << engine;
    EXPECT_GT(engine["call"]["median_seconds"], 0) << engine;
    EXPECT_GT(engine["bytes_per_second"], 0) << engine;
    EXPECT_EQ(engine.contains("ratio"), engine["engine"] != "pooljit") << engine;
  }
  EXPECT_EQ(found["layers"][1]["engines"].size(), 3U) << "adaptive windows that are all alike are windows";
  EXPECT_EQ(found["layers"][2]["left_out"][0]["engine"], "toy_engine_right");
  EXPECT_NE(outcome.err.find("left out: mean beside toy_engine_right"), std::string::npos) << outcome.err;
  EXPECT_EQ(found["refused"][0]["id"], "spec.kernel_size");
  EXPECT_EQ(found["summaries"][1]["layers"], 2);
  EXPECT_GT(found["roofline"].size(), 3U);
}

TEST(BenchPeers, CodeForAllSizesBesideThatForOne) {
  const TempFolder folder;
  write_file(folder / "layers.txt",
             "last\tmax_pool2d(float32[1,3,10,12]:nhwc, kernel_size=3, padding=1)\n"
             "several\tpools(float32[2,3,9,9]:nhwc, max_pool2d(3, 1, 1), avg_pool2d(5, 1, 2))\n"
             "apart\tmax_pool2d(float32[1,4,8,8], kernel_size=3, strides=[1296,144,16,2])\n"
             "long\tadaptive_max_pool2d(float32[1,2,9,2049], output_size=9)\n");
  const Outcome outcome =
      shell("$P bench --file $T/layers.txt" + std::string(quick) + "--any-size --peers plain --json", folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  const json found = json::parse(outcome.out);
  ASSERT_EQ(found["layers"].size(), 2U) << outcome.err;
  for (const json& layer : found["layers"]) {
    EXPECT_EQ(layer["engines"][1]["engine"], "exact") << layer;
    EXPECT_EQ(layer["engines"][1]["differences"], 0) << layer;
    EXPECT_GT(layer["engines"][0]["setup_seconds"], 0) << layer;
  }
  EXPECT_EQ(found["summaries"][0]["layers"], 2);
  ASSERT_EQ(found["refused"].size(), 2U) << "no such code at all, and none for so long a row";
  for (const json& refused : found["refused"]) EXPECT_EQ(refused["id"], "bench.any_size") << refused;
}

// What no other engine does is measured beside our own code.
TEST(BenchPeers, BlocksAndIndicesOfTheTensorBesideCodeForOneSize) {
  const TempFolder folder;
  write_file(folder / "layers.txt",
             "blocks\tmax_pool2d(float32[1,33,10,12]:nchw16c, kernel_size=3, padding=1)\n"
             "to_blocks\tavg_pool2d(float32[2,9,9,9], kernel_size=2, output_layout=nchw8c)\n"
             "tensor\tmax_pool2d(float32[1,3,10,50], kernel_size=3, return_indices=True, "
             "index_scope=tensor)\n");
  const std::string file =
      "$P bench --file $T/layers.txt" + std::string(quick) + "--any-size --json --peers ";
  const Outcome outcome = shell(file + "none", folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  const json found = json::parse(outcome.out);
  ASSERT_EQ(found["layers"].size(), 3U) << outcome.err;
  for (const json& layer : found["layers"]) EXPECT_EQ(layer["engines"][1]["differences"], 0) << layer;
  const json beside_plain = json::parse(shell(file + "plain", folder).out);
  for (const json& refused : beside_plain["refused"])
    EXPECT_EQ(refused["id"], "bench.no_plain_loop") << refused;
  EXPECT_EQ(beside_plain["refused"].size(), 3U);
}

TEST(BenchPeers, TheTableEndsWithMeans) {
  const TempFolder folder;
  const Outcome outcome = bench(std::string("--peers ") + toy, folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\nmean  "), std::string::npos) << "a layer without a peer has its line, too";
  EXPECT_NE(outcome.out.find("\ntoy_engine_right: 2 layers, geometric mean "), std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find('\r'), std::string::npos) << "no progress in a pipe";
}

TEST(BenchPeers, ResultsThatDifferAreSaid) {
  const TempFolder folder;
  const Outcome outcome = bench("--peers '" POOLJIT_TOYS "/libtoy_engine_dropped_tap.so'", folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(" results differ)"), std::string::npos) << outcome.out;
}

// A peer does each member, and what concatenates them is done for it.
TEST(BenchPeers, SeveralPoolsBesideALayerForEach) {
  const TempFolder folder;
  write_file(folder / "pools.txt",
             "spp\tpools(float32[2,3,7,7], max_pool2d(3, 1, 1), max_pool2d(5, 1, 2), concat=True, "
             "include_input=True)\n"
             "apart\tpools(float32[1,3,8,8], max_pool2d(2), max_pool2d(3, 1))\n"
             "mean\tpools(float32[1,3,8,8], max_pool2d(2, return_indices=True), avg_pool2d(2))\n"
             "steps\tpools(float32[1,3,8,8], max_pool2d(2, epilogue=[relu]), max_pool2d(3))\n");
  for (const char* layout : {"nchw", "nhwc"}) {
    const Outcome outcome =
        shell("$P bench --file $T/pools.txt" + std::string(quick) + "--peers " + toy +
                  ",'" POOLJIT_TOYS "/libtoy_engine_dropped_tap.so' --json --layout " + layout,
              folder);
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    const json found = json::parse(outcome.out);
    ASSERT_EQ(found["layers"].size(), 4U);
    for (const json& layer : found["layers"]) EXPECT_EQ(layer["engines"][0]["differences"], 0) << layer;
    const json& spp = found["layers"][0];
    ASSERT_EQ(spp["engines"].size(), 3U) << outcome.err;
    EXPECT_EQ(spp["engines"][1]["differences"], 0);
    EXPECT_GT(spp["engines"][1]["ratio"]["median"], 0);
    EXPECT_GT(found["layers"][1]["engines"][2]["differences"], 0) << "a tap is missing";
    EXPECT_EQ(spp["bytes_written"], 3 * 2 * 3 * 49 * 4);
    EXPECT_EQ(found["layers"][2]["engines"].size(), 1U) << "the toy has no averages";
    EXPECT_EQ(found["layers"][3]["engines"].size(), 1U) << "peers do no epilogue, also of one pool only";
  }
}

TEST(BenchPeers, LayoutAndTypeCanBeOthers) {
  const TempFolder folder;
  const Outcome outcome = bench("--peers plain --layout nhwc --dtype uint8 --json", folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const json found = json::parse(outcome.out);
  EXPECT_EQ(found["layers"][0]["spec"], "max_pool2d(uint8[1,3,10,12]:nhwc, kernel_size=3, padding=1)");
  EXPECT_EQ(found["layers"][0]["dtype"], "uint8");
}

TEST(BenchPeers, AnAbsentOneIsSaidAndNoErrorUnlessItIsAll) {
  const TempFolder folder;
  const Outcome some = bench("--peers plain,NoSuch", folder);
  EXPECT_EQ(some.exit, 0);
  EXPECT_NE(some.err.find("peer nosuch is not here: no libengine_nosuch.so in " POOLJIT_TOYS),
            std::string::npos)
      << some.err;
  const Outcome none = bench("--peers NoSuch,/no/such.so", folder);
  EXPECT_EQ(none.exit, 4) << none.out;
  EXPECT_NE(none.err.find("pooljit: bench.peers: "), std::string::npos) << none.err;
}

TEST(BenchPeers, AllAreThoseOfTheFolders) {
  const TempFolder folder;
  std::filesystem::copy_file(POOLJIT_TOYS "/libtoy_engine_right.so", folder / "libengine_toy.so");
  write_file(folder / "libengine_broken.so", "not a library");
  const auto peers = find_peers({"all"}, {folder.path(), folder.path() + "/none"});
  ASSERT_TRUE(peers);
  EXPECT_TRUE(peers->has_plain_loop);
  ASSERT_EQ(peers->found.size(), 1U);
  EXPECT_EQ(peers->found[0].name(), "toy");
  EXPECT_TRUE(peers->absent.empty()) << "nobody asked for " << peers->absent[0].engine;
  const auto named = find_peers({"all", "broken"}, {folder.path()});
  ASSERT_TRUE(named);
  ASSERT_EQ(named->absent.size(), 1U);
  EXPECT_EQ(named->absent[0].engine, "broken");
  EXPECT_EQ(find_peers({"TOY"}, {folder.path()})->found.size(), 1U);
  const auto none = find_peers({"none"}, {folder.path()});
  EXPECT_TRUE(none && none->found.empty() && !none->has_plain_loop);
}

// An engine for `pooljit fuzz --against` alone, as engine_python is, lies beside the command.
TEST(BenchPeers, WhatIsNoPeerIsSilentUnlessItIsNamed) {
  const TempFolder folder;
  write_file(folder / "libengine_half.so", "not a library");
  write_file(folder / "layers.txt", "max_pool1d(float32[1,3,9], kernel_size=2)\n");
  const std::string line = "$P bench --file $T/layers.txt --seconds 0.001 --threads 1 --peer-path $T";
  const Outcome silent = shell(line, folder), named = shell(line + " --peers plain,half", folder);
  EXPECT_EQ(silent.exit, 0) << silent.err;
  EXPECT_EQ(silent.err.find("is not here"), std::string::npos) << silent.err;
  EXPECT_EQ(named.exit, 0) << named.err;
  EXPECT_NE(named.err.find("pooljit: peer half is not here: "), std::string::npos) << named.err;
}

TEST(BenchPeers, FilesAppearWholeAndAreFoundUnwritableFirst) {
  const TempFolder folder;
  const Outcome outcome =
      bench("--peers plain --report $T/r.html --json-out $T/r.json --benchmark-out $T/b.json --family none",
            folder);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const json found = json::parse(read_file(folder / "r.json"));
  EXPECT_EQ(found["layers"].size(), 3U);
  EXPECT_NE(std::string(found["command"]).find(" --report "), std::string::npos);
  EXPECT_FALSE(json::parse(read_file(folder / "b.json"))["benchmarks"].empty());
  EXPECT_NE(read_file(folder / "r.html").find("<!doctype html>"), std::string::npos);
  EXPECT_EQ(folder.names().size(), 4U) << "nothing is left aside";
  EXPECT_EQ(bench("--peers plain --report $T/no/r.html", folder).exit, 5);
  EXPECT_EQ(bench("--peers plain --report $T/r.html --family nonsense", folder).exit, 3);
  EXPECT_EQ(bench("--peers plain --dtype float99", folder).exit, 3);
}

TEST(BenchPeers, CtrlCKeepsWhatItHas) {
  const TempFolder folder;
  std::string layers;
  for (int width = 10; width < 500; ++width)
    layers += "max_pool1d(float32[1,3," + std::to_string(width) + "], kernel_size=2)\n";
  write_file(folder / "layers.txt", layers);
  const Outcome outcome = test::interrupted(
      "$P bench --file $T/layers.txt --threads 1 --peers plain --seconds 1 --json-out $T/r.json", folder);
  EXPECT_EQ(outcome.exit, 130) << outcome.err;
  const json found = json::parse(read_file(folder / "r.json"));
  EXPECT_EQ(found["complete"], false);
  EXPECT_LT(found["layers"].size(), 490U);
}

TEST(BenchPeers, WhereNoLayerIsMeasuredTheFirstErrorCounts) {
  const TempFolder folder;
  const struct {
    const char* layers;
    int exit;
  } rows[] = {{"max_pool2d(float32[1,3,H,W], kernel_size=2)\n", 3},
              {"max_pool2d(float32[1,3,4,4], kernel_size=0)\n", 3},
              {"avg_pool2d(int64[1,2,4,4], kernel_size=2, divisor_override=2147483648)\n", 4},
              {"max_pool2d(float32[1,3,4,4], kernel_size=0)\nmax_pool2d(float32[1,3,4,4], 2)\n", 0}};
  for (const auto& row : rows) {
    write_file(folder / "layers.txt", row.layers);
    const Outcome outcome = shell("$P bench --peers none --seconds 0.001 --file $T/layers.txt", folder);
    EXPECT_EQ(outcome.exit, row.exit) << row.layers << outcome.err;
    EXPECT_NE(outcome.err.find("left out: "), std::string::npos) << outcome.err;
  }
}

TEST(BenchPeers, ASpecBesideAPeerIsAComparison) {
  const TempFolder folder;
  const Outcome outcome = shell(std::string("$P bench --seconds 0.001 --peers plain,") + toy +
                                    " --peer-path $T 'max_pool2d(float32[1,3,10,12], kernel_size=2)'",
                                folder);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("toy_engine_right: 1 layers"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace pooljit::tools
