//! Values loaded from outside, and their checks.

use super::sources::Sources;
use super::value::Value;
use crate::error::{Error, Result};
use crate::outside::Outside;
use ring::par_map;
use trace::Type;

impl Sources<'_> {
    /// Loads a value, and checks that its limbs are residues.
    pub(super) fn load(&self, name: &str, ty: &Type, outside: &mut impl Outside) -> Result<Value> {
        let limbs = outside.load(name, ty)?;
        let refused = |what: String, found: u64, expected: String| Error::Replay {
            what: format!("{what} of {name}"),
            found: found.to_string(),
            expected,
        };
        let expected = ty.limbs.len();
        if limbs.len() != expected {
            let (what, found) = ("the number of limbs".into(), limbs.len() as u64);
            return Err(refused(what, found, expected.to_string()));
        }
        let ids: Vec<usize> = ty.limbs.iter().collect();
        let checked = par_map(limbs.len(), |i| {
            let (q, limb) = (self.arithmetic(ids[i]), &limbs[i]);
            let largest = q.largest();
            if limb.len() != self.n {
                let what = format!("the number of words of limb {i}");
                return Err(refused(what, limb.len() as u64, self.n.to_string()));
            }
            match limb.iter().position(|&word| word > largest) {
                None => Ok(()),
                Some(at) => {
                    let what = format!("word {at} of limb {i}");
                    Err(refused(what, limb[at], format!("below {}", q.value())))
                }
            }
        });
        checked.into_iter().collect::<Result<()>>()?;
        let ty = ty.clone();
        Ok(Value { ty, limbs })
    }
}
