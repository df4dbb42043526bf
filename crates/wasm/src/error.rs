//! Errors as JavaScript's, with the kinds of `docs/cli.md`.

use js_sys::Reflect;
use wasm_bindgen::JsValue;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Failure>;

/// An error for JavaScript: its kind, and words for people.
pub struct Failure {
    kind: Kind,
    words: String,
}

/// Kinds of errors, as the table of exit statuses in `docs/cli.md` has them.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A fault of Palladion.
    Internal,
    /// An argument does not fit.
    Usage,
    /// A file is damaged, or a passphrase does not open a seal.
    Data,
    /// Sound files do not belong together.
    Mismatch,
    /// The receiver of the keys has failed.
    Io,
    /// Noise has used up its margin.
    Noise,
    /// Parameters are not secure.
    Security,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Usage => "usage",
            Self::Data => "data",
            Self::Mismatch => "mismatch",
            Self::Io => "io",
            Self::Noise => "noise",
            Self::Security => "security",
        }
    }
}

impl Failure {
    /// An error that this crate itself finds.
    pub(crate) fn new(kind: Kind, words: String) -> Self {
        Self { kind, words }
    }
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        let error = js_sys::Error::new(&failure.words);
        let (name, word) = (JsValue::from("kind"), JsValue::from(failure.kind.word()));
        // A fresh error takes any property.
        let _ = Reflect::set(&error, &name, &word);
        error.into()
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        Self::new(of_client(&error), error.to_string())
    }
}

impl From<exchange::Error> for Failure {
    fn from(error: exchange::Error) -> Self {
        Self::new(of_exchange(&error), error.to_string())
    }
}

impl From<seal::Error> for Failure {
    fn from(error: seal::Error) -> Self {
        let kind = match &error {
            seal::Error::Client(error) => of_client(error),
            seal::Error::Cost { .. } | seal::Error::Passphrase { .. } => Kind::Data,
            seal::Error::Empty | seal::Error::Kind { .. } => Kind::Usage,
            _ => Kind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

fn of_client(error: &client::Error) -> Kind {
    match error {
        client::Error::Exchange(error) => of_exchange(error),
        client::Error::Bfv(error) => of_scheme(error),
        client::Error::Image { .. } | client::Error::Key { .. } => Kind::Usage,
        client::Error::NoMargin { .. } => Kind::Noise,
        _ => Kind::Internal,
    }
}

fn of_exchange(error: &exchange::Error) -> Kind {
    use exchange::Error::{
        Bfv, Bytes, Expired, Io, Layout, MissingKey, MissingKeys, MissingPackingKey, OtherQuery,
        Profile, Program, PublicInputs, PublicMasks, Shape,
    };
    match error {
        Bfv(error) => of_scheme(error),
        Bytes(rlwe::bytes::BytesError::Fingerprint { .. }) => Kind::Mismatch,
        Bytes(_) | Program(_) | Shape { .. } => Kind::Data,
        Expired { .. } | Layout { .. } | OtherQuery { .. } | Profile { .. } => Kind::Mismatch,
        MissingKey { .. } | MissingKeys { .. } | MissingPackingKey { .. } => Kind::Mismatch,
        PublicInputs | PublicMasks => Kind::Usage,
        Io(_) => Kind::Io,
        _ => Kind::Internal,
    }
}

fn of_scheme(error: &bfv::Error) -> Kind {
    use rlwe::Error::{Insecure, InsecureSparse, KeyMismatch};
    match error {
        bfv::Error::Rlwe(KeyMismatch(..)) => Kind::Mismatch,
        bfv::Error::Rlwe(Insecure { .. } | InsecureSparse { .. }) => Kind::Security,
        _ => Kind::Data,
    }
}
