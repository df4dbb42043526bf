//! Vectors of eight doubles: the CPU operations that the transform needs.

/// Eight doubles.
///
/// Values are made only by `splat` and `load`, whose callers vouch for the CPU. Operations on a
/// value are therefore safe.
pub(super) trait Vector: Copy {
    /// `x` eight times.
    ///
    /// # Safety
    /// The CPU has the features of the type. The same holds for all functions here that make a
    /// value.
    unsafe fn splat(x: f64) -> Self;
    /// Reads eight numbers from `p`.
    ///
    /// # Safety
    /// As [`Vector::splat`], and the numbers are readable.
    unsafe fn load(p: *const f64) -> Self;
    /// Reads eight integers from `p`.
    ///
    /// # Safety
    /// As [`Vector::splat`], and the integers are readable.
    unsafe fn load_i32(p: *const i32) -> Self;
    /// Writes eight numbers to `p`.
    ///
    /// # Safety
    /// The numbers are writable.
    unsafe fn store(self, p: *mut f64);

    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    /// `self * b + c`, rounded once on CPUs with a fused multiply-add.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `c - self * b`, as [`Vector::mul_add`].
    fn neg_mul_add(self, b: Self, c: Self) -> Self;
    /// Entry `i` of the `j`-th result is entry `j` of the `i`-th argument.
    fn transpose(rows: [Self; 8]) -> [Self; 8];

    /// Adds `self - round(self)`, in units of `2^-64`, to eight words, wrapping.
    ///
    /// # Safety
    /// The words are readable and writable.
    unsafe fn add_fraction_64(self, p: *mut u64);
    /// As [`Vector::add_fraction_64`], in units of `2^-32`.
    ///
    /// # Safety
    /// The words are readable and writable.
    unsafe fn add_fraction_32(self, p: *mut u32);
}

pub(super) const TWO_32: f64 = 4_294_967_296.0;
pub(super) const TWO_64: f64 = TWO_32 * TWO_32;

/// Eight complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Complex<V> {
    pub(super) re: V,
    pub(super) im: V,
}

impl<V: Vector> Complex<V> {
    /// # Safety
    /// As [`Vector::load`]: eight real parts from `p`, then eight imaginary ones.
    #[inline(always)]
    pub(super) unsafe fn load(p: *const f64) -> Self {
        // SAFETY: by the caller.
        unsafe {
            Self {
                re: V::load(p),
                im: V::load(p.add(8)),
            }
        }
    }

    /// One complex number, (re, im), in all lanes.
    ///
    /// # Safety
    /// As [`Vector::splat`], and two numbers are readable.
    #[inline(always)]
    pub(super) unsafe fn splat(p: *const f64) -> Self {
        // SAFETY: by the caller.
        unsafe {
            Self {
                re: V::splat(*p),
                im: V::splat(*p.add(1)),
            }
        }
    }

    /// # Safety
    /// Sixteen numbers are writable.
    #[inline(always)]
    pub(super) unsafe fn store(self, p: *mut f64) {
        // SAFETY: by the caller.
        unsafe {
            self.re.store(p);
            self.im.store(p.add(8));
        }
    }

    #[inline(always)]
    pub(super) fn add(self, b: Self) -> Self {
        Self {
            re: self.re.add(b.re),
            im: self.im.add(b.im),
        }
    }

    #[inline(always)]
    pub(super) fn sub(self, b: Self) -> Self {
        Self {
            re: self.re.sub(b.re),
            im: self.im.sub(b.im),
        }
    }

    /// `self * b`.
    #[inline(always)]
    pub(super) fn mul(self, b: Self) -> Self {
        Self {
            re: self.im.neg_mul_add(b.im, self.re.mul(b.re)),
            im: self.im.mul_add(b.re, self.re.mul(b.im)),
        }
    }

    /// `self` times the conjugate of `b`.
    #[inline(always)]
    pub(super) fn mul_conjugate(self, b: Self) -> Self {
        Self {
            re: self.im.mul_add(b.im, self.re.mul(b.re)),
            im: self.re.neg_mul_add(b.im, self.im.mul(b.re)),
        }
    }

    /// `self + a * b`.
    #[inline(always)]
    pub(super) fn add_product(self, a: Self, b: Self) -> Self {
        Self {
            re: a.im.neg_mul_add(b.im, a.re.mul_add(b.re, self.re)),
            im: a.im.mul_add(b.re, a.re.mul_add(b.im, self.im)),
        }
    }

    /// `(self + i b, self - i b)`.
    #[inline(always)]
    fn turned(self, b: Self) -> (Self, Self) {
        let plus = Self {
            re: self.re.sub(b.im),
            im: self.im.add(b.re),
        };
        let minus = Self {
            re: self.re.add(b.im),
            im: self.im.sub(b.re),
        };
        (plus, minus)
    }
}

/// `y_c = sum over k of i^(ck) x_k`; with `INVERSE`, of `i^(-ck)`.
#[inline(always)]
pub(super) fn transform_4<V: Vector, const INVERSE: bool>(
    [x0, x1, x2, x3]: [Complex<V>; 4],
) -> [Complex<V>; 4] {
    let (a, b) = (x0.add(x2), x0.sub(x2));
    let (c, d) = (x1.add(x3), x1.sub(x3));
    let (plus, minus) = b.turned(d);
    let (y1, y3) = if INVERSE {
        (minus, plus)
    } else {
        (plus, minus)
    };
    [a.add(c), y1, a.sub(c), y3]
}

/// `y_c = sum over k of z^(ck) x_k` with `z = e^(i pi / 4)`, or its conjugate with `INVERSE`;
/// `half` is `sqrt(1/2)`.
#[inline(always)]
pub(super) fn transform_8<V: Vector, const INVERSE: bool>(
    x: [Complex<V>; 8],
    half: V,
) -> [Complex<V>; 8] {
    let [e0, e1, e2, e3] = transform_4::<V, INVERSE>([x[0], x[2], x[4], x[6]]);
    let [o0, o1, o2, o3] = transform_4::<V, INVERSE>([x[1], x[3], x[5], x[7]]);
    // z (a + ib) = ((a - b) + i (a + b)) / sqrt 2, and z^3 (a + ib) = (-(a + b) + i (a - b)) / sqrt
    // 2.
    let (d1, s1) = (o1.re.sub(o1.im), o1.re.add(o1.im));
    let (d3, s3) = (o3.re.sub(o3.im), o3.re.add(o3.im));
    let (y1, y5, y3, y7);
    if INVERSE {
        // Conjugates: ((a + b) + i (b - a)) / sqrt 2 and ((b - a) - i (a + b)) / sqrt 2.
        y1 = shifted(e1, half, [(s1, true), (d1, false)]);
        y5 = shifted(e1, half, [(s1, false), (d1, true)]);
        y3 = shifted(e3, half, [(d3, false), (s3, false)]);
        y7 = shifted(e3, half, [(d3, true), (s3, true)]);
    } else {
        y1 = shifted(e1, half, [(d1, true), (s1, true)]);
        y5 = shifted(e1, half, [(d1, false), (s1, false)]);
        y3 = shifted(e3, half, [(s3, false), (d3, true)]);
        y7 = shifted(e3, half, [(s3, true), (d3, false)]);
    }
    let (plus, minus) = e2.turned(o2);
    let (y2, y6) = if INVERSE {
        (minus, plus)
    } else {
        (plus, minus)
    };
    [e0.add(o0), y1, y2, y3, e0.sub(o0), y5, y6, y7]
}

/// `e` plus and minus `half` times the complex number with the given real and imaginary parts.
#[inline(always)]
fn shifted<V: Vector>(e: Complex<V>, half: V, [re, im]: [(V, bool); 2]) -> Complex<V> {
    Complex {
        re: shifted_part(e.re, half, re),
        im: shifted_part(e.im, half, im),
    }
}

/// `e` plus `half x`, or minus `half x`.
#[inline(always)]
fn shifted_part<V: Vector>(e: V, half: V, (x, plus): (V, bool)) -> V {
    if plus {
        x.mul_add(half, e)
    } else {
        x.neg_mul_add(half, e)
    }
}
