//! Numbers of several digits. Each block is a message, the lowest first.

use crate::error::{Error, Result};
use crate::integer::{Comparison, Integer, Table};
use crate::server::ServerKey;
use ring::torus::{Multiplier, Torus};

/// An encrypted number `sum x_i 2^(i message_bits)`. Every block is a message, without carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Radix<T> {
    blocks: Vec<Integer<T>>,
}

impl<T: Torus> Radix<T> {
    /// The number with the given blocks.
    ///
    /// # Errors
    /// [`Error::Blocks`] if there are none.
    pub fn new(blocks: Vec<Integer<T>>) -> Result<Self> {
        if blocks.is_empty() {
            return Err(Error::Blocks { left: 0, right: 0 });
        }
        Ok(Self { blocks })
    }

    /// The blocks.
    pub fn blocks(&self) -> &[Integer<T>] {
        &self.blocks
    }
}

/// The digits of a number.
pub(crate) fn digits(number: u64, blocks: usize, messages: u64) -> Result<Vec<u64>> {
    if blocks == 0 {
        return Err(Error::Blocks { left: 0, right: 0 });
    }
    let bits = messages.ilog2();
    let digit = |i: usize| {
        number
            .checked_shr((i as u32).saturating_mul(bits))
            .unwrap_or(0)
            % messages
    };
    let all = (blocks as u64).saturating_mul(bits.into());
    if all < 64 && number >> all != 0 {
        return Err(Error::Message {
            found: number,
            limit: (1 << all) - 1,
        });
    }
    Ok((0..blocks).map(digit).collect())
}

type Pair<'a, T> = (&'a Radix<T>, &'a Radix<T>);

impl<T: Torus, M: Multiplier<T>> ServerKey<T, M> {
    /// A constant number, not encrypted: everyone can read it.
    ///
    /// # Errors
    /// [`Error::Encoding`]; [`Error::Message`] for a number that does not fit.
    pub fn constant_radix(&self, number: u64, blocks: usize) -> Result<Radix<T>> {
        self.params().check_integers()?;
        let digits = digits(number, blocks, self.params().messages())?;
        Radix::new(
            digits
                .into_iter()
                .map(|d| self.constant(d))
                .collect::<Result<_>>()?,
        )
    }

    /// `x + y` modulo `2^bits`, with two bootstrappings per block. One of them waits for the same
    /// one of the block before.
    ///
    /// # Errors
    /// [`Error::Blocks`], [`Error::Carry`] for parameters without carry bits,
    /// [`Error::Fingerprint`], [`Error::Encoding`].
    pub fn add_radix(&self, x: &Radix<T>, y: &Radix<T>) -> Result<Radix<T>> {
        let (x, y) = self.operands((x, y))?;
        let messages = self.params().messages();
        let carry = Table::of(self.params(), |v| v / messages)?;
        self.chain(&x, &y, &carry, |(x, y), carry| {
            self.block(&[(1, x), (1, y)], (1, carry), 0, 2 * messages - 1)
        })
    }

    /// `x - y` modulo `2^bits`, at the cost of [`add_radix`](Self::add_radix).
    ///
    /// # Errors
    /// As [`add_radix`](Self::add_radix).
    pub fn sub_radix(&self, x: &Radix<T>, y: &Radix<T>) -> Result<Radix<T>> {
        let (x, y) = self.operands((x, y))?;
        let borrow = self.borrow(1)?;
        self.chain(&x, &y, &borrow, |pair, borrow| {
            self.difference(pair, borrow)
        })
    }

    /// `x < y`, 0 or 1, with one bootstrapping per block, in sequence.
    ///
    /// # Errors
    /// As [`add_radix`](Self::add_radix).
    pub fn less_radix(&self, x: &Radix<T>, y: &Radix<T>) -> Result<Integer<T>> {
        let (x, y) = self.operands((x, y))?;
        self.last_borrow(&x, &y, 1)
    }

    /// The result of a comparison of two numbers, 0 or 1.
    ///
    /// # Errors
    /// As [`add_radix`](Self::add_radix).
    pub fn compare_radix(
        &self,
        comparison: Comparison,
        x: &Radix<T>,
        y: &Radix<T>,
    ) -> Result<Integer<T>> {
        let not = |bit: Integer<T>| self.combination(&[(-1, &bit)], 1, 1);
        match comparison {
            Comparison::Less => self.less_radix(x, y),
            Comparison::Greater => self.less_radix(y, x),
            Comparison::GreaterOrEqual => not(self.less_radix(x, y)?),
            Comparison::LessOrEqual => not(self.less_radix(y, x)?),
            Comparison::Equal => self.equal_radix(x, y),
            Comparison::NotEqual => not(self.equal_radix(x, y)?),
        }
    }

    /// `x == y`, with one bootstrapping per block and some for the conjunction.
    fn equal_radix(&self, x: &Radix<T>, y: &Radix<T>) -> Result<Integer<T>> {
        let (x, y) = self.operands((x, y))?;
        let messages = self.params().messages();
        let table = Table::of(self.params(), |v| u64::from(v == messages))?;
        let pairs = x.blocks.iter().zip(&y.blocks);
        let differences = pairs
            .map(|pair| self.difference(pair, None))
            .collect::<Result<Vec<_>>>()?;
        let mut equal = self.apply_each(&differences, &table)?;
        let most = self.params().max_noise().min(self.params().values() - 1) as usize;
        while equal.len() > 1 {
            let mut sums = Vec::new();
            let mut tables = Vec::new();
            for some in equal.chunks(most) {
                let terms: Vec<_> = some.iter().map(|e| (1, e)).collect();
                sums.push(self.combination(&terms, 0, some.len() as u64)?);
                tables.push(Table::of(self.params(), |v| {
                    u64::from(v == some.len() as u64)
                })?);
            }
            let jobs: Vec<_> = sums.iter().zip(&tables).collect();
            equal = self
                .apply_all(&jobs)?
                .into_iter()
                .map(|mut out| out.remove(0))
                .collect();
        }
        Ok(equal.remove(0))
    }

    /// The smaller and the larger of two numbers: a comparison, and some bootstrappings per block.
    /// With two carry bits or more it is one per block: it gives `x - y` or 0, which leads from `y`
    /// to the smaller and from `x` to the larger number. With one carry bit it is four.
    ///
    /// # Errors
    /// As [`add_radix`](Self::add_radix).
    pub fn min_max_radix(&self, x: &Radix<T>, y: &Radix<T>) -> Result<(Radix<T>, Radix<T>)> {
        let (x, y) = self.operands((x, y))?;
        let (params, messages) = (self.params(), self.params().messages());
        let blocks = || x.blocks.iter().zip(&y.blocks);
        if params.values() < 4 * messages {
            return self.min_max_by_halves(&x, &y);
        }
        // The last borrow is encoded above the differences, whose own range is 1 to 2 messages - 1.
        let less = self.last_borrow(&x, &y, 2 * messages)?;
        let index = |(x, y)| {
            self.block(
                &[(1, x), (-1, y)],
                (1, Some(&less)),
                messages,
                4 * messages - 1,
            )
        };
        let indices = blocks().map(index).collect::<Result<Vec<_>>>()?;
        let (m, above) = (messages as i64, 2 * messages);
        let kept = |v: u64| if v >= above { v as i64 - 3 * m } else { 0 };
        let table = Table::signed(
            params,
            &[(0..params.values()).map(kept).collect()],
            vec![messages - 1],
        )?;
        let kept = self.apply_each(&indices, &table)?;
        let mut smaller = Vec::new();
        let mut larger = Vec::new();
        for ((x, y), kept) in blocks().zip(&kept) {
            smaller.push(self.combination(&[(1, y), (1, kept)], 0, messages - 1)?);
            larger.push(self.combination(&[(1, x), (-1, kept)], 0, messages - 1)?);
        }
        Ok((Radix::new(smaller)?, Radix::new(larger)?))
    }

    /// Each result as a sum of two halves, one of which is 0.
    fn min_max_by_halves(&self, x: &Radix<T>, y: &Radix<T>) -> Result<(Radix<T>, Radix<T>)> {
        let messages = self.params().messages();
        let less = self.last_borrow(x, y, messages)?;
        let keep = |if_less: bool| {
            Table::of(self.params(), |v| {
                if (v >= messages) == if_less {
                    v % messages
                } else {
                    0
                }
            })
        };
        let (if_less, unless) = (keep(true)?, keep(false)?);
        let index = |x: &Integer<T>| self.block(&[(1, x)], (1, Some(&less)), 0, 2 * messages - 1);
        let chosen = |of_less: &Radix<T>, of_rest: &Radix<T>| -> Result<Radix<T>> {
            let first = of_less
                .blocks
                .iter()
                .map(index)
                .collect::<Result<Vec<_>>>()?;
            let second = of_rest
                .blocks
                .iter()
                .map(index)
                .collect::<Result<Vec<_>>>()?;
            let first = self.apply_each(&first, &if_less)?;
            let second = self.apply_each(&second, &unless)?;
            let sums = first
                .iter()
                .zip(&second)
                .map(|(f, s)| self.combination(&[(1, f), (1, s)], 0, messages - 1));
            Radix::new(sums.collect::<Result<_>>()?)
        };
        Ok((chosen(x, y)?, chosen(y, x)?))
    }

    /// The operands with one length, and with so little noise that both and a carry fit before a
    /// bootstrapping.
    fn operands(&self, (x, y): Pair<'_, T>) -> Result<(Radix<T>, Radix<T>)> {
        let (left, right) = (x.blocks.len(), y.blocks.len());
        if left != right {
            return Err(Error::Blocks { left, right });
        }
        let limit = self.params().max_noise();
        let noise = |r: &Radix<T>| r.blocks.iter().map(Integer::noise).max().unwrap_or(0);
        let fits = |x: u64, y: u64| x + y < limit;
        let (x_noise, y_noise) = (noise(x), noise(y));
        let (x, y) = match (fits(x_noise, y_noise), fits(x_noise, 1), fits(1, y_noise)) {
            (true, ..) => (x.clone(), y.clone()),
            (_, true, _) => (x.clone(), self.refresh(y)?),
            (.., true) => (self.refresh(x)?, y.clone()),
            _ => (self.refresh(x)?, self.refresh(y)?),
        };
        Ok((x, y))
    }

    /// The same number with the noise of a bootstrapping's output.
    fn refresh(&self, x: &Radix<T>) -> Result<Radix<T>> {
        let messages = self.params().messages();
        Radix::new(self.apply_each(&x.blocks, &Table::of(self.params(), |v| v % messages)?)?)
    }

    fn apply_each(&self, values: &[Integer<T>], table: &Table<T>) -> Result<Vec<Integer<T>>> {
        let jobs: Vec<_> = values.iter().map(|v| (v, table)).collect();
        Ok(self
            .apply_all(&jobs)?
            .into_iter()
            .map(|mut out| out.remove(0))
            .collect())
    }

    /// A linear combination of blocks, at most `max`, with the carry of the block before if there
    /// is one.
    fn block(
        &self,
        terms: &[(i64, &Integer<T>)],
        (factor, carry): (i64, Option<&Integer<T>>),
        constant: u64,
        max: u64,
    ) -> Result<Integer<T>> {
        let mut terms = terms.to_vec();
        terms.extend(carry.map(|c| (factor, c)));
        self.combination(&terms, constant as i64, max)
    }

    /// `x + messages - y - borrow`, from 0 to `2 messages - 1`. It is below `messages` if the next
    /// block must lend.
    fn difference(
        &self,
        (x, y): (&Integer<T>, &Integer<T>),
        borrow: Option<&Integer<T>>,
    ) -> Result<Integer<T>> {
        let messages = self.params().messages();
        self.block(&[(1, x), (-1, y)], (-1, borrow), messages, 2 * messages - 1)
    }

    /// The table that maps a difference to `value` if it borrows, and to 0 otherwise.
    fn borrow(&self, value: u64) -> Result<Table<T>> {
        let messages = self.params().messages();
        Table::of(self.params(), |v| if v < messages { value } else { 0 })
    }

    /// `value` if `x < y`, otherwise 0.
    fn last_borrow(&self, x: &Radix<T>, y: &Radix<T>, value: u64) -> Result<Integer<T>> {
        let (one, last) = (self.borrow(1)?, self.borrow(value)?);
        let mut borrow = None;
        for (i, pair) in x.blocks.iter().zip(&y.blocks).enumerate() {
            let table = if i + 1 == x.blocks.len() { &last } else { &one };
            borrow = Some(self.apply(&self.difference(pair, borrow.as_ref())?, table)?);
        }
        Ok(borrow.expect("a number has a block"))
    }

    /// Combines blocks with the carry of the block before, in sequence; then takes the messages of
    /// all at once.
    fn chain(
        &self,
        x: &Radix<T>,
        y: &Radix<T>,
        carry_of: &Table<T>,
        combine: impl Fn((&Integer<T>, &Integer<T>), Option<&Integer<T>>) -> Result<Integer<T>>,
    ) -> Result<Radix<T>> {
        let mut sums: Vec<Integer<T>> = Vec::new();
        for pair in x.blocks.iter().zip(&y.blocks) {
            let carry = sums
                .last()
                .map(|sum| self.apply(sum, carry_of))
                .transpose()?;
            sums.push(combine(pair, carry.as_ref())?);
        }
        self.refresh(&Radix { blocks: sums })
    }
}
