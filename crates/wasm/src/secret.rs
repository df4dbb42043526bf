//! The file of a secret.

use crate::error::{Failure, Kind, Result};
use crate::now;
use client::{ClientSecret, Seal, StoredSecret, system_rng};
use seal::DerivationCost;
use wasm_bindgen::prelude::wasm_bindgen;

/// A secret as its file has it: open, or sealed by a passphrase. One secret serves many programs.
#[wasm_bindgen(js_name = Secret)]
pub struct WebSecret {
    stored: StoredSecret,
}

#[wasm_bindgen(js_class = Secret)]
impl WebSecret {
    /// Generates a secret from the browser's randomness, to be used for `days` days, or for ever.
    ///
    /// # Errors
    /// If the days are not positive.
    pub fn generate(days: Option<f64>) -> Result<Self> {
        let created = now();
        let expires = match days {
            Some(days) if days > 0.0 => Some(created + (days * 86_400.0) as u64),
            Some(days) => {
                let words = format!("a life of {days} days, expected a positive number");
                return Err(Failure::new(Kind::Usage, words));
            }
            None => None,
        };
        let secret = ClientSecret::generate(&mut system_rng());
        Ok(Self {
            stored: secret.with_life(Some(created), expires).into(),
        })
    }

    /// Reads the file of a secret, sealed or not.
    ///
    /// # Errors
    /// If the bytes are no secret.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(file: &[u8]) -> Result<Self> {
        let stored = StoredSecret::from_bytes(file)?;
        Ok(Self { stored })
    }

    /// The bytes of the file. Of an open secret they are the secret.
    #[wasm_bindgen(js_name = toBytes)]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.stored.to_bytes().to_vec()
    }

    /// The secret, sealed by a passphrase: Argon2id with 64 MiB, and ChaCha20-Poly1305.
    ///
    /// # Errors
    /// If the passphrase is empty, or the secret is sealed already.
    pub fn sealed(&self, passphrase: &str) -> Result<Self> {
        let cost = DerivationCost::default();
        let passphrase = passphrase.as_bytes();
        let stored = seal::seal(self.open()?, passphrase, cost, &mut system_rng())?;
        Ok(Self { stored })
    }

    /// The secret without its seal.
    ///
    /// # Errors
    /// If the passphrase does not open it, or no passphrase seals it.
    pub fn unsealed(&self, passphrase: &str) -> Result<Self> {
        let secret = seal::unseal(&self.stored, passphrase.as_bytes())?;
        Ok(Self {
            stored: secret.into(),
        })
    }

    /// How it is protected: `none`, `passphrase` or `wrapped`.
    #[wasm_bindgen(getter)]
    pub fn seal(&self) -> String {
        let word = match self.stored.seal() {
            Seal::None => "none",
            Seal::Passphrase { .. } => "passphrase",
            Seal::Wrapped { .. } => "wrapped",
        };
        word.into()
    }

    /// Identity: 32 hexadecimal digits. Evaluation keys, queries and answers carry it.
    #[wasm_bindgen(getter, js_name = keyId)]
    pub fn key_id(&self) -> String {
        crate::hex(&self.stored.label().key.to_bytes())
    }

    /// When it was made, in seconds since 1970.
    #[wasm_bindgen(getter)]
    pub fn created(&self) -> Option<f64> {
        self.stored.label().created.map(|time| time as f64)
    }

    /// From when on nothing is encrypted under it, in seconds since 1970.
    #[wasm_bindgen(getter)]
    pub fn expires(&self) -> Option<f64> {
        self.stored.label().expires.map(|time| time as f64)
    }
}

impl WebSecret {
    /// The secret, if it is not sealed.
    pub(crate) fn open(&self) -> Result<&ClientSecret> {
        let key = self.stored.label().key;
        self.stored.secret().ok_or_else(|| {
            let words = format!("the secret of key {key} is sealed, expected one that is open");
            Failure::new(Kind::Usage, words)
        })
    }
}
