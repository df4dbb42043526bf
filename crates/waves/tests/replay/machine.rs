//! The meaning of a plan: a machine that executes it word by word.

use palladion_waves::{Conversion, Kernel, Plan, Shape, Stage, Tables, What};
use ring::{Modulus, NttTable};
use runtime::replay::{Outside, Sources};
use trace::{Op, Trace};

struct Machine<'a> {
    plan: &'a Plan,
    moduli: Vec<Modulus>,
    store: Vec<Vec<u64>>,
}

/// Executes a plan.
pub(crate) fn run(trace: &Trace, plan: &Plan, outside: &mut impl Outside) {
    let moduli = plan.primes.iter();
    let mut machine = Machine {
        plan,
        moduli: moduli.map(|&q| Modulus::new(q.into()).unwrap()).collect(),
        // Rows may hold anything at the beginning, except that of zeros.
        store: vec![vec![u64::MAX; plan.n]; plan.rows],
    };
    machine.store[Plan::ZERO as usize].fill(0);
    let sources = Sources::new(trace).unwrap();
    for wave in &plan.waves {
        for at in wave.first..wave.first + wave.count {
            match wave.what {
                What::Load => {
                    let load = &plan.loads[at];
                    let instruction = load.origin.of(trace);
                    let value = sources.value(instruction, outside).unwrap();
                    for (row, limb) in load.rows.iter().zip(value) {
                        machine.store[*row as usize].copy_from_slice(&limb);
                    }
                }
                What::Store => {
                    let store = &plan.stores[at];
                    let Op::Store { name, .. } = &store.origin.of(trace).op else {
                        panic!("the origin of a store is another operation")
                    };
                    let rows = store.rows.iter();
                    let limbs = rows.map(|row| machine.store[*row as usize].clone().into());
                    // The type is that of the value, which tests do not look at.
                    let ty = trace::Type::coeff(0..1);
                    outside.store(name, &ty, limbs.collect()).unwrap();
                }
                What::Run(stage) => machine.instruction(&plan.stages[stage], at),
            }
        }
    }
}

impl Machine<'_> {
    fn instruction(&mut self, stage: &Stage, at: usize) {
        let Shape {
            kernel,
            reads,
            writes,
        } = stage.shape;
        let rows = &stage.reads[at * reads..][..reads];
        let rows: Vec<Vec<u64>> = rows
            .iter()
            .map(|row| self.store[*row as usize].clone())
            .collect();
        let length = kernel.arguments().len();
        let words = &stage.arguments[at * length..][..length];
        let made = self.compute(stage.shape, &rows, words);
        assert!(made.len() <= writes);
        for (row, words) in stage.writes[at * writes..].iter().zip(made) {
            assert_eq!(words.len(), self.plan.n, "{kernel:?}");
            self.store[*row as usize] = words;
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
