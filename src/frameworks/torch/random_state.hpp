/*
 * The state of PyTorch's CUDA generator, and kernels that draw from it.
 *
 * The state is a seed and an offset; a kernel takes the offset and moves it on by what it may use,
 * so that get_rng_state(), fork_rng() and checkpoints behave as on a GPU. In a captured graph both
 * are in memory that PyTorch writes before each launch of the graph.
 */
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/FunctionRef.h>
#include <functional>

#include "launch.hpp"

namespace heddle {

inline at::PhiloxCudaState take_numbers(const std::optional<at::Generator> &generator,
                                        uint64_t increment)
{
    auto *g = at::get_generator_or_default<at::CUDAGeneratorImpl>(
        generator, at::cuda::detail::getDefaultCUDAGenerator());
    std::lock_guard<std::mutex> lock(g->mutex_);
    return g->philox_cuda_state(increment);
}

struct Seed {
    uint64_t seed, offset;

    static Seed of(const at::PhiloxCudaState &s)
    {
        if (!s.captured_)
            return {s.seed_.val, s.offset_.val};
        return {static_cast<uint64_t>(*s.seed_.ptr),
                static_cast<uint64_t>(*s.offset_.ptr) + s.offset_intragraph_};
    }
};

class Drawing final : public Task {
  public:
    Drawing(const Kernel &kernel, const at::PhiloxCudaState &state, std::function<void(Seed)> body)
        : kernel(kernel), state(state), body(std::move(body))
    {
    }
    int run(heddle_native_call *call) override
    {
        return run_reported(call, kernel, [this] { body(Seed::of(state)); });
    }

  private:
    const Kernel &kernel;
    at::PhiloxCudaState state;
    std::function<void(Seed)> body;
};

inline void draw_now(Kernel &kernel, Seed seed, c10::function_ref<void(Seed)> body)
{
    run_in_stream(kernel, c10::cuda::getCurrentCUDAStream().stream(), [&] { body(seed); });
}

/*
 * Runs body(Seed) as a kernel of the current stream: now, or at each launch of the graph that is
 * captured. In a graph a copy of the body outlives the call: it holds addresses, and no references.
 */
template <class Body> void draw(Kernel &kernel, const at::PhiloxCudaState &state, const Body &body)
{
    if (!state.captured_) {
        draw_now(kernel, Seed::of(state), body);
        return;
    }
    auto stream = c10::cuda::getCurrentCUDAStream().stream();
    auto *task = new Drawing(kernel, state, body);
    give_to_graph(stream, task);
    kernel.launch(stream, task);
}

/*
 * Operators that PyTorch's CPU kernels compute draw from a Mersenne Twister that is seeded from the
 * CUDA generator's seed and offset: reproducible, but not a GPU's numbers.
 */
constexpr uint64_t HOST_INCREMENT = 4;

inline uint64_t host_seed(const Seed &s)
{
    uint64_t x = s.seed + 0x9e3779b97f4a7c15u * (s.offset / HOST_INCREMENT + 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

} // namespace heddle
