//! An ordered set of NTT-friendly primes with their transform tables.

use crate::error::{Error, Result};
use kernels::{Modulus, NttTable, is_prime};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// RNS basis: pairwise different primes `q_i = 1 mod 2N`. Cheap to clone.
///
/// Two bases are equal if they have the same degree and the same moduli in the same order.
#[derive(Clone)]
pub struct Basis {
    n: usize,
    tables: Arc<[Arc<NttTable>]>,
    /// log2 of the product of the moduli. Predictions of noise ask for it at every operation.
    log2: f64,
}

impl Basis {
    /// Smallest ring degree: the kernels work on 16 words at a time.
    pub const MIN_DEGREE: usize = 1 << 4;
    /// Largest ring degree: the last entry of the security table.
    pub const MAX_DEGREE: usize = 1 << 17;

    /// Checks `moduli` and makes their transform tables.
    ///
    /// # Errors
    /// [`Error::Degree`], [`Error::EmptyBasis`], [`Error::NotNttFriendly`] and
    /// [`Error::RepeatedModulus`].
    pub fn new(n: usize, moduli: &[u64]) -> Result<Self> {
        let (min, max) = (Self::MIN_DEGREE, Self::MAX_DEGREE);
        if !n.is_power_of_two() || !(min..=max).contains(&n) {
            return Err(Error::Degree { n, min, max });
        }
        if moduli.is_empty() {
            return Err(Error::EmptyBasis);
        }
        let mut tables = Vec::with_capacity(moduli.len());
        for (index, &q) in moduli.iter().enumerate() {
            if let Some(i) = moduli[..index].iter().position(|&other| other == q) {
                return Err(Error::RepeatedModulus { i, j: index, q });
            }
            let not_friendly = Error::NotNttFriendly { index, q, n };
            if q % (2 * n as u64) != 1 || !is_prime(q) {
                return Err(not_friendly);
            }
            tables.push(shared_table(n, q).ok_or(not_friendly)?);
        }
        Ok(Self::of(n, tables.into()))
    }

    fn of(n: usize, tables: Arc<[Arc<NttTable>]>) -> Self {
        let log2 = |table: &Arc<NttTable>| (table.modulus().value() as f64).log2();
        Self {
            n,
            log2: tables.iter().map(log2).sum(),
            tables,
        }
    }

    /// Ring degree `N`.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of moduli.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// Always false: a basis has at least one modulus.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Transform tables, one per modulus.
    pub fn tables(&self) -> &[Arc<NttTable>] {
        &self.tables
    }

    /// Modulus `i`.
    pub fn modulus(&self, i: usize) -> &Modulus {
        self.tables[i].modulus()
    }

    /// The moduli in order.
    pub fn moduli(&self) -> impl ExactSizeIterator<Item = &Modulus> + '_ {
        self.tables.iter().map(|t| t.modulus())
    }

    /// The moduli as words.
    pub fn values(&self) -> Vec<u64> {
        self.moduli().map(Modulus::value).collect()
    }

    /// log2 of the product of the moduli.
    pub fn log2(&self) -> f64 {
        self.log2
    }

    /// A basis of the moduli of `range`. It shares the tables of this one.
    ///
    /// # Panics
    /// If the range is empty or reaches past the end.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        assert!(!range.is_empty(), "a basis has at least one modulus");
        Self::of(self.n, self.tables[range].into())
    }

    /// A basis of the first `len` moduli.
    pub fn prefix(&self, len: usize) -> Self {
        self.slice(0..len)
    }

    /// This basis followed by `other`. The result shares the tables of both.
    ///
    /// # Panics
    /// If the degrees differ.
    pub fn concat(&self, other: &Self) -> Self {
        assert_eq!(self.n, other.n, "bases of one ring have one degree");
        let tables = self.tables.iter().chain(other.tables.iter());
        Self::of(self.n, tables.cloned().collect())
    }

    /// Product of the moduli modulo `p`.
    pub fn product_mod(&self, p: &Modulus) -> u64 {
        self.moduli()
            .fold(1 % p.value(), |acc, q| p.mul(acc, p.reduce(q.value())))
    }
}

/// The transform table of a modulus. Bases that exist at the same time share it, whoever made them.
///
/// Parameters that differ in their digits or in the length of their chain have moduli in common.
/// The compiler compares dozens of such parameters for a network, and making tables took a sixth of
/// its time.
fn shared_table(n: usize, q: u64) -> Option<Arc<NttTable>> {
    type Tables = BTreeMap<(usize, u64), Weak<NttTable>>;
    static TABLES: Mutex<Tables> = Mutex::new(BTreeMap::new());
    let tables = || TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = tables().get(&(n, q)).and_then(Weak::upgrade) {
        return Some(table);
    }
    // Not under the lock, since it takes up to milliseconds.
    let table = Arc::new(NttTable::new(Modulus::new(q)?, n)?);
    let mut tables = tables();
    tables.retain(|_, table| table.strong_count() > 0);
    tables.insert((n, q), Arc::downgrade(&table));
    Some(table)
}

impl PartialEq for Basis {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tables, &other.tables)
            || (self.n == other.n && self.moduli().eq(other.moduli()))
    }
}

impl Eq for Basis {}

impl std::fmt::Debug for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Basis(N = {}, {:?})", self.n, self.values())
    }
}
