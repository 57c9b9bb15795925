#ifndef LOOKBACK_DOUBLE

#include <omp.h>

#include <cstring>
#include <dnnl.hpp>
#include <unordered_map>

#include "core/error.h"
#include "core/gemm_backend.h"
#include "core/gemm_bf16.h"

namespace lookback {
namespace {

/// What oneDNN needs to know to build a matmul; everything but the pointers.
struct Key {
  int64_t m, n, k, stride_a, stride_b, stride_c;
  uint64_t flags;  // transposed a, transposed b, accumulate, bias, bf16
  bool operator==(const Key& other) const { return std::memcmp(this, &other, sizeof(Key)) == 0; }
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = key.flags;
    for (int64_t part : {key.m, key.n, key.k, key.stride_a, key.stride_b, key.stride_c})
      h = (h ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
    return h;
  }
};

/// A matmul of one shape with the memory objects that its arguments are passed in.
struct Product {
  dnnl::matmul primitive;
  dnnl::memory a, b, c, bias;
  std::unordered_map<int, dnnl::memory> arguments;
};

/// oneDNN asks OpenMP how many threads there are, both when it builds and when it runs a primitive.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Primitives are kept a thread, so that no lock stands on the way of a small product. Lengths vary
/// from batch to batch, so there are many shapes; past the limit all are dropped and built anew.
struct Cache {
  static constexpr size_t kLimit = 4096;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unordered_map<Key, Product, KeyHash> products;

  Product& product(const Key& key);
};

Product& Cache::product(const Key& key) {
  auto found = products.find(key);
  if (found != products.end()) return found->second;
  if (products.size() >= kLimit) products.clear();

  using dims = dnnl::memory::dims;
  constexpr auto f32 = dnnl::memory::data_type::f32;
  const auto operand = key.flags & 16 ? dnnl::memory::data_type::bf16 : f32;
  bool ta = key.flags & 1, tb = key.flags & 2, accumulate = key.flags & 4, bias = key.flags & 8;
  dnnl::memory::desc a({key.m, key.k}, operand, ta ? dims{1, key.stride_a} : dims{key.stride_a, 1});
  dnnl::memory::desc b({key.k, key.n}, operand, tb ? dims{1, key.stride_b} : dims{key.stride_b, 1});
  dnnl::memory::desc c({key.m, key.n}, f32, dims{key.stride_c, 1});
  dnnl::primitive_attr attributes;
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  dnnl::memory::desc bias_desc({1, key.n}, f32, dims{key.n, 1});
  dnnl::matmul::desc desc =
      bias ? dnnl::matmul::desc(a, b, bias_desc, c) : dnnl::matmul::desc(a, b, c);
  dnnl::matmul::primitive_desc pd(desc, attributes, engine);

  Product p;
  p.primitive = dnnl::matmul(pd);
  p.a = dnnl::memory(a, engine, nullptr);
  p.b = dnnl::memory(b, engine, nullptr);
  p.c = dnnl::memory(c, engine, nullptr);
  p.arguments = {{DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.b}, {DNNL_ARG_DST, p.c}};
  if (bias) {
    p.bias = dnnl::memory(bias_desc, engine, nullptr);
    p.arguments.emplace(DNNL_ARG_BIAS, p.bias);
  }
  return products.emplace(key, std::move(p)).first->second;
}

// A matmul object costs some 0.7 us a call beside its work, and 30 us when it is made; small products
// come by the thousand and in ever new sizes, as attention's do. Up to this many multiply-adds the plain
// call is the faster; past it both run the same code, or matmul a better one.
constexpr double kSmall = 64 * 64 * 64;

/// Whether the product was done by the call that needs no object.
bool small_product(const MatrixView& a, const MatrixView& b, const MutableMatrix& c, int64_t k,
                   bool accumulate) {
  if (static_cast<double>(c.rows) * static_cast<double>(c.columns) * static_cast<double>(k) >
      kSmall)
    return false;
  return dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', c.rows, c.columns, k, 1,
                    a.data, a.stride, b.data, b.stride, accumulate ? 1 : 0, c.data,
                    c.stride) == dnnl_success;
}

/// A and B as MatrixView or Bf16View.
template <class View>
void run_matmul(const View& a, const View& b, const MutableMatrix& c, const GemmOptions& options,
                bool bf16) {
  int64_t k = a.transposed ? a.rows : a.columns;
  thread_local Cache cache;
  Key key{c.rows,
          c.columns,
          k,
          a.stride,
          b.stride,
          c.stride,
          (a.transposed ? 1u : 0u) | (b.transposed ? 2u : 0u) | (options.accumulate ? 4u : 0u) |
              (options.bias ? 8u : 0u) | (bf16 ? 16u : 0u)};
  try {
    Product& p = cache.product(key);
    // oneDNN takes arguments without const; it does not write sources.
    p.a.set_data_handle(const_cast<void*>(static_cast<const void*>(a.data)));
    p.b.set_data_handle(const_cast<void*>(static_cast<const void*>(b.data)));
    p.c.set_data_handle(c.data);
    if (options.bias) p.bias.set_data_handle(const_cast<Real*>(options.bias));
    p.primitive.execute(cache.stream, p.arguments);
  } catch (const dnnl::error& error) {
    fail("[matmul] oneDNN refused ({}, {}) x ({}, {}): {}", c.rows, k, k, c.columns, error.what());
  }
}

}  // namespace

void gemm_onednn(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
                 const GemmOptions& options) {
  OneThread one_thread;
  int64_t k = a.transposed ? a.rows : a.columns;
  if (!options.bias && small_product(a, b, c, k, options.accumulate)) return;
  run_matmul(a, b, c, options, false);
}

void gemm_bf16_one_thread(const Bf16View& a, const Bf16View& b, const MutableMatrix& c,
                          const GemmOptions& options) {
  OneThread one_thread;
  run_matmul(a, b, c, options, true);
}

std::string onednn_version() {
  const dnnl_version_t* v = dnnl_version();
  return format("{}.{}.{}", v->major, v->minor, v->patch);
}

}  // namespace lookback

#endif
