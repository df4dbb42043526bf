//! A toy backend, as `docs/backends.md` describes it. It is the meaning of a plan: it executes each
//! instruction word by word.

use palladion_executor::{Result, RowMachine, Rows};
use ring::{Modulus, NttTable};
use std::ops::Range;
use waves::{Conversion, Kernel, Plan, Shape, Tables};

/// A machine that computes one word after the other, as the kernels are defined. Its stores are
/// vectors.
pub(crate) struct Toy {
    plan: Plan,
    moduli: Vec<Modulus>,
    /// Rows of each query.
    stores: Vec<Vec<Vec<u64>>>,
}

impl Toy {
    /// The executor of this machine, for one query.
    pub(crate) fn executor(window: usize) -> Rows<impl Fn(&Plan) -> Result<Self>> {
        Self::of_queries(1, window)
    }

    /// As [`Toy::executor`], for several queries at the same time.
    pub(crate) fn of_queries(
        queries: usize,
        window: usize,
    ) -> Rows<impl Fn(&Plan) -> Result<Self>> {
        let new = move |plan: &Plan| {
            let moduli = plan.primes.iter().map(|&q| Modulus::new(q.into()).unwrap());
            let moduli = moduli.collect();
            let (plan, stores) = (plan.clone(), vec![Vec::new(); queries]);
            Ok(Self {
                plan,
                moduli,
                stores,
            })
        };
        Rows::new("toy", new).window(window)
    }
}

impl RowMachine for Toy {
    fn queries(&self) -> usize {
        self.stores.len()
    }

    fn begin(&mut self) -> Result<()> {
        // Rows may hold anything at the beginning, except that of zeros.
        for store in &mut self.stores {
            *store = vec![vec![u64::MAX; self.plan.n]; self.plan.rows];
            store[Plan::ZERO as usize].fill(0);
        }
        Ok(())
    }

    fn write(&mut self, load: usize, words: &[Vec<u32>]) -> Result<()> {
        for (query, store) in self.stores.iter_mut().enumerate() {
            let words = &words[query.min(words.len() - 1)];
            let rows = self.plan.loads[load].rows.iter();
            for (&row, limb) in rows.zip(words.chunks(self.plan.n)) {
                store[row as usize] = limb.iter().map(|&word| word.into()).collect();
            }
        }
        Ok(())
    }

    fn run(&mut self, stage: usize, instructions: Range<usize>) -> Result<()> {
        for query in 0..self.stores.len() {
            for at in instructions.clone() {
                self.instruction(query, stage, at);
            }
        }
        Ok(())
    }

    fn read(&mut self, store: usize) -> Result<Vec<Vec<u32>>> {
        let rows = &self.plan.stores[store].rows;
        let words = |store: &Vec<Vec<u64>>| {
            let words = rows.iter().flat_map(|&row| &store[row as usize]);
            words.map(|&word| word as u32).collect()
        };
        Ok(self.stores.iter().map(words).collect())
    }
}

impl Toy {
    fn instruction(&mut self, query: usize, stage: usize, at: usize) {
        let stage = &self.plan.stages[stage];
        let Shape {
            kernel,
            reads,
            writes,
        } = stage.shape;
        let store = &self.stores[query];
        let rows = stage.reads[at * reads..][..reads].iter();
        let rows: Vec<Vec<u64>> = rows.map(|&row| store[row as usize].clone()).collect();
        let length = kernel.arguments().len();
        let words = &stage.arguments[at * length..][..length];
        let results = self.compute(stage.shape, &rows, words);
        assert!(results.len() <= writes);
        let targets = stage.writes[at * writes..].to_vec();
        for (row, words) in targets.into_iter().zip(results) {
            assert_eq!(words.len(), self.plan.n, "{kernel:?}");
            self.stores[query][row as usize] = words;
        }
    }

    fn q(&self, index: u32) -> &Modulus {
        &self.moduli[index as usize]
    }

    /// `work` on the words at one place of all rows.
    fn each(&self, rows: &[Vec<u64>], work: impl Fn(&[u64]) -> u64) -> Vec<Vec<u64>> {
        let column = |i: usize| rows.iter().map(|row| row[i]).collect::<Vec<u64>>();
        vec![(0..self.plan.n).map(|i| work(&column(i))).collect()]
    }

    fn compute(&self, shape: Shape, rows: &[Vec<u64>], words: &[u32]) -> Vec<Vec<u64>> {
        let tables = &self.plan.tables;
        let q = self.q(match shape.kernel {
            Kernel::Convert => 0,
            _ => words[0],
        });
        match shape.kernel {
            Kernel::Ntt | Kernel::Intt => {
                let table = NttTable::new(*q, self.plan.n).unwrap();
                let mut made = rows[0].clone();
                match shape.kernel {
                    Kernel::Ntt => kernels::kernels().ntt(&table, &mut made),
                    _ => kernels::kernels().intt(&table, &mut made),
                }
                vec![made]
            }
            Kernel::Add => self.each(rows, |x| q.add(x[0], x[1])),
            Kernel::Sub => self.each(rows, |x| q.sub(x[0], x[1])),
            Kernel::Mul => self.each(rows, |x| q.mul(x[0], x[1])),
            Kernel::Dot => self.each(rows, |x| {
                let (left, right) = x.split_at(shape.reads / 2);
                let terms = left.iter().zip(right);
                terms.fold(0, |sum, (&a, &b)| q.add(sum, q.mul(a, b)))
            }),
            Kernel::Scale => self.each(rows, |x| q.mul(x[0], words[1].into())),
            Kernel::Combine => {
                let matrix = &tables.matrices[&shape][words[1] as usize];
                let row = |row: &[u32]| self.each(rows, |x| dot(q, row, x)).remove(0);
                matrix.chunks(shape.reads).map(row).collect()
            }
            Kernel::Convert => {
                self.convert(&tables.conversions[&shape][words[0] as usize], shape, rows)
            }
            Kernel::Permute => {
                let index = tables.permutations[words[1] as usize].iter();
                let word = |&at: &u32| {
                    let word = rows[0][(at & !Tables::NEGATIVE) as usize];
                    if at & Tables::NEGATIVE == 0 {
                        word
                    } else {
                        q.neg(word)
                    }
                };
                vec![index.map(word).collect()]
            }
            Kernel::Extract => vec![self.extract(q, rows, words)],
            Kernel::Round => {
                let (q, t) = (u128::from(q.value()), u128::from(self.q(words[1]).value()));
                self.each(rows, |x| ((u128::from(x[0]) * t + q / 2) / q % t) as u64)
            }
            Kernel::Digit => self.each(rows, |x| {
                let [index, bits, count] = [words[1], words[2], words[3]];
                let centred = q.center(x[0]);
                let mut rest = centred.abs();
                let mut digit = 0;
                for j in 0..=index {
                    digit = rest & ((1 << bits) - 1);
                    if digit >= 1 << (bits - 1) {
                        digit -= 1 << bits;
                    }
                    if j + 1 == count {
                        digit = rest;
                    }
                    rest = (rest - digit) >> bits;
                }
                q.from_i64(digit * centred.signum())
            }),
        }
    }

    fn convert(&self, table: &Conversion, shape: Shape, rows: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let mut scaled: Vec<Vec<u64>> = (0..shape.reads)
            .map(|i| {
                let q = self.q(table.from[i]);
                let factor = u64::from(table.hat_inverse[i]);
                rows[i]
                    .iter()
                    .map(|&x| q.mul(q.reduce(x), factor))
                    .collect()
            })
            .collect();
        let quotient = self.each(&scaled, |y| {
            if let [y] = y {
                return u64::from(2 * y >= self.q(table.from[0]).value());
            }
            let terms = y.iter().zip(&table.from).map(|(y, &from)| {
                let q = self.q(from);
                let m = ((1u128 << (31 + q.bits())) / u128::from(q.value())) as u64;
                ((y << (32 - q.bits())) * m) >> 7
            });
            terms.fold(1 << 55, |sum, term| sum + term) >> 56
        });
        scaled.extend(quotient);
        let to = table.to.iter().zip(table.matrix.chunks(shape.reads + 1));
        let row =
            |(&to, row): (&u32, &[u32])| self.each(&scaled, |x| dot(self.q(to), row, x)).remove(0);
        to.map(row).collect()
    }

    fn extract(&self, q: &Modulus, rows: &[Vec<u64>], words: &[u32]) -> Vec<u64> {
        let &[_, at, at_steps, entries, entries_steps, gap] = words else {
            panic!("an extraction has six words")
        };
        let n = self.plan.n;
        let turned = |index: u32, steps: u32| {
            let mut places = self.plan.tables.places[index as usize].clone();
            let halves = places.chunks_mut(n / 2);
            halves.for_each(|half| half.rotate_left(steps as usize));
            places
        };
        let (at, entries) = (turned(at, at_steps), turned(entries, entries_steps));
        let word = |(&at, &entry): (&i32, &i32)| {
            if at < 0 {
                return 0;
            }
            let exponent = match gap {
                0 => 0,
                _ => entry as usize * gap as usize % (2 * n),
            };
            let from = (at as usize % n + 2 * n - exponent) % (2 * n);
            let word = rows[at as usize / n][from % n];
            if from < n { word } else { q.neg(word) }
        };
        at.iter().zip(&entries).map(word).collect()
    }
}

/// The sum of integers times words, modulo a prime.
fn dot(q: &Modulus, factors: &[u32], words: &[u64]) -> u64 {
    let terms = factors.iter().zip(words);
    terms.fold(0, |sum, (&factor, &word)| {
        q.add(sum, q.mul(q.reduce(factor.into()), q.reduce(word)))
    })
}
