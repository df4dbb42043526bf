// CUDA on a CPU, for tests: one block after the other, its threads as fibers that take turns at
// barriers. Shared memory is static, since no two blocks run at a time.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ucontext.h>

struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct Index { unsigned x, y, z; };

static Index threadIdx, blockIdx, blockDim;

#define __global__
#define __device__
#define __shared__ static

static inline unsigned __umulhi(unsigned a, unsigned b) { return (uint64_t)a * b >> 32; }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned __int128)a * b >> 64;
}
static inline int __clz(unsigned a) { return a ? __builtin_clz(a) : 32; }

namespace fibers {

const unsigned MOST = 256, STACK = 1 << 16;
static ucontext_t host, own[MOST];
static char stacks[MOST][STACK];
static bool ended[MOST];
static unsigned current;
static void (*body)();

static void enter() {
    body();
    ended[current] = true;
}

static void barrier() { swapcontext(&own[current], &host); }

static void run_block(void (*of_thread)()) {
    body = of_thread;
    for (unsigned t = 0; t < blockDim.x; t++) {
        getcontext(&own[t]);
        own[t].uc_stack.ss_sp = stacks[t];
        own[t].uc_stack.ss_size = STACK;
        own[t].uc_link = &host;
        ended[t] = false;
        makecontext(&own[t], enter, 0);
    }
    for (unsigned left = blockDim.x; left;) {
        for (unsigned t = 0; t < blockDim.x; t++) {
            if (ended[t]) continue;
            current = t;
            threadIdx.x = t;
            swapcontext(&host, &own[t]);
            left -= ended[t];
        }
    }
}

}  // namespace fibers

#define __syncthreads fibers::barrier
