//! Key switching: the digits of a polynomial, their products with a key, and the division by the
//! special moduli.
//!
//! A polynomial `d` over `q_0 .. q_l` is cut into digits of some limbs each. Each digit is centred
//! and raised from its limbs to all of `Q_l P`. Digit `j` is multiplied by the pair `j` of the key.
//! The sum is divided by `P`.
//!
//! For `l` limbs, `k` special ones and digits of `d_j` limbs: `l` inverse transforms; for each
//! digit a conversion from `d_j` to `l + k - d_j` limbs and as many transforms; two inner products
//! over `l + k` limbs; two divisions.
//!
//! Source: Han, Ki, "Better Bootstrapping for Approximate Homomorphic Encryption", CT-RSA 2020,
//! section 3.

use crate::chain::{Chain, eval};
use crate::divide::{divide, divide_pair};
use trace::{Builder, SubId, Type, ValueId};

/// The pairs of a key: bodies and masks, over the limbs of a level and the special ones.
pub(crate) struct Key {
    pub(crate) bodies: Vec<ValueId>,
    pub(crate) masks: Vec<ValueId>,
}

impl Key {
    fn all(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.bodies.iter().chain(&self.masks).copied()
    }
}

/// The sub-trace that cuts a polynomial at a level into digits and raises them. It has one
/// parameter, and one result for each digit.
pub(crate) fn decompose(chain: &Chain, b: &mut Builder, level: usize) -> SubId {
    let (digits, whole) = (chain.digits(level), chain.extended(level));
    let parameter = chain.component(level);
    let name = chain.named(&format!("decompose.{level}"));
    b.sub_trace(&name, &[parameter], |b| {
        let coefficients = b.intt(0);
        let raised = digits.iter().map(|digit| {
            let low = b.select(coefficients, digit.clone());
            let others = b.convert(low, whole.minus(digit));
            let others = b.ntt(others);
            let own = b.select(0, digit.clone());
            b.join([own, others])
        });
        raised.collect()
    })
}

/// The level of a product, and the level to which its relinearization divides it.
#[derive(Clone, Copy)]
pub(crate) struct Relinearization {
    pub(crate) level: usize,
    pub(crate) to: usize,
}

/// A Galois element, and the level of the ciphertext that it maps.
#[derive(Clone, Copy)]
pub(crate) struct Automorphism {
    pub(crate) level: usize,
    pub(crate) element: usize,
}

/// The sub-trace that relinearizes a product and divides it down. Parameters: three components and
/// a key at the product's level. Results: two components.
pub(crate) fn relinearize(chain: &Chain, b: &mut Builder, of: Relinearization) -> SubId {
    let Relinearization { level, to } = of;
    let count = chain.digits(level).len();
    let mut parameters = vec![chain.component(level); 3];
    parameters.extend(key_types(chain, level, count));
    let name = format!("relinearize.{level}.{to}");
    b.sub_trace(&name, &parameters, |b| {
        let decompose = decompose(chain, b, level);
        let digits = b.call(decompose, &[2]);
        let key = key_at(3, count);
        let sums = inner_products(b, &digits, &key);
        let with_carry = [0, 1].map(|part| add_scaled(chain, b, level, sums[part], part));
        let limbs = (&chain.extended(level), &chain.level(to));
        divide_pair(chain, b, with_carry, limbs).to_vec()
    })
}

/// The sub-trace that switches a ciphertext at a level to another secret. Parameters: two
/// components and a key. Results: two components.
pub(crate) fn switch(chain: &Chain, b: &mut Builder, level: usize) -> SubId {
    let count = chain.digits(level).len();
    let mut parameters = vec![chain.component(level); 2];
    parameters.extend(key_types(chain, level, count));
    b.sub_trace(&chain.named(&format!("switch.{level}")), &parameters, |b| {
        let decompose = decompose(chain, b, level);
        let digits = b.call(decompose, &[1]);
        let sums = inner_products(b, &digits, &key_at(2, count));
        let divide = divide(chain, b, &chain.extended(level), &chain.level(level));
        let [body, mask] = sums.map(|sum| b.call(divide, &[sum])[0]);
        vec![b.add(body, 0), mask]
    })
}

/// The sub-trace of `X -> X^element` at a level. Parameters: the first component, the digits of the
/// second, and a key. Results: two components.
pub(crate) fn automorphism(chain: &Chain, b: &mut Builder, of: Automorphism) -> SubId {
    let Automorphism { level, element } = of;
    let count = chain.digits(level).len();
    let whole = eval(chain.extended(level));
    let mut parameters = vec![chain.component(level)];
    parameters.extend(vec![whole; count]);
    parameters.extend(key_types(chain, level, count));
    let name = format!("automorphism.{level}.{element}");
    b.sub_trace(&name, &parameters, |b| {
        let digits: Vec<ValueId> = (1..1 + count).collect();
        let sums = inner_products(b, &digits, &key_at(1 + count, count));
        let divide = divide(chain, b, &chain.extended(level), &chain.level(level));
        let [body, mask] = sums.map(|sum| b.call(divide, &[sum])[0]);
        let body = b.add(body, 0);
        [body, mask]
            .map(|part| b.automorphism(part, element))
            .to_vec()
    })
}

/// The sub-trace of `X -> X^element` at a level, times the product of the special moduli.
/// Parameters: the first component, the digits of the second, and a key. Results: two components,
/// over the special moduli too. The first component is multiplied by the special moduli, unless it
/// already is.
pub(crate) fn automorphism_extended(
    chain: &Chain,
    b: &mut Builder,
    of: Automorphism,
    first: First,
) -> SubId {
    let Automorphism { level, element } = of;
    let count = chain.digits(level).len();
    let whole = eval(chain.extended(level));
    let (name, own) = match first {
        First::Narrow => ("rotate", chain.component(level)),
        First::Extended => ("turn", whole.clone()),
    };
    let mut parameters = vec![own];
    parameters.extend(vec![whole; count]);
    parameters.extend(key_types(chain, level, count));
    let name = format!("{name}.{level}.{element}");
    b.sub_trace(&name, &parameters, |b| {
        let digits: Vec<ValueId> = (1..1 + count).collect();
        let [body, mask] = inner_products(b, &digits, &key_at(1 + count, count));
        let body = match first {
            First::Extended => b.add(body, 0),
            First::Narrow => add_scaled(chain, b, level, body, 0),
        };
        [body, mask]
            .map(|part| b.automorphism(part, element))
            .to_vec()
    })
}

/// Limbs of the first component of a rotation.
#[derive(Clone, Copy)]
pub(crate) enum First {
    /// The limbs of the chain.
    Narrow,
    /// The special moduli too. The component is multiplied by their product.
    Extended,
}

/// The sub-trace that multiplies a component at a level by the product of the special moduli. The
/// result has the special limbs too.
pub(crate) fn extend(chain: &Chain, b: &mut Builder, level: usize) -> SubId {
    let name = format!("extend.{level}");
    b.sub_trace(&name, &[chain.component(level)], |b| {
        let (own, special) = (chain.level(level), chain.special());
        let factors = chain.words(&own, |q| chain.product_mod(&special, q));
        let scaled = b.scale(0, factors);
        let zero = b.zero(eval(special));
        vec![b.join([scaled, zero])]
    })
}

/// Multiplies a component `part` over the chain by the product of the special moduli, and adds it
/// to `sum` over the chain and the special moduli.
fn add_scaled(
    chain: &Chain,
    b: &mut Builder,
    level: usize,
    sum: ValueId,
    part: ValueId,
) -> ValueId {
    let (own, special) = (chain.level(level), chain.special());
    let factors = chain.words(&own, |q| chain.product_mod(&special, q));
    let carry = b.scale(part, factors);
    let low = b.select(sum, own);
    let low = b.add(low, carry);
    let high = b.select(sum, special);
    b.join([low, high])
}

/// `sum_j digit_j key_j`, for the bodies and for the masks.
fn inner_products(b: &mut Builder, digits: &[ValueId], key: &Key) -> [ValueId; 2] {
    [&key.bodies, &key.masks].map(|part| b.dot(digits, part.as_slice()))
}

/// Types of the bodies and masks of one or several keys with `count` digits in all.
pub(crate) fn key_types(chain: &Chain, level: usize, count: usize) -> Vec<Type> {
    vec![eval(chain.extended(level)); 2 * count]
}

/// The key among the parameters of a sub-trace, from parameter `first` on.
pub(crate) fn key_at(first: usize, count: usize) -> Key {
    Key {
        bodies: (first..first + count).collect(),
        masks: (first + count..first + 2 * count).collect(),
    }
}

/// Appends the values of a key to the arguments.
pub(crate) fn with_key(mut arguments: Vec<ValueId>, key: &Key) -> Vec<ValueId> {
    arguments.extend(key.all());
    arguments
}
