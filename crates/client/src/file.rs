//! The file of the client's secrets.

use crate::client::Client;
use crate::error::Result;
use crate::keys::ClientKeys;
use exchange::Exchange;
use exchange::files::kind;
use rlwe::SecretKey;
use rlwe::bytes::{Kind, Reader, Writer};
use rlwe::lwe::LweSecret;
use zeroize::Zeroizing;

const SECRET_KEY: Kind = kind(b"SKEY", "a secret key", 1);

impl Client {
    /// Returns the byte form of the secrets, overwritten when dropped. It is sealed with the
    /// program's fingerprint, as every exchanged file is.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let secrets = [
            self.keys().secret().coefficients(),
            self.keys().lwe().coefficients(),
        ];
        let mut w = Writer::with_room(secrets.iter().map(|s| s.len()).sum());
        for secret in secrets {
            w.small(secret);
        }
        w.seal(&SECRET_KEY, self.exchange().fingerprint()).into()
    }

    /// Reads the secrets of a program's client.
    ///
    /// # Errors
    /// If the bytes are no secret key of this program.
    pub fn from_bytes(exchange: &Exchange, bytes: &[u8]) -> Result<Self> {
        let mut r = Reader::open(bytes, &SECRET_KEY, exchange.fingerprint())?;
        let params = exchange.params();
        let secret = r.small("a coefficient of the secret key", params.bfv().n(), 1)?;
        let lwe = r.small("a coefficient of the LWE secret", params.dimension(), 1)?;
        r.end()?;
        let secret = SecretKey::from_coefficients(params.bfv().rlwe(), secret);
        let keys = ClientKeys::from_parts(params, secret, LweSecret::from_coefficients(lwe));
        Ok(Self::from_keys(exchange, keys))
    }
}
