/*
 * Tensors of the host over the memory of tensors of the device, and back.
 *
 * Memory of Heddle's CPU device is memory of the process. An alias is a CPU tensor over the storage
 * of a CUDA tensor, without a copy: what PyTorch's CPU kernel reads and writes. What the kernel
 * returns becomes a CUDA tensor again: an argument is given back as the tensor it was, a view of an
 * argument as a view of that tensor, and new memory by moving its storage, as new memory comes from
 * the CUDA caching allocator while a kernel runs (Inside).
 */
#pragma once

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/CPUAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/SmallVector.h>
#include <c10/util/flat_hash_map.h>

namespace heddle {

/* ---- memory of results */

/*
 * What a kernel that runs on this thread allocates: memory of the device, or, for a node of a
 * graph, the memory that capture set aside for a result of that size, else memory of the host.
 */
struct Results {
    struct Buffer {
        void *ptr;
        size_t size_B;
        bool is_taken;
    };
    int device = -1; /* -1: memory of the host */
    c10::SmallVector<Buffer, 4> planned;
};

inline thread_local Results *results = nullptr;

class DeviceMemory final : public c10::Allocator {
  public:
    c10::Allocator *host = nullptr; /* the allocator that was there before */

    c10::DataPtr allocate(size_t size_B) override
    {
        Results *r = results;
        if (C10_LIKELY(!r))
            return host->allocate(size_B);
        for (auto &b : r->planned)
            if (!b.is_taken && b.size_B == size_B) {
                b.is_taken = true;
                return {b.ptr, b.ptr, &c10::detail::deleteNothing, c10::Device(c10::kCPU)};
            }
        if (r->device < 0)
            return host->allocate(size_B);
        results = nullptr; /* the allocator's own memory is the host's */
        c10::DataPtr p;
        try {
            p = c10::cuda::CUDACachingAllocator::get()->allocate(size_B);
        } catch (...) {
            results = r;
            throw;
        }
        results = r;
        p.unsafe_set_device(c10::Device(c10::kCPU));
        return p;
    }
    c10::DeleterFnPtr raw_deleter() const override
    {
        return free_raw;
    }
    void copy_data(void *to, const void *from, std::size_t size_B) const override
    {
        default_copy_data(to, from, size_B);
    }

    /* Of workspaces that are freed by their address: oneDNN's. */
    static void free_raw(void *ptr);
};

inline DeviceMemory device_memory;

inline void DeviceMemory::free_raw(void *ptr)
{
    cudaPointerAttributes attributes;
    if (!ptr)
        return;
    if (results)
        for (auto &b : results->planned)
            if (b.ptr == ptr) {
                b.is_taken = false;
                return;
            }
    bool on_device_thread = results && results->device < 0; /* which must not call CUDA */
    if (!on_device_thread && cudaPointerGetAttributes(&attributes, ptr) == cudaSuccess &&
        attributes.type == cudaMemoryTypeDevice)
        c10::cuda::CUDACachingAllocator::raw_delete(ptr);
    else
        device_memory.host->raw_deleter()(ptr);
}

/* While it lives, this thread allocates as `r` says. */
class Inside {
  public:
    explicit Inside(Results *r) : was(results)
    {
        results = r;
    }
    ~Inside()
    {
        results = was;
    }
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;

  private:
    Results *was;
};

/* ---- tensors */

inline c10::DispatchKeySet key_of(c10::Layout layout, c10::DeviceType type)
{
    bool cpu = type == c10::kCPU;
    switch (layout) {
    case c10::kSparse:
        return c10::DispatchKeySet(cpu ? c10::DispatchKey::SparseCPU
                                       : c10::DispatchKey::SparseCUDA);
    case c10::kSparseCsr:
    case c10::kSparseCsc:
    case c10::kSparseBsr:
    case c10::kSparseBsc:
        return c10::DispatchKeySet(cpu ? c10::DispatchKey::SparseCsrCPU
                                       : c10::DispatchKey::SparseCsrCUDA);
    default:
        return c10::DispatchKeySet(cpu ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA);
    }
}

inline bool is_compressed(const at::Tensor &t)
{
    auto l = t.layout();
    return l == c10::kSparseCsr || l == c10::kSparseCsc || l == c10::kSparseBsr ||
           l == c10::kSparseBsc;
}

/* A strided tensor over `storage`, of the type and shape of `like`. */
inline at::Tensor over_storage(c10::Storage storage, const at::Tensor &like, c10::DeviceType type)
{
    auto *from = like.unsafeGetTensorImpl();
    at::Tensor t;

    if (from->is_quantized()) {
        auto key =
            type == c10::kCPU ? c10::DispatchKey::QuantizedCPU : c10::DispatchKey::QuantizedCUDA;
        t = at::detail::make_tensor<at::QTensorImpl>(
            std::move(storage), c10::DispatchKeySet(key), like.dtype(),
            static_cast<at::QTensorImpl *>(from)->quantizer());
    } else if (from->is_nested()) {
        auto key = type == c10::kCPU ? c10::DispatchKey::NestedTensorCPU
                                     : c10::DispatchKey::NestedTensorCUDA;
        auto *n = static_cast<at::native::NestedTensorImpl *>(from);
        return at::detail::make_tensor<at::native::NestedTensorImpl>(
            std::move(storage), c10::DispatchKeySet(key), like.dtype(), n->get_nested_sizes(),
            n->get_nested_strides(), n->get_storage_offsets());
    } else {
        auto keys = key_of(c10::kStrided, type);
        if (from->_is_zerotensor()) /* without memory; kernels that take one ask for the key */
            keys = keys.add(c10::DispatchKey::ZeroTensor);
        t = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, like.dtype());
    }
    auto *to = t.unsafeGetTensorImpl();
    to->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
    if (from->is_wrapped_number())
        to->set_wrapped_number(true);
    if (from->is_conj())
        to->_set_conj(true);
    if (from->is_neg())
        to->_set_neg(true);
    return t;
}

inline at::Tensor make_coo(const at::Tensor &indices, const at::Tensor &values,
                           const at::Tensor &like, c10::DeviceType type)
{
    auto t =
        at::detail::make_tensor<at::SparseTensorImpl>(key_of(c10::kSparse, type), like.dtype());
    auto *to = static_cast<at::SparseTensorImpl *>(t.unsafeGetTensorImpl());
    auto *from = static_cast<at::SparseTensorImpl *>(like.unsafeGetTensorImpl());
    to->raw_resize_(from->sparse_dim(), from->dense_dim(), like.sizes());
    to->set_indices_and_values_unsafe(indices, values);
    to->set_coalesced(from->coalesced());
    return t;
}

inline at::Tensor make_compressed(const at::Tensor &compressed, const at::Tensor &plain,
                                  const at::Tensor &values, const at::Tensor &like,
                                  c10::Device device)
{
    auto t = at::detail::make_tensor<at::SparseCsrTensorImpl>(key_of(like.layout(), device.type()),
                                                              device, like.layout(), like.dtype());
    static_cast<at::SparseCsrTensorImpl *>(t.unsafeGetTensorImpl())
        ->set_member_tensors(compressed, plain, values, like.sizes());
    return t;
}

inline at::SparseTensorImpl *coo_of(const at::Tensor &t)
{
    return static_cast<at::SparseTensorImpl *>(t.unsafeGetTensorImpl());
}

inline at::SparseCsrTensorImpl *compressed_of(const at::Tensor &t)
{
    return static_cast<at::SparseCsrTensorImpl *>(t.unsafeGetTensorImpl());
}

/* The tensors of one call of an operator. */
class Aliases {
  public:
    int device = -1; /* of the first CUDA tensor or device among the arguments */

    /* The alias of a CUDA tensor; any other tensor is returned as it is. */
    at::Tensor of(const at::Tensor &t)
    {
        if (!t.defined() || !t.is_cuda())
            return t;
        if (device < 0)
            device = t.device().index();
        if (const Pair *p = find(t.unsafeGetTensorImpl()))
            return p->cpu;
        Pair pair{t, {}, nullptr};
        if (t.layout() == c10::kSparse)
            pair.cpu = make_coo(of(coo_of(t)->indices()), of(coo_of(t)->values()), t, c10::kCPU);
        else if (is_compressed(t))
            pair.cpu = make_compressed(of(compressed_of(t)->compressed_indices()),
                                       of(compressed_of(t)->plain_indices()),
                                       of(compressed_of(t)->values()), t, c10::Device(c10::kCPU));
        else if (t.has_storage())
            pair.cpu = over_storage(storage_of(t, &pair.data), t, c10::kCPU);
        else
            TORCH_CHECK_NOT_IMPLEMENTED(false, "Heddle: tensors of layout ", t.layout(),
                                        " on cuda are not supported");
        add(pair);
        return pair.cpu;
    }

    /* The CUDA tensor that a tensor returned by the CPU's kernel becomes. */
    at::Tensor back(const at::Tensor &t)
    {
        if (!t.defined() || !t.is_cpu())
            return t;
        if (const Pair *p = find(t.unsafeGetTensorImpl()))
            return p->cuda;
        c10::Device cuda(c10::kCUDA, static_cast<c10::DeviceIndex>(device));
        if (t.layout() == c10::kSparse)
            return make_coo(back(coo_of(t)->indices()), back(coo_of(t)->values()), t, c10::kCUDA);
        if (is_compressed(t))
            return make_compressed(back(compressed_of(t)->compressed_indices()),
                                   back(compressed_of(t)->plain_indices()),
                                   back(compressed_of(t)->values()), t, cuda);
        if (!t.has_storage())
            return t;
        const Pair *p = find(t.storage().unsafeGetStorageImpl());
        if (p && shares_storage(p->cpu, t)) /* the kernel may have replaced the alias' */
            return over_storage(p->cuda.storage(), t, c10::kCUDA);
        return over_storage(moved(t), t, c10::kCUDA);
    }

    /* Gives what an operator has done to arguments that it may change to the CUDA tensors. */
    void written()
    {
        for (size_t i = 0; i < pairs.size(); i++) {
            Pair p = pairs[i];
            if (p.cpu.layout() == c10::kSparse)
                written_coo(p);
            else if (is_compressed(p.cpu))
                written_compressed(p);
            else
                written_strided(p);
        }
    }

    bool empty() const
    {
        return pairs.empty();
    }
    template <class F> void each(F &&f) const
    {
        for (auto &p : pairs)
            f(p.cuda, p.cpu);
    }

  private:
    struct Pair {
        at::Tensor cuda, cpu;
        const void *data; /* of the alias' storage at first; NULL: it has none */
    };
    c10::SmallVector<Pair, 6> pairs;
    /* The pair of each tensor, and the first of each storage, by their addresses. */
    struct Place {
        const void *of;
        size_t pair;
    };
    c10::SmallVector<Place, 24> few; /* of the first pairs; behind them operators have lists */
    ska::flat_hash_map<const void *, size_t> many;

    const Pair *find(const void *of) const
    {
        for (auto &place : few)
            if (place.of == of)
                return &pairs[place.pair];
        if (C10_LIKELY(many.empty()))
            return nullptr;
        auto found = many.find(of);
        return found == many.end() ? nullptr : &pairs[found->second];
    }

    void add_place(const void *of)
    {
        size_t pair = pairs.size() - 1;
        if (few.size() < 24)
            few.push_back({of, pair});
        else
            many.emplace(of, pair);
    }

    void add(const Pair &pair)
    {
        pairs.push_back(pair);
        add_place(pair.cuda.unsafeGetTensorImpl());
        add_place(pair.cpu.unsafeGetTensorImpl());
        if (!pair.data || find(pair.cuda.storage().unsafeGetStorageImpl()))
            return;
        add_place(pair.cuda.storage().unsafeGetStorageImpl());
        add_place(pair.cpu.storage().unsafeGetStorageImpl());
    }

    static bool shares_storage(const at::Tensor &a, const at::Tensor &b)
    {
        return a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
    }

    c10::Storage storage_of(const at::Tensor &t, const void **out_data)
    {
        auto *storage = t.storage().unsafeGetStorageImpl();
        if (const Pair *p = find(storage)) {
            *out_data = p->data;
            return p->cpu.storage();
        }
        /* A lazy clone stays one: what the operator writes to has memory of its own by now. */
        void *data = const_cast<void *>(storage->data());
        /* An address is what tells an alias from what replaces it, so it has one if it is empty. */
        *out_data = data ? data : static_cast<const void *>(this);
        return {c10::Storage::use_byte_size_t(), storage->nbytes(),
                c10::DataPtr(data, c10::Device(c10::kCPU)), &device_memory, true};
    }

    /*
     * A storage of the device with the memory of a result. Copies what is not ours, and what somebody
     * else has, too: `t` is held by the list of results and by the caller, so twice.
     */
    c10::Storage moved(const at::Tensor &t)
    {
        const c10::Storage &from = t.storage();
        bool is_only = t.use_count() <= 2 && from.use_count() == 1;
        return {c10::Storage::use_byte_size_t(), from.nbytes(),
                take(from.unsafeGetStorageImpl(), is_only), c10::cuda::CUDACachingAllocator::get(),
                true};
    }

    c10::DataPtr take(c10::StorageImpl *from, bool may_move)
    {
        auto *cuda = c10::cuda::CUDACachingAllocator::get();
        size_t size_B = from->nbytes();
        c10::DataPtr p;
        if (may_move && from->data_ptr().get_deleter() == cuda->raw_deleter()) {
            p = from->set_data_ptr(c10::DataPtr(nullptr, c10::Device(c10::kCPU)));
        } else {
            p = cuda->allocate(size_B);
            if (size_B)
                memcpy(p.get(), from->data(), size_B);
        }
        p.unsafe_set_device(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)));
        return p;
    }

    void written_strided(const Pair &p)
    {
        auto *cpu = p.cpu.unsafeGetTensorImpl(), *cuda = p.cuda.unsafeGetTensorImpl();
        auto *from = p.cpu.storage().unsafeGetStorageImpl();
        auto *to = p.cuda.storage().unsafeGetStorageImpl();
        bool replaced = from->data() != p.data && (from->data() || to->data());
        if (replaced && from->data() != to->data()) {
            size_t size_B = from->nbytes();
            to->set_data_ptr_noswap(take(from, true));
            to->set_nbytes(size_B);
        }
        if (cpu->is_nested())
            return;
        if (replaced || cpu->sizes() != cuda->sizes() || cpu->strides() != cuda->strides() ||
            cpu->storage_offset() != cuda->storage_offset())
            cuda->set_sizes_and_strides(cpu->sizes(), cpu->strides(), cpu->storage_offset());
    }

    void written_coo(const Pair &p)
    {
        auto *cpu = coo_of(p.cpu), *cuda = coo_of(p.cuda);
        auto indices = back(cpu->indices()), values = back(cpu->values());
        if (cpu->sizes() != cuda->sizes() || cpu->sparse_dim() != cuda->sparse_dim())
            cuda->raw_resize_(cpu->sparse_dim(), cpu->dense_dim(), cpu->sizes());
        cuda->set_indices_and_values_unsafe(indices, values);
        cuda->set_coalesced(cpu->coalesced());
    }

    void written_compressed(const Pair &p)
    {
        auto *cpu = compressed_of(p.cpu), *cuda = compressed_of(p.cuda);
        cuda->set_member_tensors(back(cpu->compressed_indices()), back(cpu->plain_indices()),
                                 back(cpu->values()), cpu->sizes());
    }
};

} // namespace heddle
