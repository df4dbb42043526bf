// Kernels of waves: operations on rows of N words of 32 bits. docs/backends.md has the contract, and
// crates/waves/src/kernel.rs says what each kernel computes.
//
// All kernels have one signature. Block (x, y) works on instruction y. Lists point at the first
// instruction of the wave.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;

// The constants of a prime.
struct Prime {
    u32 q;
    u32 inverse;      // q^-1 mod 2^32
    u64 reciprocal;   // floor(2^64 / q)
    u32 scale;        // 2^32 / N mod q, for the inverse transform
    u32 scale_low;    // scale q^-1 mod 2^32
    u32 fraction;     // 2^(31 + bits of q) / q
    u32 unused;
};

#define KERNEL extern "C" __global__ void
#define TEMPLATE_KERNEL __global__ void
#define PARAMETERS                                                                            \
    u32 *store, const i32 *reads, const i32 *writes, const u32 *words, const Prime *primes,  \
        const void *table, u32 n, u32 read_count, u32 write_count

#define THREADS 256

// Arithmetic on residues. A prime may take all 32 bits, so a sum of two residues may not fit a word.

__device__ inline u32 add_mod(u32 a, u32 b, u32 q) {
    u32 sum = a + b;
    return sum < a || sum >= q ? sum - q : sum;
}

__device__ inline u32 sub_mod(u32 a, u32 b, u32 q) {
    return a < b ? a - b + q : a - b;
}

__device__ inline u32 negate_mod(u32 a, u32 q) {
    return a == 0 ? 0 : q - a;
}

// x mod q for any x. The quotient by Barrett is too small by at most 1.
__device__ inline u32 remainder_of(u64 x, const Prime &p) {
    u64 rest = x - __umul64hi(x, p.reciprocal) * p.q;
    return (u32)(rest >= p.q ? rest - p.q : rest);
}

// a factor / 2^32 mod q, for a word a and a factor below q. `low` is factor q^-1 mod 2^32. The lower
// halves of both products agree, so the difference of the upper halves is the exact quotient.
__device__ inline u32 montgomery(u32 a, u32 factor, u32 low, u32 q) {
    u32 x = __umulhi(a, factor), y = __umulhi(a * low, q);
    return x < y ? x - y + q : x - y;
}

// A sum of products of words: the sum of their lower and of their upper halves. It holds 2^32 products.
struct Sum {
    u64 low, high;
    __device__ Sum() : low(0), high(0) {}
    __device__ void add(u32 a, u32 b) {
        u64 product = (u64)a * b;
        low += (u32)product;
        high += product >> 32;
    }
    __device__ u32 remainder(const Prime &p) const {
        u64 upper = remainder_of(high + (low >> 32), p);
        return remainder_of(upper << 32 | (u32)low, p);
    }
};

// Word by word, four words a thread.

template <class F>
__device__ inline void each_word(u32 *store, i32 to, i32 a, i32 b, u32 n, F f) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * at >= n) return;
    uint4 x = ((const uint4 *)(store + (u64)a * n))[at], y = ((const uint4 *)(store + (u64)b * n))[at];
    uint4 z;
    z.x = f(x.x, y.x), z.y = f(x.y, y.y), z.z = f(x.z, y.z), z.w = f(x.w, y.w);
    ((uint4 *)(store + (u64)to * n))[at] = z;
}

KERNEL add(PARAMETERS) {
    u32 i = blockIdx.y, q = primes[words[i]].q;
    each_word(store, writes[i], reads[2 * i], reads[2 * i + 1], n,
              [=](u32 a, u32 b) { return add_mod(a, b, q); });
}

KERNEL sub(PARAMETERS) {
    u32 i = blockIdx.y, q = primes[words[i]].q;
    each_word(store, writes[i], reads[2 * i], reads[2 * i + 1], n,
              [=](u32 a, u32 b) { return sub_mod(a, b, q); });
}

KERNEL mul(PARAMETERS) {
    u32 i = blockIdx.y;
    Prime p = primes[words[i]];
    each_word(store, writes[i], reads[2 * i], reads[2 * i + 1], n,
              [=](u32 a, u32 b) { return remainder_of((u64)a * b, p); });
}

KERNEL scale(PARAMETERS) {
    u32 i = blockIdx.y, factor = words[2 * i + 1];
    Prime p = primes[words[2 * i]];
    each_word(store, writes[i], reads[i], reads[i], n,
              [=](u32 a, u32) { return remainder_of((u64)a * factor, p); });
}

// floor((c t + floor(q / 2)) / q), and 0 for t. Words of an instruction: prime, prime t.
KERNEL round_to(PARAMETERS) {
    u32 i = blockIdx.y, t = primes[words[2 * i + 1]].q;
    Prime p = primes[words[2 * i]];
    each_word(store, writes[i], reads[i], reads[i], n, [=](u32 c, u32) {
        u64 x = (u64)c * t + (p.q >> 1), quotient = __umul64hi(x, p.reciprocal);
        quotient += x - quotient * p.q >= p.q;
        return quotient == t ? 0 : (u32)quotient;
    });
}

// A digit of a centred residue. Half of the base is added at each place but the last: the digits of
// this sum are the wanted ones plus half of the base. Words: prime, index, bits, count.
KERNEL digit(PARAMETERS) {
    u32 i = blockIdx.y, q = primes[words[4 * i]].q;
    u32 index = words[4 * i + 1], bits = words[4 * i + 2], count = words[4 * i + 3];
    u64 half = 1ull << (bits - 1), offset = 0;
    for (u32 k = 0; k + 1 < count; k++) offset += half << (bits * k);
    each_word(store, writes[i], reads[i], reads[i], n, [=](u32 c, u32) {
        bool negative = c > q >> 1;
        u64 sum = ((negative ? q - c : c) + offset) >> (bits * index);
        long long part = index + 1 == count ? (long long)sum
                                            : (long long)(sum & ((1ull << bits) - 1)) - (long long)half;
        if (negative) part = -part;
        part %= (long long)q;
        return (u32)(part < 0 ? part + q : part);
    });
}

// sum_k left_k right_k. All left rows come first.
KERNEL dot(PARAMETERS) {
    u32 i = blockIdx.y, at = blockIdx.x * blockDim.x + threadIdx.x, terms = read_count / 2;
    if (2 * at >= n) return;
    Prime p = primes[words[i]];
    const i32 *left = reads + (u64)i * read_count, *right = left + terms;
    Sum first, second;
    for (u32 k = 0; k < terms; k++) {
        uint2 a = ((const uint2 *)(store + (u64)left[k] * n))[at];
        uint2 b = ((const uint2 *)(store + (u64)right[k] * n))[at];
        first.add(a.x, b.x), second.add(a.y, b.y);
    }
    uint2 sums;
    sums.x = first.remainder(p), sums.y = second.remainder(p);
    ((uint2 *)(store + (u64)writes[i] * n))[at] = sums;
}

// Words from other places. The table has N entries for each permutation; the highest bit negates.
KERNEL permute(PARAMETERS) {
    u32 i = blockIdx.y, at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    u32 source = ((const u32 *)table)[(u64)words[2 * i + 1] * n + at];
    u32 place = source & 0x7fffffff;
    u32 operand = place >> (31 - __clz(n));
    u32 word = store[(u64)reads[i * read_count + operand] * n + (place & (n - 1))];
    u32 q = primes[words[2 * i]].q;
    store[(u64)writes[i] * n + at] = source >> 31 ? negate_mod(word, q) : word;
}

// Op::Extract. Words: prime, at, at_steps, entries, entries_steps, gap.
KERNEL extract(PARAMETERS) {
    u32 i = blockIdx.y, word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= n) return;
    const u32 *own = words + 6 * i;
    const i32 *places = (const i32 *)table;
    u32 half = n / 2, upper = word & half;
    i32 at = places[(u64)own[1] * n + (upper | ((word + own[2]) & (half - 1)))];
    i32 entry = places[(u64)own[3] * n + (upper | ((word + own[4]) & (half - 1)))];
    u32 result = 0;
    if (at >= 0) {
        u32 place = (((u32)at & (n - 1)) - (u32)entry * own[5]) & (2 * n - 1);
        result = store[(u64)reads[i * read_count + (at >> (31 - __clz(n)))] * n + (place & (n - 1))];
        if (place >= n) result = negate_mod(result, primes[own[0]].q);
    }
    store[(u64)writes[i] * n + word] = result;
}

// Basis conversion from S primes, 0 beyond the last one. The table has for each conversion the
// primes read, the primes written, (Q/q_i)^-1 mod q_i, and the matrix of write_count (S + 1) words.
template <int S> TEMPLATE_KERNEL convert(PARAMETERS) {
    u32 i = blockIdx.y, at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    const u32 *from = (const u32 *)table + (u64)words[i] * (2 * S + write_count * (S + 2));
    const u32 *to = from + S, *hats = to + write_count, *matrix = hats + S;
    const i32 *rows = reads + (u64)i * S, *results = writes + (u64)i * write_count;
    u32 y[S], used = 0;
    u64 total = 1ull << 55;
#pragma unroll
    for (int k = 0; k < S; k++) {
        Prime p = primes[from[k]];
        u32 hat = hats[k];
        y[k] = remainder_of((u64)store[(u64)rows[k] * n + at] * hat, p);
        total += ((u64)(y[k] << __clz(p.q)) * p.fraction) >> 7;
        used += hat != 0;
    }
    u32 quotient = used == 1 ? y[0] > primes[from[0]].q >> 1 : (u32)(total >> 56);
    for (u32 j = 0; j < write_count; j++) {
        const u32 *row = matrix + j * (S + 1);
        Sum sum;
#pragma unroll
        for (int k = 0; k < S; k++) sum.add(y[k], row[k]);
        sum.add(quotient, row[S]);
        store[(u64)results[j] * n + at] = sum.remainder(primes[to[j]]);
    }
}

// A matrix of write_count rows and read_count columns times a column of rows. Block z computes OUT
// rows. Words: prime, matrix.
#define OUT 16
#define COLUMNS 32

KERNEL combine(PARAMETERS) {
    __shared__ u32 part[COLUMNS][OUT];
    u32 i = blockIdx.y, at = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.z * OUT;
    const u32 *matrix = (const u32 *)table + (u64)words[2 * i + 1] * read_count * write_count;
    const i32 *rows = reads + (u64)i * read_count, *results = writes + (u64)i * write_count;
    Sum sums[OUT];
    for (u32 start = 0; start < read_count; start += COLUMNS) {
        for (u32 k = threadIdx.x; k < OUT * COLUMNS; k += blockDim.x) {
            u32 column = start + k % COLUMNS, row = first + k / COLUMNS;
            bool inside = column < read_count && row < write_count;
            part[k % COLUMNS][k / COLUMNS] = inside ? matrix[(u64)row * read_count + column] : 0;
        }
        __syncthreads();
        u32 count = read_count - start < COLUMNS ? read_count - start : COLUMNS;
        for (u32 k = 0; at < n && k < count; k++) {
            u32 word = store[(u64)rows[start + k] * n + at];
#pragma unroll
            for (int r = 0; r < OUT; r++) sums[r].add(word, part[k][r]);
        }
        __syncthreads();
    }
    Prime p = primes[words[2 * i]];
#pragma unroll
    for (int r = 0; r < OUT; r++)
        if (at < n && first + r < write_count)
            store[(u64)results[first + r] * n + at] = sums[r].remainder(p);
}

// Values that were kept: row y of the table goes to the row writes[y].
KERNEL place(PARAMETERS) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * at >= n) return;
    ((uint4 *)(store + (u64)writes[blockIdx.y] * n))[at] =
        ((const uint4 *)table + (u64)blockIdx.y * (n / 4))[at];
}

// Transforms. The N words are a matrix of 2^upper rows and 2^lower columns. The first stages pair
// rows, and each column is a transform of its own; the others pair columns of a row. A pass runs one
// half of the stages on tiles of TILE words in shared memory. Threads run up to 4 stages at a time in
// registers.
//
// Node k of stage s, which has 2^s nodes, takes words x and y to x + w y and x - w y with the
// power w of the root at 2^s + k of the table. The inverse takes them to x + y and (x - y) w.

#define TILE 4096
#define PADDED(place) ((place) + ((place) >> 5))

struct Pass {
    u32 length;        // log2 of the words of a small transform
    u32 lanes;         // log2 of the small transforms of a tile
    bool columns;      // whether the small transforms are columns
    u32 first_stage;   // stages before those of this pass
    u32 first_row;     // the row of the first small transform, if they are rows
};

// Runs 2^G words of a small transform through the G stages from `stage` on.
template <int G, bool INVERSE>
__device__ inline void run_stages(u32 *tile, const Pass &pass, u32 stage, const uint2 *factors, u32 q) {
    u32 below = pass.length - stage - G;  // log2 of the distance of the words
    u32 items = 1u << (pass.length + pass.lanes - G);
    for (u32 item = threadIdx.x; item < items; item += blockDim.x) {
        u32 lane, rest;
        if (pass.columns)
            lane = item & ((1u << pass.lanes) - 1), rest = item >> pass.lanes;
        else
            lane = item >> (pass.length - G), rest = item & ((1u << (pass.length - G)) - 1);
        u32 node = rest >> below, base = node << (below + G) | (rest & ((1u << below) - 1));
        u32 row = pass.columns ? 0 : pass.first_row + lane;
        u32 v[1 << G];
#pragma unroll
        for (int j = 0; j < 1 << G; j++) {
            u32 e = base + ((u32)j << below);
            u32 place = pass.columns ? e << pass.lanes | lane : lane << pass.length | e;
            v[j] = tile[PADDED(place)];
        }
#pragma unroll
        for (int step = 0; step < G; step++) {
            const int t = INVERSE ? G - 1 - step : step;
            u32 first = (1u << (pass.first_stage + stage + t)) + (row << (stage + t)) + (node << t);
#pragma unroll
            for (int j = 0; j < 1 << G; j++) {
                const int other = 1 << (G - 1 - t);
                if (j & other) continue;
                uint2 w = factors[first + (j >> (G - t))];
                u32 x = v[j], y = v[j + other];
                if (INVERSE) {
                    v[j] = add_mod(x, y, q);
                    v[j + other] = montgomery(sub_mod(x, y, q), w.x, w.y, q);
                } else {
                    y = montgomery(y, w.x, w.y, q);
                    v[j] = add_mod(x, y, q), v[j + other] = sub_mod(x, y, q);
                }
            }
        }
#pragma unroll
        for (int j = 0; j < 1 << G; j++) {
            u32 e = base + ((u32)j << below);
            u32 place = pass.columns ? e << pass.lanes | lane : lane << pass.length | e;
            tile[PADDED(place)] = v[j];
        }
    }
}

template <bool INVERSE>
__device__ inline void run_pass(u32 *tile, const Pass &pass, const uint2 *factors, u32 q) {
    u32 rounds = (pass.length + 3) / 4;
    for (u32 round = 0; round < rounds; round++) {
        __syncthreads();
        u32 stage = 4 * (INVERSE ? rounds - 1 - round : round), left = pass.length - stage;
        if (left >= 4) run_stages<4, INVERSE>(tile, pass, stage, factors, q);
        else if (left == 3) run_stages<3, INVERSE>(tile, pass, stage, factors, q);
        else if (left == 2) run_stages<2, INVERSE>(tile, pass, stage, factors, q);
        else run_stages<1, INVERSE>(tile, pass, stage, factors, q);
    }
    __syncthreads();
}

// One pass over the rows of a wave. The table has the factors times 2^32 and the same times
// q^-1 mod 2^32, N pairs for each prime. The second pass of a transform works in place.
template <bool INVERSE, bool COLUMN_PASS> TEMPLATE_KERNEL transform(PARAMETERS) {
    __shared__ u32 tile[PADDED(TILE) + 1];
    u32 i = blockIdx.y, log_n = 31 - __clz(n), words_of_tile = n < TILE ? n : TILE;
    u32 lower = log_n / 2, upper = log_n - lower, log_tile = 31 - __clz(words_of_tile);
    const bool columns = COLUMN_PASS, second = INVERSE == COLUMN_PASS;
    Pass pass;
    pass.columns = columns;
    pass.length = columns ? upper : lower;
    pass.lanes = log_tile - pass.length;
    pass.first_stage = columns ? 0 : upper;
    pass.first_row = columns ? 0 : blockIdx.x << pass.lanes;
    Prime p = primes[words[i]];
    const uint2 *factors = (const uint2 *)table + (u64)words[i] * n;
    u32 *to = store + (u64)writes[i] * n;
    const u32 *from = second ? to : store + (u64)reads[i] * n;
    u32 lane_mask = (1u << pass.lanes) - 1, first = blockIdx.x << pass.lanes;
    for (u32 k = threadIdx.x; k < words_of_tile; k += blockDim.x) {
        u32 place = columns ? (k >> pass.lanes) << lower | (first + (k & lane_mask))
                            : blockIdx.x * words_of_tile + k;
        tile[PADDED(k)] = from[place];
    }
    run_pass<INVERSE>(tile, pass, factors, p.q);
    for (u32 k = threadIdx.x; k < words_of_tile; k += blockDim.x) {
        u32 place = columns ? (k >> pass.lanes) << lower | (first + (k & lane_mask))
                            : blockIdx.x * words_of_tile + k;
        u32 word = tile[PADDED(k)];
        to[place] = INVERSE && second ? montgomery(word, p.scale, p.scale_low, p.q) : word;
    }
}
