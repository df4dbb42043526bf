//! What is known of the size of a message, by which a message that does not fit is found.
//!
//! A message whose coefficients, times the scale, exceed half of the modulus decrypts to another
//! one. So a ciphertext carries bounds on its message, from both sides. Sums, products and
//! automorphisms compute those of their results. The bounds come from the values that were encrypted.
//! They stay in the process: bytes and keys do not contain them, since they say something about the
//! values. What comes from outside has an unknown size until [`Ciphertext::bounded`] states one.
//!
//! [`Ciphertext::bounded`]: crate::Ciphertext::bounded

use num_complex::Complex64;

/// log2 of the part of the room that a message may fill if its bounds exceed the room. A message
/// that was wrapped around fills less by chance, with a probability of `2^DOUBTED` for each of its
/// coefficients.
const DOUBTED: i32 = -6;
/// The same, for a message of unknown size.
const UNKNOWN: i32 = -1;

/// Bounds on a message, in its own units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Least absolute value of a slot, from below.
    smallest: f64,
    /// Largest absolute value of a slot, from below and from above.
    slots: [f64; 2],
    /// Largest absolute value of a coefficient, from below and from above.
    coefficients: [f64; 2],
    /// Bound on the coefficients that the ciphertext holds, which are others if they were wrapped.
    held: f64,
    doubt: Doubt,
}

/// Whether a message was within half of its modulus at all times.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doubt {
    /// It was.
    Fits,
    /// Nothing is known.
    Unknown,
    /// The bounds allow both.
    Perhaps,
    /// It was not: its largest coefficient was at least the first number, and the second would have
    /// fitted.
    Lost([f64; 2]),
}

impl Size {
    /// The size of a message of which nothing is known.
    pub const UNKNOWN: Self = Self {
        smallest: 0.0,
        slots: [0.0, f64::INFINITY],
        coefficients: [0.0, f64::INFINITY],
        held: f64::INFINITY,
        doubt: Doubt::Unknown,
    };

    /// The size of a message whose slots are at most `bound` in absolute value.
    pub fn at_most(bound: f64) -> Self {
        Self {
            smallest: 0.0,
            slots: [0.0, bound],
            coefficients: [0.0, bound],
            held: bound,
            doubt: Doubt::Fits,
        }
    }

    /// The size of the message with these slots, which may repeat.
    pub fn of_slots(slots: &[Complex64]) -> Self {
        let norms = || slots.iter().map(|v| v.norm());
        let largest = norms().fold(0.0, f64::max);
        let padded = !slots.len().is_power_of_two();
        Self {
            smallest: if padded {
                0.0
            } else {
                norms().fold(f64::INFINITY, f64::min)
            },
            slots: [largest; 2],
            ..Self::at_most(largest)
        }
    }

    /// The size of the message with these coefficients, and with the slots of `self`.
    #[must_use]
    pub(crate) fn with_coefficients(self, coefficients: &[f64]) -> Self {
        let largest = coefficients
            .iter()
            .fold(0.0f64, |most, c| most.max(c.abs()));
        Self {
            coefficients: [largest; 2],
            held: largest,
            ..self
        }
    }

    /// The size of the message with these coefficients.
    pub(crate) fn of_coefficients(coefficients: &[f64]) -> Self {
        let sum = coefficients.iter().map(|c| c.abs()).sum();
        Self::at_most(sum).with_coefficients(coefficients)
    }

    /// The size of a sum or of a difference.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let differ = |[low, high]: [f64; 2], [other_low, other_high]: [f64; 2]| {
            let least = (low - other_high).max(other_low - high).max(0.0);
            [least, high + other_high]
        };
        let apart = (self.smallest - other.slots[1]).max(other.smallest - self.slots[1]);
        Self {
            smallest: apart.max(0.0),
            slots: differ(self.slots, other.slots),
            coefficients: differ(self.coefficients, other.coefficients),
            held: self.held + other.held,
            doubt: self.doubt.and(other.doubt),
        }
    }

    /// The size of a product of two messages, slot by slot.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let [a, b] = [self.slots, other.slots];
        let least = (self.smallest * b[0]).max(a[0] * other.smallest);
        self.product(other, least)
    }

    /// The size of the square.
    #[must_use]
    pub fn squared(self) -> Self {
        self.product(self, self.slots[0].powi(2))
    }

    fn product(self, other: Self, least: f64) -> Self {
        // Nothing times something unknown is unknown.
        let times = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let most = times(self.slots[1], other.slots[1]);
        let held = match (self.doubt, other.doubt) {
            (Doubt::Fits, Doubt::Fits) => most,
            _ => f64::INFINITY,
        };
        Self {
            smallest: self.smallest * other.smallest,
            slots: [least, most],
            coefficients: [0.0, most],
            held,
            doubt: self.doubt.and(other.doubt),
        }
    }

    /// The size of the message times a number.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let factor = factor.abs();
        let times = |x: f64| if factor == 0.0 { 0.0 } else { x * factor };
        Self {
            smallest: times(self.smallest),
            slots: self.slots.map(times),
            coefficients: self.coefficients.map(times),
            held: times(self.held),
            doubt: self.doubt,
        }
    }

    /// The size of the message plus one number in every slot.
    #[must_use]
    pub fn shifted(self, number: Complex64) -> Self {
        let same = Self::of_slots(&[number]);
        self.plus(same.with_coefficients(&[number.re, number.im]))
    }

    /// The size of a message that is held where coefficients below `room` fit, of `n`
    /// coefficients.
    #[must_use]
    pub fn within(mut self, room: f64, n: usize) -> Self {
        self.coefficients[0] = self.coefficients[0].max(self.slots[0] / n as f64);
        self.coefficients[1] = self.coefficients[1].min(self.slots[1]);
        let found = match self.doubt {
            Doubt::Unknown => Doubt::Unknown,
            _ if self.coefficients[0] >= room => Doubt::Lost([self.coefficients[0], room]),
            _ if self.coefficients[1] >= room => Doubt::Perhaps,
            _ => Doubt::Fits,
        };
        self.doubt = self.doubt.and(found);
        if self.doubt == Doubt::Fits {
            self.held = self.coefficients[1];
        }
        self.held = self.held.min(room);
        self
    }

    /// The largest absolute value of a slot, from below. It is exact for squares and multiples of
    /// one message.
    pub fn largest_at_least(&self) -> f64 {
        self.slots[0]
    }

    /// The largest coefficient that a decrypted message may have, or `None` for every one; or the
    /// bits of a coefficient that did not fit, and the bits that did.
    pub(crate) fn trusted(&self) -> Result<Option<f64>, [f64; 2]> {
        match self.doubt {
            Doubt::Fits => Ok(None),
            Doubt::Unknown => Ok(Some(self.held * f64::from(UNKNOWN).exp2())),
            Doubt::Perhaps => Ok(Some(self.held * f64::from(DOUBTED).exp2())),
            Doubt::Lost(bounds) => Err(bounds),
        }
    }
}

impl Doubt {
    fn rank(self) -> u8 {
        match self {
            Self::Fits => 0,
            Self::Unknown => 1,
            Self::Perhaps => 2,
            Self::Lost(_) => 3,
        }
    }

    /// The greater doubt.
    fn and(self, other: Self) -> Self {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }
}
