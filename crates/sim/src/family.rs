//! The two families of machines, and the detection of a file's family.

use crate::error::{Error, Result};
use crate::{spatial, vector};

/// Built-in machines: names with the texts of their files.
const BUILT_IN: [(&str, &str); 7] = [
    ("versal", include_str!("../machines/versal-vck190.toml")),
    ("f1", include_str!("../machines/f1.toml")),
    ("athena", include_str!("../machines/athena.toml")),
    ("craterlake", include_str!("../machines/craterlake.toml")),
    ("sharp", include_str!("../machines/sharp.toml")),
    ("hyena", include_str!("../machines/hyena.toml")),
    ("tiny", include_str!("../machines/tiny.toml")),
];

/// A machine of either family.
#[derive(Clone, Debug, PartialEq)]
pub enum Family {
    /// An array of tiles joined by streams. It runs designs.
    Spatial(Box<spatial::Machine>),
    /// Wide units over a scratchpad. It runs traces.
    Vector(Box<vector::Machine>),
}

impl Family {
    /// Reads and checks the file of a machine. Its key `family` is `spatial` or `vector`. A file
    /// without the key is `spatial`.
    ///
    /// # Errors
    /// The errors of [`spatial::Machine::from_toml`] and of [`vector::Machine::from_toml`].
    pub fn from_toml(text: &str) -> Result<Self> {
        if family_of(text)? == "vector" {
            let machine = vector::Machine::from_toml(text)?;
            return Ok(Self::Vector(Box::new(machine)));
        }
        let machine = spatial::Machine::from_toml(text)?;
        Ok(Self::Spatial(Box::new(machine)))
    }

    /// Name of the family, as files have it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Spatial(_) => "spatial",
            Self::Vector(_) => "vector",
        }
    }
}

/// Names of the built-in machines of both families.
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

/// Text of the file of a built-in machine.
///
/// # Errors
/// [`Error::UnknownMachine`] if there is no built-in machine of this name.
pub fn built_in(name: &str) -> Result<&'static str> {
    let machine = BUILT_IN.iter().find(|(known, _)| *known == name);
    let unknown = || Error::UnknownMachine {
        found: name.to_owned(),
        expected: names(),
    };
    machine.map(|(_, text)| *text).ok_or_else(unknown)
}

/// Refuses the file of a machine of another family than `expected`.
pub(crate) fn expect_family(text: &str, expected: &'static str) -> Result<()> {
    let family = family_of(text)?;
    if family == expected {
        return Ok(());
    }
    Err(Error::Family {
        found: family,
        expected,
    })
}

fn family_of(text: &str) -> Result<String> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| Error::Toml(error.to_string()))?;
    match table.get("family") {
        None => Ok("spatial".into()),
        Some(toml::Value::String(family)) => Ok(family.clone()),
        Some(other) => {
            let (key, found) = ("family".into(), other.to_string());
            Err(Error::Key {
                key,
                found,
                expected: "\"spatial\" or \"vector\"".into(),
            })
        }
    }
}
