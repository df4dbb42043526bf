//! Linear forms of tables: multiplication, shift and clip, which two parties compute on shares.

use network::Lut;
use serde::{Deserialize, Serialize};

/// Largest shift of a form. Tables of networks have at most 65,535 entries, and a line that
/// separates the steps of such a table has a slope of less than 34 bits.
const LARGEST_SHIFT: u32 = 40;

/// The function `x -> clamp((multiplier x + offset) >> shift, low, high)`, with an arithmetic
/// shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Factor of the accumulator.
    pub multiplier: i64,
    /// Constant added after the multiplication.
    pub offset: i64,
    /// Number of bits shifted out.
    pub shift: u32,
    /// Smallest output.
    pub low: i64,
    /// Largest output.
    pub high: i64,
}

impl Form {
    /// Computes the output for the accumulator `x`, by the definition.
    pub fn apply(&self, x: i64) -> i64 {
        ((self.multiplier * x + self.offset) >> self.shift).clamp(self.low, self.high)
    }

    /// Finds the form of a table on the accumulators `step * k`, for whole `k`, as a function of
    /// `k`. The shift is the smallest possible one, and the multiplier the smallest one for this
    /// shift. Returns `None` for a table without a form: one that rises and falls, or is not near a
    /// line.
    ///
    /// The form is exact at each accumulator `step * k`, also beyond the table's ends: there the
    /// table has the value at the end, which is the form's `low` or `high`.
    ///
    /// The search for a table that rises in steps: value `v` begins at `x_v`. Hence the multiplier
    /// `m`, the offset `o` and the shift `s` must satisfy `m x_v + o >= v 2^s` and
    /// `m (x_v - 1) + o < v 2^s`. An offset exists if and only if for every two values `v < w` the
    /// intervals meet, which bounds `m` from both sides.
    pub fn of_table(lut: &Lut, step: i64) -> Option<Self> {
        let steps = Steps::rising(lut, step);
        if let Some(steps) = steps {
            return steps.form();
        }
        let mirrored = mirror(lut);
        let form = Steps::rising(&mirrored, step)?.form()?;
        Some(Self {
            multiplier: -form.multiplier,
            ..form
        })
    }

    /// The fewest bits of shares for the form: `multiplier x` and
    /// `multiplier x + offset - low 2^shift` lie in `[-2^(bits-1), 2^(bits-1))` for all
    /// `|x| <= largest`, and the shift is less than `bits`. With this many bits the protocol on
    /// shares takes its cheap form. `None` if 62 bits are too few.
    pub fn bits(&self, largest: i64) -> Option<u32> {
        let constant = i128::from(self.offset) - (i128::from(self.low) << self.shift);
        // The multiplier of a constant is 0, but the shares of its accumulators still need their
        // bits.
        let multiplier = i128::from(self.multiplier.abs().max(1));
        let reach = multiplier * i128::from(largest) + constant.abs();
        let clips = i128::from(self.low.abs().max(self.high.abs()));
        let least = self.shift + 1;
        (least.max(2)..=62).find(|&bits| reach.max(clips) < 1 << (bits - 1))
    }
}

/// The table mirrored at 0: its value at `x` is the value of `lut` at `-x`.
fn mirror(lut: &Lut) -> Lut {
    // Run i covers starts[i] ..= starts[i + 1] - 1; mirrored it starts at 1 - starts[i + 1]. The
    // first run of the mirrored table has no lower end: its start may be any number up to the
    // second run's start.
    let mut starts: Vec<i64> = lut.starts[1..].iter().rev().map(|&s| 1 - s).collect();
    starts.insert(0, starts.first().map_or(0, |&s| s - 1));
    let values = lut.values.iter().rev().copied().collect();
    Lut { starts, values }
}

/// The steps of a rising table: each value above the first, with the first accumulator that has it.
struct Steps {
    low: i64,
    high: i64,
    /// Value and first accumulator of each step, both rising.
    steps: Vec<(i64, i64)>,
}

impl Steps {
    /// The steps of a table. Returns `None` if the table falls somewhere.
    fn rising(lut: &Lut, step: i64) -> Option<Self> {
        let low = *lut.values.first()?;
        let high = *lut.values.last()?;
        let mut steps = Vec::new();
        let mut last = low;
        for (&start, &value) in lut.starts.iter().zip(&lut.values) {
            if value < last {
                return None;
            }
            // The first multiple of `step` in the run.
            let place = start.div_euclid(step) + i64::from(start.rem_euclid(step) != 0);
            steps.extend((last + 1..=value).map(|v| (v, place)));
            last = value;
        }
        Some(Self { low, high, steps })
    }

    fn form(&self) -> Option<Form> {
        let (low, high) = (self.low, self.high);
        if self.steps.is_empty() {
            let (multiplier, offset, shift) = (0, low, 0);
            return Some(Form {
                multiplier,
                offset,
                shift,
                low,
                high,
            });
        }
        let pairs = || {
            let steps = self.steps.iter().enumerate();
            steps.flat_map(|(i, &a)| self.steps[i + 1..].iter().map(move |&b| (a, b)))
        };
        // For each pair of steps, the rise and the run between them. Among pairs with equal runs,
        // only the extreme rises bound the multiplier.
        let mut extremes = std::collections::BTreeMap::<i64, (i64, i64)>::new();
        for ((v, x), (w, y)) in pairs() {
            let (least, most) = extremes.entry(y - x).or_insert((w - v, w - v));
            (*least, *most) = ((*least).min(w - v), (*most).max(w - v));
        }
        (0..=LARGEST_SHIFT).find_map(|shift| {
            let (mut least, mut most) = (1i128, i128::from(i64::MAX >> 24));
            for (&run, &(rise, largest)) in &extremes {
                let (run, rise) = (i128::from(run), i128::from(rise));
                let above = (i128::from(largest) << shift) + 1;
                least = least.max((above + run) / (run + 1));
                if run > 1 {
                    most = most.min(((rise << shift) - 1) / (run - 1));
                }
            }
            if least > most {
                return None;
            }
            let multiplier = least;
            let offsets = self.steps.iter();
            let offsets =
                offsets.map(|&(v, x)| (i128::from(v) << shift) - multiplier * i128::from(x));
            Some(Form {
                multiplier: i64::try_from(multiplier).ok()?,
                offset: i64::try_from(offsets.max()?).ok()?,
                shift,
                low,
                high,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(lut: &Lut, step: i64, bound: i64) -> Form {
        let form = Form::of_table(lut, step).unwrap();
        for k in -2 * bound / step..=2 * bound / step {
            assert_eq!(form.apply(k), lut.apply(step * k), "{form:?} at {k}");
        }
        form
    }

    #[test]
    fn a_rounded_line_with_clips_is_found() {
        let scale = 0.004_631;
        let lut = Lut::new(32_474, |x| {
            ((x as f64 * scale).round_ties_even() as i64).clamp(0, 127)
        });
        let form = check(&lut, 1, 32_474);
        assert!(form.bits(40_000).unwrap() < 40, "{form:?}");
    }

    #[test]
    fn differences_of_a_maximum_need_no_multiplier() {
        // As the importer writes them: every weight is 16, and halves are rounded to even.
        let lut = Lut::new(1932, |x| {
            ((x as f64 / 16.0).round_ties_even() as i64).max(0)
        });
        assert_eq!(Form::of_table(&lut, 1), None);
        let form = check(&lut, 16, 1932);
        assert_eq!((form.multiplier, form.offset, form.shift), (1, 0, 0));
        assert_eq!(form.bits(121), Some(8));
    }

    #[test]
    fn falling_constant_and_jumping_tables() {
        check(&Lut::new(300, |x| ((-x) >> 3).clamp(-9, 20)), 1, 300);
        let constant = check(&Lut::new(300, |_| -7), 1, 300);
        assert!(constant.bits(5_000).unwrap() > 13);
        check(&Lut::new(300, |x| 50 * i64::from(x >= 13)), 1, 300);
        check(&Lut::new(5, |x| 3 * x), 1, 5);
        assert_eq!(Form::of_table(&Lut::new(300, |x| x.abs() >> 3), 1), None);
        let curve = Lut::new(300, |x| (10.0 * (x as f64 / 50.0).tanh()) as i64);
        assert_eq!(Form::of_table(&curve, 1), None);
    }

    proptest! {
        /// The search recovers random forms, with no larger shift.
        #[test]
        fn every_form_is_found(
            multiplier in -5000i64..5000,
            offset in -1i64 << 20..1 << 20,
            shift in 0u32..20,
            low in -200i64..0,
            high in 0i64..200,
        ) {
            let made = Form { multiplier, offset, shift, low, high };
            let lut = Lut::new(700, |x| made.apply(x));
            let found = check(&lut, 1, 700);
            prop_assert!(found.shift <= shift);
        }
    }
}
