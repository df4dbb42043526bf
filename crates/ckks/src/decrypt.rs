//! Decryption, and the doubt about messages that may not have fitted their modulus.

use crate::ciphertext::{Ciphertext, Plaintext, check_secret};
use crate::error::{Error, Result};
use crate::size::{Fit, largest_of};
use rlwe::SecretKey;
use zeroize::Zeroizing;

/// Part of the room from which on a message is doubted, if the bounds on its size exceed the room.
/// Coefficients of a message that was wrapped around are below it by chance, each with this
/// probability.
const DOUBTED: f64 = 1.0 / 64.0;
/// As [`DOUBTED`], for a message of unknown size, against which only its decrypted coefficients
/// speak.
const DOUBTED_UNKNOWN: f64 = 1.0 / 8.0;

/// A decrypted message that may not have fitted its modulus, and be another one. A caller who knows
/// that it fits states this with [`Ciphertext::bounded`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt {
    /// The largest coefficient found.
    pub found: f64,
    /// The first one that does not fit.
    pub room: f64,
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [found, room] = [self.found, self.room].map(f64::log2);
        write!(
            f,
            "the message may not fit its modulus: what was found takes {found:.1} bits, {room:.1} fit, and the sizes of the operands do not show that it is right. Encrypt smaller values, take parameters whose first modulus is larger, or state the size of the result (bounded)"
        )
    }
}

/// Decrypts to a plaintext: the message with its error.
///
/// Sharing decrypted CKKS values can reveal the secret key (Li, Micciancio, EUROCRYPT 2021): see
/// SECURITY.md.
///
/// A message that does not fit its modulus decrypts to another one. The bounds on the sizes of
/// encrypted values show whether the message fits. Where the bounds allow both, or are unknown, the
/// largest decrypted coefficient decides. From half of the largest coefficient that fits, the
/// message is refused. From a small part of it on, the plaintext carries a [`Doubt`].
///
/// # Errors
/// [`Error::Lost`] if the message does not fit its modulus, [`Error::Doubtful`] if it looks so;
/// [`rlwe::Error::KeyMismatch`] if the ciphertext belongs to another secret; [`Error::OtherKey`] if
/// it is not over moduli of the key.
pub fn decrypt(secret: &SecretKey, ct: &Ciphertext) -> Result<Plaintext> {
    let (room, n) = (ct.room(), ct.rlwe().components()[0].n());
    let fit = ct.size().fit(room, n);
    if let Fit::Lost(least) = fit {
        return Err(Error::lost(least, room));
    }
    let mut message = decrypt_unchecked(secret, ct)?;
    if let Fit::Perhaps(most) = fit {
        let found = largest_of(&Zeroizing::new(message.coefficients()));
        // A message that exceeds the room wraps around. Up to the bound `most`, its coefficient
        // then stays at least this far from zero.
        let surely = 2.0 * room - most;
        let part = if ct.size().is_known() {
            DOUBTED
        } else {
            DOUBTED_UNKNOWN
        };
        if found >= room / 2.0 && found >= surely {
            return Err(Error::Doubtful {
                found: found.log2(),
                room: room.log2(),
            });
        }
        if found >= room * part && found >= surely {
            message.doubt = Some(Doubt { found, room });
        }
    }
    Ok(message)
}

/// As [`decrypt`], without a look at the size of the message: one that did not fit is another one.
///
/// # Errors
/// As [`decrypt`], except [`Error::Lost`] and [`Error::Doubtful`].
pub fn decrypt_unchecked(secret: &SecretKey, ct: &Ciphertext) -> Result<Plaintext> {
    check_secret(secret, ct.rlwe().components()[0].basis())?;
    secret.check_key(ct.rlwe())?;
    Ok(Plaintext::new(
        (*secret.phase_eval(ct.rlwe())).clone(),
        ct.scale(),
    ))
}
