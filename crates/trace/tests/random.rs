//! Random valid traces.

use trace::{Builder, Constant, Domain, Limbs, Op, SubId, Trace, TraceBuilder, Type, ValueId};

/// Ring degree: the smallest.
pub(crate) const N: usize = 16;

/// Primes of 7 to 60 bits. All are 1 modulo 32, except the one at [`ODD`].
pub(crate) const MODULI: [u64; 8] = [
    97,
    193,
    1_073_741_441,
    8_589_934_049,
    1_125_899_906_842_273,
    1_152_921_504_606_845_473,
    101,
    257,
];

/// Index of the modulus of which values are only coefficients.
pub(crate) const ODD: usize = 6;

/// Exponents of the powers of two after the primes. The first power is twice the ring degree.
pub(crate) const POWERS: [u32; 3] = [5, 64, 12];

/// A table of moduli for random traces.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    /// Eight primes as [`MODULI`]: the first is the smallest, and that at [`ODD`] has no root.
    pub(crate) moduli: &'static [u64],
    /// None, or powers as [`POWERS`].
    pub(crate) powers: &'static [u32],
}

/// The table of [`MODULI`] and [`POWERS`].
pub(crate) const TABLE: Table = Table {
    moduli: &MODULI,
    powers: &POWERS,
};

impl Table {
    /// The largest residue of a modulus.
    pub(crate) fn greatest(&self, modulus: usize) -> u64 {
        match self.moduli.get(modulus) {
            Some(q) => q - 1,
            None => u64::MAX >> (64 - self.powers[modulus - self.moduli.len()]),
        }
    }

    fn odd(&self) -> Limbs {
        Limbs::from(0..self.moduli.len())
    }

    fn powers(&self) -> Limbs {
        Limbs::from(self.moduli.len()..self.moduli.len() + self.powers.len())
    }

    fn all(&self) -> Limbs {
        self.odd().union(&self.powers())
    }
}

/// Choices, made by numbers that a property test draws. After the last number, all choices are 0.
pub(crate) struct Choices<'a> {
    table: Table,
    numbers: std::slice::Iter<'a, u32>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(table: Table, numbers: &'a [u32]) -> Self {
        let numbers = numbers.iter();
        Self { table, numbers }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.numbers.next().map_or(0, |&n| n as usize % bound)
    }

    fn word(&mut self, q: u64) -> u64 {
        self.any() % q
    }

    fn any(&mut self) -> u64 {
        let [high, low] = [1 << 32, 1 << 32].map(|bound| self.below(bound) as u64);
        high << 32 | low
    }

    /// A random residue.
    fn residue(&mut self, modulus: usize) -> u64 {
        match self.table.greatest(modulus) {
            u64::MAX => self.any(),
            greatest => self.word(greatest + 1),
        }
    }

    fn limbs(&mut self, among: &Limbs) -> Limbs {
        let chosen = among.iter().filter(|_| self.below(2) == 1);
        let chosen = Limbs::new(chosen.map(|limb| limb..limb + 1));
        if chosen.is_empty() {
            let limb = among.iter().nth(self.below(among.len())).unwrap();
            return Limbs::one(limb);
        }
        chosen
    }

    fn ty(&mut self) -> Type {
        let odd = self.table.odd();
        match self.below(8) {
            0 if !self.table.powers.is_empty() => Type::coeff(Limbs::one(odd.len())),
            1 => Type::coeff(self.limbs(&self.table.all())),
            0..4 => Type::coeff(self.limbs(&odd)),
            _ => Type::eval(self.limbs(&odd.minus(&Limbs::one(ODD)))),
        }
    }
}

/// Makes a trace with at most two sub-traces. Every operation can occur.
pub(crate) fn trace(numbers: &[u32]) -> Trace {
    trace_over(TABLE, numbers)
}

/// As [`trace`], over another table. Without powers, operations that need one do not occur.
pub(crate) fn trace_over(table: Table, numbers: &[u32]) -> Trace {
    let mut choices = Choices::new(table, numbers);
    let c = &mut choices;
    let mut builder = TraceBuilder::new(N, table.moduli).unwrap();
    for &bits in table.powers {
        builder.power(bits).unwrap();
    }
    let mut main = builder.main();
    let mut subs = Vec::new();
    for name in ["inner.1", "outer/2"].into_iter().take(c.below(3)) {
        let parameters: Vec<Type> = (0..c.below(3)).map(|_| c.ty()).collect();
        let sub = main.sub_trace(name, &parameters, |body| {
            (0..c.below(6)).for_each(|_| step(body, &subs, c, false));
            let made = body.values().len();
            let results = 0..if made > 0 { c.below(3) } else { 0 };
            results.map(|_| c.below(made)).collect()
        });
        subs.push((sub, parameters));
    }
    for index in 0..1 + c.below(3) {
        let ty = c.ty();
        main.load(format!("in/{index}"), ty);
    }
    for index in 0..c.below(24) {
        if c.below(4) == 1 {
            main.begin_step(&format!("layer {index}: mul"));
        }
        step(&mut main, &subs, c, true);
    }
    for value in 0..main.values().len() {
        if c.below(3) == 1 {
            main.store(format!("out/{value}"), value);
        }
    }
    builder.finish().unwrap()
}

/// Makes a constant of `N` words from `least` to `greatest`.
fn words(b: &mut Builder, c: &mut Choices, least: i64, greatest: i64) -> usize {
    let span = (greatest - least + 1) as u64;
    let word = |c: &mut Choices| least + c.word(span) as i64;
    let constant = match c.below(4) {
        0 => Constant::Words((0..N).map(|_| word(c)).collect()),
        1 if (least..=greatest).contains(&0) => {
            let places: Vec<usize> = (0..N).filter(|_| c.below(4) == 1).collect();
            Constant::Sparse(places.into_iter().map(|p| (p, word(c))).collect())
        }
        2 => Constant::Turn {
            of: words(b, c, least, greatest),
            steps: c.below(N / 2),
        },
        _ => Constant::Repeat {
            run: 1 + c.below(4),
            values: (0..1 + c.below(3)).map(|_| word(c)).collect(),
        },
    };
    b.define(constant)
}

/// Appends an operation, if there are operands for it.
fn step(b: &mut Builder, subs: &[(SubId, Vec<Type>)], c: &mut Choices, is_main: bool) {
    let made = b.values().to_vec();
    let pick = |c: &mut Choices, fits: &dyn Fn(&Type) -> bool| -> Option<ValueId> {
        let fitting: Vec<ValueId> = (0..made.len()).filter(|&v| fits(&made[v])).collect();
        let at = c.below(fitting.len().max(1));
        fitting.get(at).copied()
    };
    let coeff = |ty: &Type| ty.domain == Domain::Coeff;
    let eval = |ty: &Type| ty.domain == Domain::Eval;
    let table = c.table;
    let (moduli, powers) = (table.moduli, table.powers());
    let odd = |ty: &Type| ty.limbs.is_disjoint(&powers);
    let friendly = |ty: &Type| coeff(ty) && odd(ty) && !ty.limbs.contains(ODD);
    let one = |ty: &Type| coeff(ty) && ty.limbs.len() == 1;
    let several = |c: &mut Choices, first: ValueId, count: usize| -> Vec<ValueId> {
        let ty = made[first].clone();
        let more = (1..count).map(|_| pick(c, &|other| *other == ty).unwrap());
        std::iter::once(first).chain(more).collect()
    };
    let all = |_: &Type| true;
    let op = match c.below(Op::NAMES.len()) {
        0 if is_main => {
            let (name, ty) = (format!("in/{}", c.below(3)), c.ty());
            Some(Op::Load { name, ty })
        }
        1 => {
            let bound = c.word(1 << 62) as i64;
            let limbs = c.limbs(&table.all());
            let constant = words(b, c, -bound, bound);
            Some(Op::Constant { constant, limbs })
        }
        2 => Some(Op::Zero { ty: c.ty() }),
        3 if is_main => Some(Op::Sample {
            seed: "seed".into(),
            stream: c.below(1 << 32) as u32,
            limbs: c.limbs(&Limbs::from(0..ODD)),
        }),
        22 if is_main && !powers.is_empty() => Some(Op::Expand {
            seed: "seed".into(),
            stream: c.below(1 << 32) as u32,
            skip: c.below(1 << 10) as u32,
            modulus: moduli.len() + 1,
        }),
        4 => pick(c, &friendly).map(Op::Ntt),
        5 => pick(c, &eval).map(Op::Intt),
        6 => pick(c, &all)
            .map(|v| several(c, v, 2))
            .map(|v| Op::Add(v[0], v[1])),
        7 => pick(c, &all)
            .map(|v| several(c, v, 2))
            .map(|v| Op::Sub(v[0], v[1])),
        8 => pick(c, &eval)
            .map(|v| several(c, v, 2))
            .map(|v| Op::Mul(v[0], v[1])),
        9 => pick(c, &eval).map(|v| {
            let terms = 1 + c.below(4);
            let (left, right) = (several(c, v, terms), several(c, v, terms));
            Op::Dot { left, right }
        }),
        10 => pick(c, &all).map(|value| Op::Scale {
            value,
            factors: made[value].limbs.iter().map(|q| c.residue(q)).collect(),
        }),
        11 => pick(c, &odd).map(|v| {
            let (terms, modulus) = (1 + c.below(3), c.below(moduli.len()));
            let integers = (0..c.below(8)).map(|_| c.word(1 << 40) as i64 - (1 << 39));
            let list = b.define(Constant::List(integers.collect()));
            let mut factors = |count| (0..count).map(|_| c.word(moduli[modulus])).collect();
            let (rows, columns) = (factors(1 + terms % 2), factors(terms));
            Op::Combine {
                values: several(c, v, terms),
                list,
                first: c.below(4),
                modulus,
                rows,
                columns,
            }
        }),
        12 => pick(c, &all).map(|value| Op::Automorphism {
            value,
            element: 2 * c.below(N) + 1,
        }),
        13 => pick(c, &|ty| one(ty) && friendly(ty)).map(Op::Slots),
        14 => pick(c, &coeff).map(|value| {
            let values = vec![value; 1 + c.below(3)];
            let at = words(b, c, -3, (values.len() * N) as i64 - 1);
            let entries = (c.below(2) == 1).then(|| (words(b, c, 0, 40), 1 + c.below(N)));
            Op::Extract {
                values,
                at,
                entries,
            }
        }),
        15 => pick(c, &|ty| coeff(ty) && (odd(ty) || ty.limbs.len() == 1)).and_then(|value| {
            let others = table.all().minus(&made[value].limbs);
            let to = (!others.is_empty()).then(|| c.limbs(&others))?;
            Some(Op::Convert { value, to })
        }),
        16 => pick(c, &all).map(|value| Op::Select {
            value,
            limbs: c.limbs(&made[value].limbs),
        }),
        17 => pick(c, &all).and_then(|value| {
            let ty = made[value].clone();
            let apart = |o: &Type| o.domain == ty.domain && o.limbs.is_disjoint(&ty.limbs);
            pick(c, &apart).map(|other| Op::Join(vec![value, other]))
        }),
        18 => {
            // The first modulus is above the smallest power.
            let above =
                |ty: &Type| one(ty) && !ty.limbs.contains(0) && !ty.limbs.contains(moduli.len());
            pick(c, &above).map(|value| Op::Round {
                value,
                to: [0, moduli.len()][c.below(2.min(1 + powers.len()))],
            })
        }
        19 => pick(c, &one).map(|value| {
            let (mut bits, mut count) = (1 + c.below(30) as u32, 1 + c.below(3));
            if let Some(place) = made[value].limbs.ranges()[0]
                .start
                .checked_sub(moduli.len())
            {
                bits = [5, 16, 3][place];
                count = (table.powers[place] / bits) as usize;
            }
            let index = c.below(count);
            Op::Digit {
                value,
                index,
                bits,
                count,
            }
        }),
        20 if !subs.is_empty() => {
            let (sub, parameters) = &subs[c.below(subs.len())];
            let arguments = parameters.iter().map(|ty| pick(c, &|other| other == ty));
            let arguments: Option<Vec<ValueId>> = arguments.collect();
            arguments.map(|arguments| Op::Call {
                sub: *sub,
                arguments,
            })
        }
        21 => pick(c, &|ty| *ty == Type::coeff(Limbs::one(moduli.len()))).and_then(|by| {
            let value = pick(c, &coeff)?;
            Some(Op::Turn { value, by })
        }),
        23 => pick(c, &coeff).map(|value| Op::Shift {
            value,
            exponent: c.below(2 * N),
        }),
        _ => None,
    };
    if let Some(op) = op {
        b.push(op).unwrap();
    }
}
