//! The evaluation keys of a program: public, made by the client for the server.

use crate::error::{Error, Result};
use crate::needs::Need;
use bfv::Ciphertext;
use ring::sample::Seed;
use rlwe::{DimensionKey, GaloisKeys, KeyId, PublicKey, SwitchKey};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One of the evaluation keys.
pub enum EvaluationKey {
    /// The relinearization key.
    Relinearization(SwitchKey),
    /// The Galois key of an element.
    Galois(usize, SwitchKey),
    /// The packing key for a number of values.
    Packing(usize, PackingKey),
    /// The key of the dimension switch.
    Dimension(DimensionKey),
    /// The public key.
    Public(PublicKey),
}

impl EvaluationKey {
    /// Returns the need that this key meets.
    pub fn need(&self) -> Need {
        match self {
            Self::Relinearization(key) => Need::Relinearization { level: key.level() },
            &Self::Galois(element, ref key) => Need::Galois {
                element,
                level: key.level(),
            },
            &Self::Packing(values, ref key) => Need::Packing {
                values,
                level: key.ciphertexts.first().map_or(0, Ciphertext::level),
            },
            Self::Dimension(_) => Need::Dimension,
            Self::Public(key) => Need::Public { level: key.level() },
        }
    }
}

/// The LWE secret in the slots of a few ciphertexts, rotated as [packing](crate::packing) needs it.
#[derive(Clone)]
pub struct PackingKey {
    seed: Seed,
    /// Key material.
    ciphertexts: Vec<Ciphertext>,
    /// All baby steps, once a server has made them.
    baby_steps: OnceLock<Vec<Ciphertext>>,
}

impl PackingKey {
    /// Makes a key from its seed and ciphertexts.
    pub fn new(seed: Seed, ciphertexts: Vec<Ciphertext>) -> Self {
        Self {
            seed,
            ciphertexts,
            baby_steps: OnceLock::new(),
        }
    }

    /// Seed of the ciphertexts' masks.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The key material.
    pub fn ciphertexts(&self) -> &[Ciphertext] {
        &self.ciphertexts
    }

    /// The baby steps that [`keep_baby_steps`](Self::keep_baby_steps) has kept.
    pub fn baby_steps(&self) -> Option<&[Ciphertext]> {
        self.baby_steps.get().map(Vec::as_slice)
    }

    /// Keeps baby steps, which the server makes once from the key material. Later calls do not
    /// replace them.
    pub fn keep_baby_steps(&self, made: Vec<Ciphertext>) -> &[Ciphertext] {
        self.baby_steps.get_or_init(|| made)
    }
}

/// The evaluation keys that the client gives to the server. They are public.
#[derive(Clone, Default)]
pub struct EvaluationKeys {
    relinearization: Option<SwitchKey>,
    galois: GaloisKeys,
    packing: BTreeMap<usize, PackingKey>,
    switch: Option<DimensionKey>,
    public: Option<PublicKey>,
}

impl EvaluationKeys {
    /// Makes the keys from their parts.
    pub fn from_parts(
        relinearization: Option<SwitchKey>,
        galois: GaloisKeys,
        packing: BTreeMap<usize, PackingKey>,
        switch: Option<DimensionKey>,
    ) -> Self {
        Self {
            relinearization,
            galois,
            packing,
            switch,
            public: None,
        }
    }

    /// Adds a key. It replaces a key of the same kind, element and number of values.
    pub fn insert(&mut self, key: EvaluationKey) {
        match key {
            EvaluationKey::Relinearization(key) => self.relinearization = Some(key),
            EvaluationKey::Galois(element, key) => self.galois.insert(element, key),
            EvaluationKey::Packing(values, key) => {
                self.packing.insert(values, key);
            }
            EvaluationKey::Dimension(key) => self.switch = Some(key),
            EvaluationKey::Public(key) => self.public = Some(key),
        }
    }

    /// Relinearization key.
    ///
    /// # Errors
    /// [`Error::MissingKey`] if there is none.
    pub fn relinearization(&self) -> Result<&SwitchKey> {
        self.relinearization.as_ref().ok_or(Error::MissingKey {
            what: "relinearization key",
        })
    }

    /// Galois keys.
    pub fn galois(&self) -> &GaloisKeys {
        &self.galois
    }

    /// Packing key for a number of values.
    ///
    /// # Errors
    /// [`Error::MissingPackingKey`] if there is none.
    pub fn packing(&self, values: usize) -> Result<&PackingKey> {
        self.packing
            .get(&values)
            .ok_or(Error::MissingPackingKey { values })
    }

    /// All packing keys, by number of values.
    pub fn packings(&self) -> &BTreeMap<usize, PackingKey> {
        &self.packing
    }

    /// Key of the dimension switch.
    ///
    /// # Errors
    /// [`Error::MissingKey`] if there is none.
    pub fn switch(&self) -> Result<&DimensionKey> {
        self.switch.as_ref().ok_or(Error::MissingKey {
            what: "key of the dimension switch",
        })
    }

    /// Public key, with which a server re-randomises answers.
    ///
    /// # Errors
    /// [`Error::MissingKey`] if there is none.
    pub fn public(&self) -> Result<&PublicKey> {
        self.public
            .as_ref()
            .ok_or(Error::MissingKey { what: "public key" })
    }

    /// Checks that all keys belong to one secret, and returns its identity. Keys from files do not
    /// state one.
    ///
    /// # Errors
    /// [`rlwe::Error::KeyMismatch`].
    pub fn id(&self) -> Result<KeyId> {
        let galois = self.galois.iter().map(|(_, key)| key);
        let switches = self.relinearization.iter().chain(galois);
        let packing = self.packing.values().flat_map(PackingKey::ciphertexts);
        let mut ids = switches
            .map(|key| key.ids()[1])
            .chain(self.public.iter().map(PublicKey::key))
            .chain(packing.map(|ct| ct.rlwe().key()));
        ids.try_fold(KeyId::ANY, |id, found| {
            let joined = id.join("evaluation key", found);
            Ok(joined.map_err(rlwe::Error::from)?)
        })
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        let switch = self.switch.iter().map(DimensionKey::byte_len);
        let keys = self.relinearization.iter().map(SwitchKey::byte_len);
        let packing = self
            .packing
            .values()
            .flat_map(|p| {
                p.ciphertexts
                    .iter()
                    .chain(p.baby_steps.get().into_iter().flatten())
            })
            .map(Ciphertext::byte_len);
        let public = self.public.iter().map(PublicKey::byte_len);
        self.galois.byte_len()
            + switch
                .chain(keys)
                .chain(packing)
                .chain(public)
                .sum::<usize>()
    }
}
