//! What a wave does to its rows.

/// A computation on rows of `N` words. Each instruction of a wave reads some rows, writes others,
/// and has a few words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kernel {
    /// From coefficients to the evaluation domain.
    Ntt,
    /// From the evaluation domain to coefficients.
    Intt,
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a b` word by word.
    Mul,
    /// `sum_k left_k right_k` word by word. The left rows come first, then as many right ones.
    Dot,
    /// A row times the word `factor`.
    Scale,
    /// A [matrix](crate::Tables::matrices) of integers times a column of rows, modulo one prime.
    Combine,
    /// [Basis conversion](crate::Conversion): from rows modulo some primes to rows modulo others.
    Convert,
    /// A row with its words in other places, some of them negated: see
    /// [`Tables::permutations`](crate::Tables::permutations).
    Permute,
    /// [`Op::Extract`](trace::Op::Extract): words from several rows. `at` and `entries`
    /// are [places](crate::Tables::places), each of whose halves is rotated left by as many steps
    /// as the next word says. If `gap` is 0, there are no entries.
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

    /// Name of the kernel, as implementations of it are named.
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

    /// Names of an instruction's own words. A prime is given by its index in the table of moduli,
    /// matrices and conversions by their index among those of the shape.
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

/// A kernel with numbers of rows: what a machine compiles once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    /// The kernel.
    pub kernel: Kernel,
    /// Rows that an instruction reads. Numbers above 8 are rounded up to three leading bits, so
    /// that there are few shapes.
    pub reads: usize,
    /// Rows that it writes, rounded up likewise.
    pub writes: usize,
}

/// Rounds a number of rows up to one of three leading bits: 10, 12, 14, 16, 20, and so on. At most
/// a fifth of the rows is added.
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
