//! The evaluation keys of a program: public, made by the client for the server.

use crate::error::{Error, Result};
use crate::label::Label;
use crate::needs::{Need, Needs};
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

    /// The same key, as one of the secret with the given identity.
    #[must_use]
    pub fn of_key(mut self, id: KeyId) -> Self {
        let baby_steps = self.baby_steps.get_mut().into_iter().flatten();
        for ct in self.ciphertexts.iter_mut().chain(baby_steps) {
            ct.rlwe_mut().set_key(id);
        }
        self
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
    label: Label,
}

impl EvaluationKeys {
    /// The same keys with a label. All of them belong to the secret that it names.
    #[must_use]
    pub fn labelled(self, label: Label) -> Self {
        let id = label.key;
        let packing = self.packing.into_iter();
        Self {
            relinearization: self.relinearization.map(|key| key.of_keys(id, id)),
            galois: self.galois.of_key(id),
            packing: packing
                .map(|(values, key)| (values, key.of_key(id)))
                .collect(),
            switch: self.switch,
            public: self.public.map(|key| key.of_key(id)),
            label,
        }
    }

    /// Name and life of the keys. Keys from files before version 3 have none.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The keys that are here.
    pub fn needs(&self) -> Needs {
        let relinearization = self.relinearization.iter();
        let galois = self.galois.iter();
        let packing = self.packing.iter();
        let level = |key: &PackingKey| key.ciphertexts.first().map_or(0, Ciphertext::level);
        relinearization
            .map(|key| Need::Relinearization { level: key.level() })
            .chain(galois.map(|(element, key)| Need::Galois {
                element,
                level: key.level(),
            }))
            .chain(packing.map(|(&values, key)| Need::Packing {
                values,
                level: level(key),
            }))
            .chain(self.switch.iter().map(|_| Need::Dimension))
            .chain(
                self.public
                    .iter()
                    .map(|key| Need::Public { level: key.level() }),
            )
            .collect()
    }

    /// Adds keys of the same secret. Where both sets have a key, that of the higher level stays.
    ///
    /// # Errors
    /// [`rlwe::Error::KeyMismatch`] if they are of another secret.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        let joined = self.id()?.join("set of evaluation keys", other.id()?);
        let mut label = self.label;
        label.key = joined.map_err(rlwe::Error::from)?;
        let lives = [self.label.expires, other.label.expires];
        label.expires = lives.into_iter().flatten().min();
        let has = self.needs();
        let mut add = |key: EvaluationKey| {
            if !has.covers(key.need()) {
                self.insert(key);
            }
        };
        other
            .relinearization
            .map(EvaluationKey::Relinearization)
            .map(&mut add);
        for (element, key) in other.galois.into_keys() {
            add(EvaluationKey::Galois(element, key));
        }
        for (values, key) in other.packing {
            add(EvaluationKey::Packing(values, key));
        }
        other.switch.map(EvaluationKey::Dimension).map(&mut add);
        other.public.map(EvaluationKey::Public).map(&mut add);
        self.label = label;
        Ok(())
    }

    /// Checks that the keys that a program needs are here.
    ///
    /// # Errors
    /// [`Error::MissingKeys`].
    pub fn check(&self, needed: &Needs) -> Result<()> {
        needed.check_met_by(&self.needs())
    }

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
            label: Label::default(),
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

    /// Checks that all keys belong to one secret, and returns its identity. Keys from files before
    /// version 3 do not state one.
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
