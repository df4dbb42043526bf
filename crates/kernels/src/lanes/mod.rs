//! Vectors of four lanes: the CPU operations that kernels for four residues at a time need.
//!
//! A vector is [`F`], of `f64`, or [`I`], of 64-bit words. Each CPU has a file with the same names:
//!
//! | name | result |
//! |---|---|
//! | `zero`, `splat`, `splat_word` | zeros, or one number or word in every lane |
//! | `add`, `sub`, `mul` | of floats |
//! | `fmadd`, `fmsub`, `fnmadd` of `(x, y, z)` | `x y + z`, `x y - z`, `z - x y`, rounded once |
//! | `round` | the nearest integer, of two the even one |
//! | `begin_rounding(x, y, c)`, `end_rounding(z, c)` | together the integer next to `x y`: below |
//! | `add_rest(s, x, y, z)` | `s + (x y - z)`, where both sums are exact |
//! | `add_to_negative(x, y)` | `x + y` in lanes where the sign bit of `x` is set, else `x` |
//! | `add_words`, `sub_words`, `and`, `or`, `xor` | of words, wrapping |
//! | `add_words_to_negative` | as `add_to_negative`, of words |
//! | `subtract_once(x, y)` | `x - y`, or `x` in lanes where that is negative; both below `2^63` |
//! | `shift_right(x, n)` | words shifted by `n` bits, zeros in front |
//! | `to_bits`, `from_bits` | floats as words of their bits, and back |
//! | `unpack_low(x, y)`, `unpack_high` | lanes x0 y0 x2 y2, and x1 y1 x3 y3 |
//! | `low_halves(x, y)`, `high_halves` | lanes x0 x1 y0 y1, and x2 x3 y2 y3 |
//! | `swap_middle(x)` | lanes x0 x2 x1 x3 |
//! | `load`, `store`, `load_floats`, `store_floats` | four words or floats, without alignment |
//! | `stream` | as `store`, past the caches if the CPU can, at a multiple of 32 bytes |
//! | `end_stream` | ends such stores: other threads see the words after it |
//! | `unpack_words(p, second, places)` | four words: two at `p`, two `second` bytes later |
//! | `places(width)` | what that takes for words of `width` bytes |
//! | `floats_of_i32` | four integers in memory, as floats |
//!
//! Rounding is in two steps so that others can stand between them. Here `c` is `1.5 * 2^52` in
//! every lane, and `x y` at most `2^51` in size. It may be rounded to a double before it is rounded
//! to an integer.
//!
//! `GROUPS` says how many transforms of 16 words stand side by side, so that products wait less for
//! one another. `NAME` is the name of the backends, and `available()` says if this CPU has the
//! operations. Code for x86-64 is compiled for them by attributes: AArch64 always has its own.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::*;
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::*;
