//! Random traces of operations that FHETCH also has.

use trace::{Builder, Constant, Domain, Limbs, Op, Trace, TraceBuilder, Type, ValueId};

/// Ring degree.
pub(crate) const N: usize = 16;
/// Primes that are 1 modulo 32, of 7 to 31 bits.
pub(crate) const MODULI: [u64; 6] = [97, 193, 257, 353, 1_073_741_441, 2_147_473_409];

/// Choices, made by numbers that a property test draws.
struct Choices<'a>(std::slice::Iter<'a, u32>);

impl Choices<'_> {
    fn below(&mut self, bound: usize) -> usize {
        self.0.next().map_or(0, |&n| n as usize % bound)
    }

    fn limbs(&mut self, among: &Limbs) -> Limbs {
        let first = self.below(among.len());
        let chosen = among.iter().enumerate();
        let chosen = chosen.filter(|(place, _)| *place == first || self.below(2) == 1);
        Limbs::new(chosen.map(|(_, limb)| limb..limb + 1))
    }
}

/// Makes a trace that loads, computes and stores as the numbers say.
pub(crate) fn trace(numbers: &[u32]) -> Trace {
    let mut choices = Choices(numbers.iter());
    let mut builder = TraceBuilder::new(N, &MODULI).unwrap();
    let mut b = builder.main();
    let all = Limbs::from(0..MODULI.len());
    for index in 0..3 {
        b.load(format!("x/{index}"), Type::eval(all.clone()));
    }
    while choices.0.len() > 0 {
        step(&mut b, &mut choices);
    }
    let last = b.values().len() - 1;
    for value in (0..=last).rev() {
        if b.ty(value).domain == Domain::Eval {
            b.store(format!("y/{value}"), value);
        } else if b.ty(value).limbs != all {
            let transformed = b.ntt(value);
            b.store(format!("y/{value}"), transformed);
        }
    }
    builder.finish().unwrap()
}

fn step(b: &mut Builder, choices: &mut Choices) {
    let value = choices.below(b.values().len());
    let ty = b.ty(value).clone();
    let alike: Vec<ValueId> = (0..b.values().len()).filter(|&v| *b.ty(v) == ty).collect();
    let other = alike[choices.below(alike.len())];
    let eval = ty.domain == Domain::Eval;
    let rest = Limbs::from(0..MODULI.len()).minus(&ty.limbs);
    match choices.below(12) {
        0 => _ = b.add(value, other),
        1 => _ = b.sub(value, other),
        2 if eval => _ = b.mul(value, other),
        3 if eval => {
            let third = alike[choices.below(alike.len())];
            b.dot([value, other], [other, third]);
        }
        4 if eval => _ = b.automorphism(value, [5, 25, 125 % (2 * N)][choices.below(3)]),
        5 => {
            let factors = ty
                .limbs
                .iter()
                .map(|limb| choices.below(MODULI[limb] as usize) as u64);
            let factors: Vec<u64> = factors.collect();
            b.scale(value, factors);
        }
        6 if eval => _ = b.intt(value),
        6 => _ = b.ntt(value),
        7 if eval && !rest.is_empty() => {
            let coefficients = b.intt(value);
            let to = choices.limbs(&rest);
            let converted = b.convert(coefficients, to);
            let converted = b.ntt(converted);
            b.join([value, converted]);
        }
        8 if !eval && !rest.is_empty() => {
            let to = choices.limbs(&rest);
            b.convert(value, to);
        }
        9 => {
            let limbs = choices.limbs(&ty.limbs);
            b.select(value, limbs);
        }
        10 => {
            let values = vec![3, -1, choices.below(90) as i64];
            let constant = b.define(Constant::Repeat { run: 2, values });
            b.constant(constant, Limbs::one(choices.below(MODULI.len())));
            b.zero(ty);
        }
        11 => {
            let name = format!("sub.{}", b.values().len());
            let whole = Type::eval(0..MODULI.len());
            let sub = b.sub_trace(&name, &[whole.clone(), whole], |b| {
                let product = b.mul(0, 1);
                let low = b.select(0, 0..2);
                vec![product, low]
            });
            b.push(Op::Call {
                sub,
                arguments: vec![choices.below(3), choices.below(3)],
            })
            .unwrap();
        }
        _ => {}
    }
}
