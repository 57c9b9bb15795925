#include "core/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "support/text_folder.h"

namespace lookback {
namespace {

// ctest runs each test in a process of its own, several side by side.
const TextFolder kFolder;
const std::string kPath = kFolder.path("weights.safetensors");

/// A file with a header and data of one's own.
std::string assemble(const std::string& header, const std::string& data) {
  uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + data;
}

/// What loading these bytes is refused with, after the path.
std::string refusal(const std::string& bytes) {
  std::ofstream(kPath, std::ios::binary) << bytes;  // unsynced, for many small files
  try {
    load_tensors(kPath);
  } catch (const UserError& error) {
    std::string text = error.what();
    EXPECT_TRUE(text.starts_with(kPath + ": ")) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text.substr(kPath.size() + 2);
  }
  return "(nothing was refused)";
}

std::string entry_refusal(const std::string& entry, size_t data_bytes) {
  return refusal(assemble("{\"w\":" + entry + "}", std::string(data_bytes, '\0')));
}

std::vector<NamedTensor> sample() {
  Real inf = std::numeric_limits<Real>::infinity();
  return {{"decoder.weight", Tensor::from({2, 3}, {1, 2, 3, -4, Real(0.1), inf})},
          {"a", Tensor::scalar(7)},
          {"empty", Tensor(Shape{0, 4})},
          {"cube", Tensor::full({2, 1, 2}, 5)}};
}

TEST(Safetensors, ReadsBackWhatItWrote) {
  const std::map<std::string, std::string> metadata = {{"config", "name: x\n\"\xC3\xBC\""},
                                                       {"step", "17"}};
  save_tensors(kPath, sample(), metadata);
  TensorFile file = load_tensors(kPath);
  EXPECT_EQ(file.metadata, metadata);
  EXPECT_EQ(load_metadata(kPath), metadata);
  EXPECT_EQ(file.text("step"), "17");
  std::vector<NamedTensor> expected = sample();
  ASSERT_EQ(file.tensors.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(file.tensors[i].name, expected[i].name);
    EXPECT_EQ(file.tensors[i].tensor.shape(), expected[i].tensor.shape());
    EXPECT_TRUE(std::ranges::equal(file.tensors[i].tensor.values(), expected[i].tensor.values()));
  }
  EXPECT_EQ(file.get("a").item(), 7);
  EXPECT_EQ(file.find("b"), nullptr);
  EXPECT_THROW(file.get("b"), UserError);
  EXPECT_THROW(file.text("b"), UserError);
}

TEST(Safetensors, LayoutIsTheFormats) {
  save_tensors(kPath, {{"w", Tensor::from({2}, {1, 2})}}, {{"k", "v"}});
  std::string bytes = read_file(kPath);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  Json header = parse_json(bytes.substr(8, length), "header");
  std::string type = sizeof(Real) == 4 ? "F32" : "F64";
  EXPECT_EQ(header, parse_json("{\"__metadata__\": {\"k\": \"v\"}, \"w\": {\"dtype\": \"" + type +
                                   "\", \"shape\": [2], \"data_offsets\": [0, " +
                                   std::to_string(2 * sizeof(Real)) + "]}}",
                               "expected"));
  ASSERT_EQ(bytes.size(), 8 + length + 2 * sizeof(Real));
  Real second = 0;
  std::memcpy(&second, bytes.data() + 8 + length + sizeof(Real), sizeof(Real));
  EXPECT_EQ(second, 2);
}

TEST(Safetensors, WritesAnEmptyFileOfNoTensors) {
  save_tensors(kPath, {}, {});
  EXPECT_TRUE(load_tensors(kPath).tensors.empty());
}

TEST(Safetensors, ReadsOtherElementTypes) {
  auto element = [](const std::string& type, auto bits) {
    std::string data(sizeof bits, '\0');
    std::memcpy(data.data(), &bits, sizeof bits);
    write_file(kPath,
               assemble("{\"w\":{\"dtype\":\"" + type + "\",\"shape\":[1],\"data_offsets\":[0," +
                            std::to_string(data.size()) + "]}}",
                        data));
    return static_cast<double>(load_tensors(kPath).get("w").item());
  };
  EXPECT_EQ(element("F64", 0.5), 0.5);
  EXPECT_EQ(element("F32", -1.25f), -1.25);
  EXPECT_EQ(element("BF16", uint16_t{0x3FC0}), 1.5);
  EXPECT_EQ(element("BF16", uint16_t{0xC000}), -2.0);
  EXPECT_EQ(element("F16", uint16_t{0x3C00}), 1.0);
  EXPECT_EQ(element("F16", uint16_t{0xC100}), -2.5);
  EXPECT_EQ(element("F16", uint16_t{0x7BFF}), 65504.0);
  EXPECT_EQ(element("F16", uint16_t{0x0001}), std::ldexp(1.0, -24));
  EXPECT_EQ(element("F16", uint16_t{0x83FF}), -1023 * std::ldexp(1.0, -24));
  EXPECT_TRUE(std::isinf(element("F16", uint16_t{0x7C00})));
  EXPECT_TRUE(std::isnan(element("F16", uint16_t{0x7E00})));
}

TEST(Safetensors, ReadsManyElementsOfAnotherType) {
  const size_t count = 200'000;
  std::string data(2 * count, '\0');
  for (size_t i = 0; i < count; ++i) {
    auto bits = static_cast<uint16_t>(0x3F80 + i % 64);
    std::memcpy(data.data() + 2 * i, &bits, 2);
  }
  write_file(kPath,
             assemble("{\"w\":{\"dtype\":\"BF16\",\"shape\":[200000],\"data_offsets\":[0,400000]}}",
                      data));
  TensorFile file = load_tensors(kPath);
  const Tensor& w = file.get("w");
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(w.data()[i], static_cast<Real>(1 + static_cast<double>(i % 64) / 128)) << i;
}

TEST(Safetensors, RefusesForeignFiles) {
  EXPECT_EQ(refusal(""), "is empty, no safetensors file");
  EXPECT_EQ(refusal("hi\n"), "is no safetensors file: it has only 3 bytes");
  const std::string foreign = "is no safetensors file: it does not begin with a header";
  EXPECT_EQ(refusal(std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16)), foreign);
  EXPECT_EQ(refusal("some text that is no model at all\n"), foreign);
  EXPECT_EQ(refusal(std::string(100, '\0')), foreign);
  EXPECT_EQ(refusal("\xff\xff\xff\xff\xff\xff\xff\x7f{}"), foreign);
  EXPECT_TRUE(refusal(assemble("{not json}", "")).starts_with("bad JSON: "));
  EXPECT_TRUE(refusal(assemble("{\"a\xff\": 1}", "")).starts_with("bad JSON: "));
}

TEST(Safetensors, RefusesATruncatedFileAtEveryLength) {
  save_tensors(kPath, sample(), {{"k", "v"}});
  const std::string whole = read_file(kPath);
  for (size_t size = 0; size < whole.size(); ++size)
    ASSERT_NE(refusal(whole.substr(0, size)), "(nothing was refused)") << size;
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)),
            format("is truncated: its tensors need {} bytes, but {} are there", 11 * sizeof(Real),
                   11 * sizeof(Real) - 1));
  EXPECT_TRUE(refusal(whole.substr(0, 20)).starts_with("is truncated: its header needs "));
  EXPECT_EQ(refusal(whole + "xy"), "2 bytes after its last tensor belong to none");
}

TEST(Safetensors, RefusesWrongEntries) {
  EXPECT_EQ(entry_refusal("5", 0), "tensor \"w\": is no JSON object");
  EXPECT_EQ(entry_refusal("{}", 0), "tensor \"w\": \"dtype\" is missing");
  EXPECT_EQ(entry_refusal(R"({"dtype":"I64","shape":[1],"data_offsets":[0,8]})", 8),
            "tensor \"w\": elements of type \"I64\" are not read; must be F64, F32, F16 or BF16");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
            "tensor \"w\": shape [2] of F32 needs 8 bytes, but its offsets are [0, 4]");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4),
            "tensor \"w\": shape [1] of F32 needs 4 bytes, but its offsets are [4, 0]");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4),
            "tensor \"w\": -1 is no whole number of at least 0");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})", 4),
            "tensor \"w\": 1.0 is no whole number of at least 0");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})", 4),
            "tensor \"w\": \"shape\" is no list");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", 4),
            "tensor \"w\": \"data_offsets\" must be two numbers");
  EXPECT_EQ(
      entry_refusal(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]})", 4),
      "tensor \"w\": its shape [4294967296,4294967296] is too large");
  EXPECT_EQ(
      entry_refusal(R"({"dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0]})", 0),
      "tensor \"w\": its shape [0,18446744073709551615] is too large");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1],"data_offsets":[0,4]})", 4),
            "tensor \"w\": has 7 dimensions, at most 6 are read");
}

TEST(Safetensors, RefusesOverlapsGapsAndDuplicates) {
  auto two = [](const std::string& first, const std::string& second) {
    return refusal(
        assemble("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" + first +
                     "},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" + second + "}}",
                 std::string(8, '\0')));
  };
  EXPECT_EQ(two("[4,8]", "[0,4]"), "(nothing was refused)");
  EXPECT_EQ(two("[0,4]", "[2,6]"),
            "tensor \"b\" begins at byte 2, which overlaps the tensor before it (ends at 4)");
  EXPECT_EQ(
      two("[0,4]", "[5,9]"),
      "tensor \"b\" begins at byte 5, which leaves a gap after the tensor before it (ends at 4)");
  EXPECT_EQ(two("[0,4]", "[0,4]"),
            "tensor \"b\" begins at byte 0, which overlaps the tensor before it (ends at 4)");
  EXPECT_EQ(refusal(assemble(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                             R"("a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                             "")),
            "bad JSON: duplicate key \"a\"");
  EXPECT_EQ(refusal(assemble(R"({"__metadata__":{"a":1}})", "")), "metadata \"a\" is no text");
  EXPECT_EQ(refusal(assemble(R"({"__metadata__":[]})", "")), "\"__metadata__\" is no JSON object");
}

TEST(Safetensors, RefusesToWriteWhatCannotBeReadBack) {
  write_file(kPath, "old");
  EXPECT_THROW(save_tensors(kPath, {{"a", Tensor()}}, {}), Error);
  EXPECT_THROW(save_tensors(kPath, {{"a", Tensor::scalar(1)}, {"a", Tensor::scalar(1)}}, {}),
               Error);
  EXPECT_THROW(save_tensors(kPath, {{"__metadata__", Tensor::scalar(1)}}, {}), Error);
  EXPECT_THROW(save_tensors(kPath, {}, {{"k", "\xff"}}), Error);
  EXPECT_EQ(read_file(kPath), "old");
  EXPECT_THROW(save_tensors("/dev/full", {{"a", Tensor::scalar(1)}}, {}), UserError);
  EXPECT_THROW(load_tensors(testing::TempDir() + "no-such-file"), UserError);
}

TEST(JsonText, KeepsOrderAndNamesErrors) {
  EXPECT_EQ(json_text(parse_json("{\"b\": 1, \"a\": [true, null]}", "x")),
            "{\"b\":1,\"a\":[true,null]}");
  auto text = [](const std::string& json) -> std::string {
    try {
      parse_json(json, "a.json");
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(text("{\"a\": ").starts_with("a.json: bad JSON: parse error at line 1, column "));
  EXPECT_EQ(text("[{\"a\": 1}, {\"a\": {\"a\": 1}}]"), "");
  EXPECT_EQ(text("[{\"a\": {\"b\": 1}, \"a\": 2}]"), "a.json: bad JSON: duplicate key \"a\"");
}

}  // namespace
}  // namespace lookback
