//! Kernels: the computations of waves on rows.

/// A computation on rows of `N` words. Each instruction of a wave reads some rows, writes others,
/// and has a few words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kernel {
    /// Transform from coefficients to the evaluation domain.
    Ntt,
    /// Transform from the evaluation domain to coefficients.
    Intt,
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a b` word by word.
    Mul,
    /// `sum_k left_k right_k` word by word. All left rows come first, then as many right rows.
    Dot,
    /// A row times the word `factor`.
    Scale,
    /// A [matrix](crate::Tables::matrices) of integers times a column of rows, modulo one prime.
    Combine,
    /// [Basis conversion](crate::Conversion) of rows modulo some primes to rows modulo other
    /// primes.
    Convert,
    /// Permutation of the words of a row. Some words are negated: see
    /// [`Tables::permutations`](crate::Tables::permutations).
    Permute,
    /// [`Op::Extract`](trace::Op::Extract): words from several rows. `at` and `entries` are
    /// [places](crate::Tables::places); the words `at_steps` and `entries_steps` are the steps by
    /// which their halves are rotated left. If `gap` is 0, there are no entries.
    Extract,
    /// [`Op::Round`](trace::Op::Round) from `prime` to the prime `to`.
    Round,
    /// [`Op::Digit`](trace::Op::Digit).
    Digit,
}

impl Kernel {
    /// All kernels.
    pub const ALL: [Self; 13] = [
        Self::Ntt,
        Self::Intt,
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Dot,
        Self::Scale,
        Self::Combine,
        Self::Convert,
        Self::Permute,
        Self::Extract,
        Self::Round,
        Self::Digit,
    ];

    /// Name of the kernel, which its implementations bear.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ntt => "ntt",
            Self::Intt => "intt",
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Dot => "dot",
            Self::Scale => "scale",
            Self::Combine => "combine",
            Self::Convert => "convert",
            Self::Permute => "permute",
            Self::Extract => "extract",
            Self::Round => "round",
            Self::Digit => "digit",
        }
    }

    /// Names of an instruction's own words. A prime is an index in the table of moduli. A matrix or
    /// conversion is an index among the matrices or conversions of the shape.
    pub fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Ntt | Self::Intt | Self::Add | Self::Sub | Self::Mul | Self::Dot => &["prime"],
            Self::Scale => &["prime", "factor"],
            Self::Combine => &["prime", "matrix"],
            Self::Convert => &["conversion"],
            Self::Permute => &["prime", "permutation"],
            Self::Extract => &["prime", "at", "at_steps", "entries", "entries_steps", "gap"],
            Self::Round => &["prime", "to"],
            Self::Digit => &["prime", "index", "bits", "count"],
        }
    }
}

/// A kernel with its numbers of rows: the unit that a machine compiles once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    /// The kernel.
    pub kernel: Kernel,
    /// Number of rows that an instruction reads. Numbers above 8 are rounded up to three leading
    /// bits, so that there are few shapes.
    pub reads: usize,
    /// Number of rows that an instruction writes, rounded up likewise.
    pub writes: usize,
}

/// Rounds a number of rows up to a number of three leading bits: 10, 12, 14, 16, 20, and so on.
/// Adds at most a fifth of the rows.
pub(crate) fn padded(rows: usize) -> usize {
    let step = 1 << rows.max(1).ilog2().saturating_sub(2);
    rows.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::padded;

    #[test]
    fn numbers_of_rows_are_rounded_up_a_little() {
        let found: Vec<usize> = (1..18).map(padded).collect();
        let expected = [1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 12, 12, 14, 14, 16, 16, 20];
        assert_eq!(found, expected);
        assert!((1..5000).all(|rows| (rows..=rows * 5 / 4).contains(&padded(rows))));
    }
}
