//! Products word by word modulo a wide `q`. Sums, differences and negatives are in
//! [`super::elementwise`].

use std::arch::x86_64::*;

use super::elementwise::{kernel, map};
use super::vector::*;
use crate::Modulus;

/// Constants of [`Product::lazy`].
///
/// Let `top` be at most 3 less than `a b / 2^(bits - 2)`, and `mu = floor(2^(62 + bits) / q)`. Then
/// the quotient of `a b` by `q` is `top mu / 2^64`. It is too small by less than 1.5 for `top`, 1/4
/// for `mu` and 3 for [`high64`].
#[derive(Clone, Copy)]
struct Product {
    shift: __m128i,
    mu: V,
}

impl Product {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(q: &Modulus) -> Self {
        Self {
            shift: _mm_cvtsi64_si128(i64::from(64 - q.bits())),
            mu: splat(((1u128 << (62 + q.bits())) / u128::from(q.value())) as u64),
        }
    }

    /// `a * b` below 5q, for `a` and `b` below q.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
    fn lazy(&self, c: &Consts, a: V, b: V) -> V {
        let top = high64(_mm512_slli_epi64::<2>(a), _mm512_sll_epi64(b, self.shift));
        let quotient = high64(top, self.mu);
        sub(low64(a, b), low64(quotient, c.q))
    }
}

/// The factor `s` of a wide modulus.
#[inline]
#[target_feature(enable = "avx512f")]
fn factor(q: &Modulus, s: u64) -> Factor {
    Factor::shoup(s, q.shoup(s))
}

kernel!(mul_into(out, a, b;) from [a, b], |q, c| { let p = Product::new(q); }
    |[x, y]| c.reduce8(p.lazy(&c, x, y)));
kernel!(mul_assign(a, b;) from [a, b], |q, c| { let p = Product::new(q); }
    |[x, y]| c.reduce8(p.lazy(&c, x, y)));
kernel!(mul_add_assign(acc, a, b;) from [acc, a, b], |q, c| { let p = Product::new(q); }
    |[z, x, y]| c.reduce8(add(z, p.lazy(&c, x, y))));
kernel!(scalar_mul_assign(a; s) from [a], |q, c| { let f = factor(q, s); }
    |[x]| c.reduce8(c.mul_wide(x, f)));
kernel!(scalar_mul_add_assign(acc, a; s) from [acc, a], |q, c| { let f = factor(q, s); }
    |[z, x]| c.reduce8(add(z, c.mul_wide(x, f))));
kernel!(sub_scalar_mul_assign(a, b; s) from [a, b], |q, c| { let f = factor(q, s); }
    |[x, y]| c.reduce8(c.mul_wide(sub(add(x, c.q), y), f)));
kernel!(reduce_into(out, a;) from [a], |q, c| { let f = factor(q, 1); }
    |[x]| c.reduce8(c.mul_wide(x, f)));
