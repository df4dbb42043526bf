//! Infers the types of an operation's results, and refuses operations that break a rule. Builder,
//! parser and verifier use the same code.

use super::context::{ConstantKind, Context};
use super::ir::{ConstantId, ModulusId, Op, Type};
use super::limbs::Limbs;
use super::values::Values;
use crate::reading::{Checked, Problem, check};
use std::borrow::Borrow;

/// Largest number of limbs of a value that is converted. Up to this number, the sum of the quotient
/// fits in a word.
const MAX_CONVERTED: usize = 64;
/// Number of bits allowed in a digit.
const DIGIT_BITS: std::ops::RangeInclusive<u32> = 1..=30;
/// Largest bit at which the last digit may begin. Every residue has ended there.
const MAX_DIGIT_START: usize = 60;

impl Context {
    /// Returns the types of the results of `op`. `values` are the types of all values made before
    /// it.
    pub(super) fn infer<T: Borrow<Type>>(&self, values: &[T], op: &Op) -> Checked<Vec<Type>> {
        let values = Values(values);
        values.all_made(op)?;
        let ty = match op {
            Op::Load { name, ty } => {
                check_name("the name", name)?;
                self.ty(ty)?;
                ty.clone()
            }
            Op::Store { name, .. } => {
                check_name("the name", name)?;
                return Ok(Vec::new());
            }
            Op::Constant { constant, limbs } => {
                self.words(*constant)?;
                self.limbs(limbs)?;
                Type::coeff(limbs.clone())
            }
            Op::Zero { ty } => {
                self.ty(ty)?;
                ty.clone()
            }
            Op::Sample { seed, limbs, .. } => {
                check_name("the name of the seed", seed)?;
                let ty = Type::eval(limbs.clone());
                self.ty(&ty)?;
                ty
            }
            Op::Expand { seed, modulus, .. } => {
                check_name("the name of the seed", seed)?;
                let q = self.modulus(*modulus)?;
                let fits = matches!(self.power(*modulus), Some(32 | 64));
                check(fits, "the modulus", q, || "2^32 or 2^64")?;
                Type::coeff(Limbs::one(*modulus))
            }
            Op::Ntt(value) => {
                let limbs = &values.coeff(*value)?.limbs;
                self.transforms(limbs)?;
                Type::eval(limbs.clone())
            }
            Op::Intt(value) => Type::coeff(values.eval(*value)?.limbs.clone()),
            Op::Add(left, right) | Op::Sub(left, right) => values.alike(&[*left, *right])?.clone(),
            Op::Mul(left, right) => {
                values.eval(*left)?;
                values.alike(&[*left, *right])?.clone()
            }
            Op::Dot { left, right } => {
                let expected = || format!("{}, as many as left ones", left.len());
                let same = left.len() == right.len();
                check(same, "the number of right factors", right.len(), expected)?;
                let ty = values.alike(left)?;
                values.eval(left[0])?;
                values.alike_to(ty, left[0], right)?;
                ty.clone()
            }
            Op::Scale { value, factors } => self.infer_scale(values.ty(*value), factors)?,
            Op::Combine {
                values: combined,
                list,
                modulus,
                rows,
                columns,
                ..
            } => {
                let ty = values.alike(combined)?;
                self.no_powers(&ty.limbs.union(&Limbs::one(*modulus)))?;
                self.list(*list)?;
                let expected = || format!("{}, one for each value", combined.len());
                let same = columns.len() == combined.len();
                check(same, "the number of columns", columns.len(), expected)?;
                check(!rows.is_empty(), "the number of rows", 0, || "at least 1")?;
                self.residues("factor of row", rows, *modulus)?;
                self.residues("factor of column", columns, *modulus)?;
                return Ok(vec![ty.clone(); rows.len()]);
            }
            Op::Turn { value, by } => {
                let order = self.modulus(values.one(*by)?)?;
                let expected = || format!("{}, twice the ring degree", 2 * self.n());
                let fits = order == 2 * self.n() as u128;
                check(fits, "the modulus of the exponent", order, expected)?;
                values.coeff(*value)?.clone()
            }
            Op::Shift { value, exponent } => {
                let fits = *exponent < 2 * self.n();
                let expected = || format!("less than {}, twice the ring degree", 2 * self.n());
                check(fits, "the exponent", exponent, expected)?;
                values.coeff(*value)?.clone()
            }
            Op::Automorphism { value, element } => {
                let fits = element % 2 == 1 && *element < 2 * self.n();
                let expected = || format!("an odd number below {}", 2 * self.n());
                check(fits, "the element", element, expected)?;
                values.ty(*value).clone()
            }
            Op::Slots(value) => {
                let limb = values.one(*value)?;
                self.transforms(&Limbs::one(limb))?;
                Type::eval(Limbs::one(limb))
            }
            Op::Extract {
                values: read,
                at,
                entries,
            } => {
                values.alike(read)?;
                let ty = values.coeff(read[0])?;
                self.infer_extract((ty, read.len()), *at, *entries)?
            }
            Op::Convert { value, to } => self.infer_convert(values.coeff(*value)?, to)?,
            Op::Select { value, limbs } => {
                let Type { domain, limbs: all } = values.ty(*value);
                self.limbs(limbs)?;
                let expected = || format!("some of {all}, those of %{value}");
                check(limbs.is_subset(all), "the limbs", limbs, expected)?;
                Type {
                    domain: *domain,
                    limbs: limbs.clone(),
                }
            }
            Op::Join(joined) => values.join(joined)?,
            Op::Round { value, to } => {
                let q = self.modulus(values.one(*value)?)?;
                let expected = || format!("less than {q}, that of %{value}");
                let t = self.modulus(*to)?;
                check(t < q, "the modulus of the result", t, expected)?;
                Type::coeff(Limbs::one(*to))
            }
            Op::Digit {
                value,
                index,
                bits,
                count,
            } => {
                let limb = values.one(*value)?;
                self.infer_digit(limb, *index, (*bits, *count))?
            }
            Op::Call { sub, arguments } => {
                let signature = self.sub(*sub)?;
                let (found, parameters) = (arguments.len(), &signature.parameters);
                let expected = || format!("{}, one for each parameter", parameters.len());
                let same = found == parameters.len();
                check(same, "the number of arguments", found, expected)?;
                for (index, (&value, parameter)) in arguments.iter().zip(parameters).enumerate() {
                    let ty = values.ty(value);
                    check(
                        ty == parameter,
                        format_args!("argument {index}"),
                        ty,
                        || format!("{parameter}"),
                    )?;
                }
                return Ok(signature.results.clone());
            }
        };
        Ok(vec![ty])
    }

    fn infer_scale(&self, ty: &Type, factors: &[u64]) -> Checked<Type> {
        let (found, limbs) = (factors.len(), ty.limbs.len());
        let expected = || format!("{limbs}, one for each limb");
        check(found == limbs, "the number of factors", found, expected)?;
        for (index, (limb, &factor)) in ty.limbs.iter().zip(factors).enumerate() {
            let q = self.modulus(limb)?;
            let fits = u128::from(factor) < q;
            check(fits, format_args!("factor {index}"), factor, || {
                format!("less than {q}, the modulus of its limb")
            })?;
        }
        Ok(ty.clone())
    }

    fn infer_digit(
        &self,
        limb: ModulusId,
        index: usize,
        (bits, count): (u32, usize),
    ) -> Checked<Type> {
        let expected = || format!("{} to {}", DIGIT_BITS.start(), DIGIT_BITS.end());
        check(DIGIT_BITS.contains(&bits), "the bits", bits, expected)?;
        if let Some(all) = self.power(limb) {
            let cut = (bits as usize).saturating_mul(count);
            let expected = || format!("{all}, those of the modulus");
            check(cut == all as usize, "the bits of all digits", cut, expected)?;
        }
        let most = MAX_DIGIT_START / bits as usize + 1;
        let fits = self.power(limb).is_some() || (1..=most).contains(&count);
        let expected = || format!("1 to {most}, so that the last begins within a residue");
        check(fits, "the number of digits", count, expected)?;
        let expected = || format!("less than {count}, the number of digits");
        check(index < count, "the index", index, expected)?;
        Ok(Type::coeff(Limbs::one(limb)))
    }

    fn infer_extract(
        &self,
        (ty, count): (&Type, usize),
        at: ConstantId,
        entries: Option<(ConstantId, usize)>,
    ) -> Checked<Type> {
        let n = self.n();
        if let ConstantKind::Words { greatest, .. } = self.words(at)? {
            let all = n.saturating_mul(count);
            let expected = || format!("numbers of coefficients, below {all}");
            let fits = i128::from(greatest) < all as i128;
            check(fits, format_args!("a word of @{at}"), greatest, expected)?;
        }
        if let Some((entries, gap)) = entries {
            if let ConstantKind::Words { least, .. } = self.words(entries)? {
                let what = format_args!("a word of @{entries}");
                check(least >= 0, what, least, || "no negative number")?;
            }
            let expected = || format!("1 to {n}");
            check((1..=n).contains(&gap), "the gap", gap, expected)?;
        }
        Ok(ty.clone())
    }

    fn infer_convert(&self, ty: &Type, to: &Limbs) -> Checked<Type> {
        self.limbs(to)?;
        let from = &ty.limbs;
        let expected = || format!("1 to {MAX_CONVERTED}");
        let fits = from.len() <= MAX_CONVERTED;
        check(fits, "the number of limbs converted", from.len(), expected)?;
        if from.len() > 1 {
            self.no_powers(from)?;
        }
        let expected = || format!("none of {from}, those converted");
        check(to.is_disjoint(from), "the limbs", to, expected)?;
        Ok(Type::coeff(to.clone()))
    }

    fn list(&self, id: ConstantId) -> Checked<()> {
        let is_list = self.shape(id)? == ConstantKind::List;
        let found = format_args!("@{id}, of N words");
        check(is_list, "the constant", found, || "a list")
    }

    /// Refuses factors that are not below the modulus.
    fn residues(&self, what: &str, factors: &[u64], modulus: ModulusId) -> Checked<()> {
        let t = self.modulus(modulus)?;
        match factors.iter().position(|&factor| u128::from(factor) >= t) {
            None => Ok(()),
            Some(index) => {
                let expected = format!("less than {t}, the modulus");
                let what = format!("the {what} {index}");
                Err(Problem::new(what, factors[index], expected))
            }
        }
    }
}

/// Returns true if values can be loaded and stored under a name: words of ASCII letters, digits,
/// `.`, `-`, `_`, joined by `/`.
pub fn is_name(name: &str) -> bool {
    let known = |c: u8| c.is_ascii_alphanumeric() || b".-_".contains(&c);
    let word = |word: &str| !word.is_empty() && word.bytes().all(known);
    name.split('/').all(word)
}

/// Refuses a name unless it is words of ASCII letters, digits, `.`, `-`, `_`, joined by `/`.
pub fn check_name(what: &'static str, name: &str) -> Checked<()> {
    check(
        is_name(name),
        what,
        format_args!("{name:?}"),
        || "words of letters, digits, `.`, `-`, `_`, joined by `/`",
    )
}
