//! Energies of accesses and operations.
//!
//! The energy of a byte or of a word does not depend on rates. A part whose power is printed gives
//! the power together with the activity at which it is drawn, and the energy follows once.

use super::literal::{required, within, wrong};
use crate::error::Result;
use serde::Deserialize;

/// The key `energy` of a part: picojoules directly, or watts at a rate.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Energy {
    picojoules_per_byte: Option<f64>,
    picojoules_per_word: Option<f64>,
    watts: Option<f64>,
    bytes_per_second: Option<f64>,
    words_per_second: Option<f64>,
}

/// The amount whose energy a part states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// A byte that a memory or a network passes.
    Byte,
    /// A word that passes a unit once. It passes a unit of stages once for each stage.
    Word,
}

impl Amount {
    fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::Word => "word",
        }
    }
}

impl Energy {
    /// Checks that one form is given, that of `amount`, with values in range.
    pub(super) fn check(&self, key: &str, amount: Amount) -> Result<()> {
        let name = amount.name();
        let (picojoules, rate, others) = match amount {
            Amount::Byte => (
                self.picojoules_per_byte,
                self.bytes_per_second,
                [self.picojoules_per_word, self.words_per_second],
            ),
            Amount::Word => (
                self.picojoules_per_word,
                self.words_per_second,
                [self.picojoules_per_byte, self.bytes_per_second],
            ),
        };
        match (picojoules, self.watts, rate, others) {
            (Some(picojoules), None, None, [None, None]) => within(
                &format!("{key}.picojoules_per_{name}"),
                picojoules,
                0.0..=1e9,
            ),
            (None, Some(watts), Some(rate), [None, None]) => {
                within(&format!("{key}.watts"), watts, 0.0..=1e6)?;
                within(&format!("{key}.{name}s_per_second"), rate, 1.0..=1e21)
            }
            _ => Err(wrong(
                key,
                self.keys(),
                format!("{{ picojoules_per_{name} }}, or {{ watts, {name}s_per_second }}"),
            )),
        }
    }

    /// The given keys, for an error.
    fn keys(&self) -> String {
        let all = [
            ("picojoules_per_byte", self.picojoules_per_byte),
            ("picojoules_per_word", self.picojoules_per_word),
            ("watts", self.watts),
            ("bytes_per_second", self.bytes_per_second),
            ("words_per_second", self.words_per_second),
        ];
        let names = all.iter().filter(|(_, value)| value.is_some());
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        format!("{{ {} }}", names.join(", "))
    }

    /// Joules of one byte or one word, after [`Energy::check`].
    pub(super) fn joules(&self) -> f64 {
        let direct = self.picojoules_per_byte.or(self.picojoules_per_word);
        let rate = self.bytes_per_second.or(self.words_per_second);
        direct.map_or_else(
            || self.watts.unwrap_or(0.0) / rate.unwrap_or(1.0),
            |picojoules| picojoules * 1e-12,
        )
    }
}

/// Refuses the watts of a part that come without their activity, and a missing energy. `rate` is
/// what a part of these sizes passes in a second if it is always busy.
pub(super) fn check_energy(
    (key, energy): (&str, Option<Energy>),
    (old, watts): (&str, Option<f64>),
    (amount, rate): (Amount, f64),
) -> Result<()> {
    let name = amount.name();
    if let Some(watts) = watts {
        return Err(wrong(
            old,
            watts,
            format!(
                "the energy of a {name}. If these are the watts while it is always busy, write in \
                 their place: {} = {{ watts = {watts:?}, {name}s_per_second = {rate:e} }}",
                key.rsplit('.').next().unwrap_or(key)
            ),
        ));
    }
    let line = format!("{{ picojoules_per_{name} }}, or {{ watts, {name}s_per_second }}");
    required(key, energy, &line)?.check(key, amount)
}
