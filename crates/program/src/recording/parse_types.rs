//! The parser of types.

use super::ir::{Ciphertext, Message, Type};
use trace::reading::{Checked, Problem};
use trace::reading::{number, shown};

/// Reads a type. If a message names no modulus, it is modulo `plain`.
pub(super) fn ty(text: &str, plain: Option<u64>) -> Checked<Type> {
    if text == "samples" {
        return Ok(Type::Samples);
    }
    let mut parts = text.split(", ");
    let mut next = |what, expected| {
        let found = "the end of the line";
        parts
            .next()
            .ok_or_else(|| Problem::new(what, found, expected))
    };
    let (what, expected) = ("the type", "samples, or a level and a factor or scale");
    let level = next(what, expected)?;
    let level = level
        .strip_prefix("level ")
        .ok_or_else(|| Problem::new(what, shown(text), expected))?;
    let what = "the message";
    let message = message(next(what, "a factor or a scale")?, plain)?;
    let mut ty = Ciphertext {
        level: number("the level", level)?,
        components: 2,
        extended: false,
        message,
    };
    for part in parts {
        match part.split_once(' ') {
            None if part == "extended" && !ty.extended && ty.components == 2 => ty.extended = true,
            Some((components, "components")) if ty.components == 2 && components != "2" => {
                ty.components = number("the number of components", components)?;
            }
            _ => {
                let expected = "`extended`, then the number of components unless it is 2";
                return Err(Problem::new("the type", shown(part), expected));
            }
        }
    }
    Ok(Type::Ciphertext(ty))
}

fn message(text: &str, plain: Option<u64>) -> Checked<Message> {
    if let Some(scale) = text.strip_prefix("scale ") {
        let scale = self::scale(scale)?;
        return Ok(Message::Approximate { scale });
    }
    let Some(factor) = text.strip_prefix("factor ") else {
        let expected = "a factor or a scale";
        return Err(Problem::new("the message", shown(text), expected));
    };
    let (factor, t) = match (factor.split_once(" modulo "), plain) {
        (Some((factor, t)), _) => (factor, number("the plaintext modulus", t)?),
        (None, Some(t)) => (factor, t),
        (None, None) => {
            let expected = "with a modulus: the parameters have no plaintext modulus";
            return Err(Problem::new("the factor", shown(text), expected));
        }
    };
    let factor = number("the factor", factor)?;
    Ok(Message::Modulo { t, factor })
}

/// Reads a scale such as `1.25*2^36` or `2^36`.
fn scale(text: &str) -> Checked<f64> {
    let refused = || {
        let expected = "a number from 1 to 2 times a power of two, as 1.25*2^36";
        Problem::new("the scale", shown(text), expected)
    };
    let (part, power) = text.split_once('*').unwrap_or(("1", text));
    let part: f64 = part.parse().map_err(|_| refused())?;
    let exponent = power.strip_prefix("2^").ok_or_else(refused)?;
    let exponent: i32 = number("the power of the scale", exponent)?;
    // All doubles from 1 to 2 times such a power are exact.
    let fits = (1.0..2.0).contains(&part) && (-1022..=1023).contains(&exponent);
    match fits {
        true => Ok(part * 2f64.powi(exponent)),
        false => Err(refused()),
    }
}
