//! Quadratic forms of tables: a quadratic function, shift and clip, which two parties compute with
//! one square.

use network::Lut;
use serde::{Deserialize, Serialize};

/// Largest shift of a form. The numbers of a table have at most 17 bits, so its thresholds have at
/// most 61 bits. A test has a table that needs 41 bits.
const LARGEST_SHIFT: u32 = 44;
/// Bits after the point in the search for the middle of the possible quadratics.
const FINE: u32 = 50;
/// Largest accumulator of a form, and most runs of a table. These limits keep all numbers below
/// `2^127`.
const MOST_REACH: i64 = 1 << 22;
const MOST_RUNS: usize = 1 << 12;
/// Largest number of rounds in which values inside a run are added to the bounds of a form.
const MOST_TRIES: usize = 32;

/// The function `x -> clamp((square x^2 + linear x + offset) >> shift, low, high)`, with an
/// arithmetic shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quadratic {
    /// Factor of the square of the accumulator.
    pub square: i64,
    /// Factor of the accumulator.
    pub linear: i64,
    /// Constant term.
    pub offset: i64,
    /// Number of bits shifted out.
    pub shift: u32,
    /// Smallest output.
    pub low: i64,
    /// Largest output.
    pub high: i64,
}

impl Quadratic {
    /// Computes the output for the accumulator `x`, by the definition.
    pub fn apply(&self, x: i64) -> i64 {
        let value = (self.before_shift(x) + i128::from(self.offset)) >> self.shift;
        value.clamp(i128::from(self.low), i128::from(self.high)) as i64
    }

    fn before_shift(&self, x: i64) -> i128 {
        let x = i128::from(x);
        (i128::from(self.square) * x + i128::from(self.linear)) * x
    }

    /// Fits a quadratic to a table at the accumulators `step * k`, as a function of `k`, for all
    /// whole `k` of at most `reach` in absolute value. Beyond the table's ends, the table and the
    /// form have the value at the end. Returns `None` if the search fails.
    ///
    /// Each run of equal values `v` bounds the quadratic `f` at the run's ends: `v 2^s <= f` unless
    /// `v` is the smallest value, and `f < (v + 1) 2^s` unless `v` is the largest value. These
    /// bounds are linear in the coefficients. The method minimises the largest violation, a convex
    /// function, and looks around the minimum for whole coefficients, with the smallest shift
    /// first. The result is then compared with all runs, also at the quadratic's vertex.
    pub fn of_table(lut: &Lut, step: i64, reach: i64) -> Option<Self> {
        let runs = Runs::new(lut, step, reach)?;
        let mut bounds = runs.at_ends();
        for _ in 0..MOST_TRIES {
            let (slope, violation) = bounds.middle();
            if violation > 0 {
                return None;
            }
            let form = (0..=LARGEST_SHIFT).find_map(|shift| bounds.whole(&runs, slope, shift))?;
            match runs.difference(&form) {
                None => return Some(form),
                Some((x, value)) => bounds.add(&runs, x, value),
            }
        }
        None
    }

    /// The smallest and the largest value of `square x^2 + linear x` for `|x| <= reach`.
    pub fn range(&self, reach: i64) -> (i128, i128) {
        let places = [-reach, reach]
            .into_iter()
            .chain(self.vertex(-reach, reach));
        let values = || places.clone().map(|x| self.before_shift(x));
        (values().min().unwrap_or(0), values().max().unwrap_or(0))
    }

    /// The whole numbers next to the vertex that lie in `first..=last`.
    fn vertex(&self, first: i64, last: i64) -> impl Iterator<Item = i64> + Clone {
        let doubled = 2 * i128::from(self.square);
        let below = match doubled {
            0 => i128::from(i64::MIN),
            _ => (-i128::from(self.linear)).div_euclid(doubled),
        };
        (-1..=1)
            .map(move |near| below + near)
            .filter(move |x| (i128::from(first)..=i128::from(last)).contains(x))
            .map(|x| x as i64)
    }

    /// The fewest bits of shares for the form: all numbers before the shift lie in
    /// `[-2^(bits-1), 2^(bits-1))` for all `|x| <= reach`, also above `low`, and the shift is less
    /// than `bits`. With this many bits the protocol on shares takes its cheap form. `None` if 62
    /// bits are too few.
    pub fn bits(&self, reach: i64) -> Option<u32> {
        let (least, most) = self.range(reach);
        let constant = i128::from(self.offset) - (i128::from(self.low) << self.shift);
        let numbers = [least, most, least + constant, most + constant];
        let clips = [self.low, self.high, reach].map(i128::from);
        let all = || numbers.iter().chain(&clips);
        (self.shift + 1..=62).find(|&bits| {
            let half = 1i128 << (bits - 1);
            all().all(|x| (-half..half).contains(x))
        })
    }
}

/// The runs of a table at the multiples of a step, up to a reach.
struct Runs {
    /// First and last position of each run, and its value.
    runs: Vec<(i64, i64, i64)>,
    low: i64,
    high: i64,
}

impl Runs {
    /// Computes the runs. Returns `None` if there are too many runs or too large numbers.
    fn new(lut: &Lut, step: i64, reach: i64) -> Option<Self> {
        if !(0..=MOST_REACH).contains(&reach) || lut.starts.len() > MOST_RUNS {
            return None;
        }
        let first = |start: i64| -(-start).div_euclid(step);
        let mut runs = Vec::new();
        for (index, &value) in lut.values.iter().enumerate() {
            let begin = match index {
                0 => -reach,
                _ => first(lut.starts[index]).max(-reach),
            };
            let end = lut.starts.get(index + 1);
            let end = end.map_or(reach, |&start| first(start) - 1).min(reach);
            if begin <= end {
                runs.push((begin, end, value));
            }
        }
        let values = || runs.iter().map(|run| run.2);
        let (low, high) = (values().min()?, values().max()?);
        let small = low >= -(1 << 15) && high <= 1 << 16;
        small.then_some(Self { runs, low, high })
    }

    fn at_ends(&self) -> Bounds {
        let mut bounds = Bounds::default();
        for &(begin, end, value) in &self.runs {
            bounds.add(self, begin, value);
            if end > begin {
                bounds.add(self, end, value);
            }
        }
        bounds
    }

    /// A position where `form` differs from the table, with the table's value. Within a run, a
    /// quadratic is extreme at the ends and at its vertex.
    fn difference(&self, form: &Quadratic) -> Option<(i64, i64)> {
        self.runs.iter().find_map(|&(begin, end, value)| {
            let mut places = [begin, end].into_iter().chain(form.vertex(begin, end));
            let other = places.find(|&x| form.apply(x) != value);
            other.map(|x| (x, value))
        })
    }
}

/// Bounds of a quadratic at positions: in `least` the value that the quadratic must reach, in
/// `below` the value below which it must stay.
#[derive(Default)]
struct Bounds {
    least: Vec<(i128, i128)>,
    below: Vec<(i128, i128)>,
}

impl Bounds {
    fn add(&mut self, runs: &Runs, x: i64, value: i64) {
        let (x, v) = (i128::from(x), i128::from(value));
        if value > runs.low {
            self.least.push((x, v));
        }
        if value < runs.high {
            self.below.push((x, v + 1));
        }
    }

    /// The gap for the factors `a` of the square and `b` of `x`: the least possible offset minus
    /// the largest one. Also returns the positions that determine the two offsets, and the least
    /// offset.
    fn gap(&self, a: i128, b: i128, shift: u32) -> (i128, [i128; 2], i128) {
        let least = self
            .least
            .iter()
            .map(|&(x, v)| ((v << shift) - (a * x + b) * x, x));
        let below = self
            .below
            .iter()
            .map(|&(x, v)| ((v << shift) - 1 - (a * x + b) * x, x));
        match (least.max(), below.min()) {
            (Some((least, at)), Some((most, of))) => (least - most, [at, of], least),
            // A constant, for which the caller never asks: every offset fits.
            _ => (0, [0, 0], 0),
        }
    }

    /// The factor `b` of `x` with the smallest gap for `a`, by bisection, and the gap. The gap is
    /// convex in `b`.
    fn linear(&self, a: i128, shift: u32) -> (i128, i128) {
        let largest = (i128::from(1u32 << 18) << shift) + a.abs() * i128::from(2 * MOST_REACH);
        let (mut low, mut high) = (-largest, largest);
        while low < high {
            let middle = low + (high - low).div_euclid(2);
            let (_, [at, of], _) = self.gap(a, middle, shift);
            // `of - at` is the derivative of the gap at `middle`, from the right or from the left.
            if of - at >= 0 {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let near = (low - 1..=low).map(|b| (self.gap(a, b, shift).0, b));
        let (gap, b) = near.min().expect("two numbers");
        (b, gap)
    }

    /// The factor of the square with the smallest gap, times `2^FINE`, and the gap.
    fn middle(&self) -> (i128, i128) {
        // Minimises a convex function by thirds: it is flat at its minimum alone.
        let (mut low, mut high) = (-(1i128 << (FINE + 17)), 1i128 << (FINE + 17));
        while high - low > 2 {
            let third = (high - low) / 3;
            let (left, right) = (low + third, high - third);
            if self.linear(left, FINE).1 <= self.linear(right, FINE).1 {
                high = right;
            } else {
                low = left;
            }
        }
        let all = (low..=high).map(|a| (self.linear(a, FINE).1, a));
        let (gap, a) = all.min().expect("some numbers");
        (a, gap)
    }

    /// A form with whole coefficients at the shift `shift`, near the middle.
    fn whole(&self, runs: &Runs, slope: i128, shift: u32) -> Option<Quadratic> {
        let nearest = (slope + (1 << (FINE - shift - 1))) >> (FINE - shift);
        let coefficients = [0, 1, -1].into_iter().find_map(|near| {
            let a = nearest + near;
            let (b, gap) = self.linear(a, shift);
            (gap <= 0).then(|| (a, b, self.gap(a, b, shift).2))
        });
        let (square, linear, offset) = coefficients?;
        Some(Quadratic {
            square: i64::try_from(square).ok()?,
            linear: i64::try_from(linear).ok()?,
            offset: i64::try_from(offset).ok()?,
            shift,
            low: runs.low,
            high: runs.high,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compares a form with the table at every accumulator, by both definitions.
    fn check(lut: &Lut, step: i64, reach: i64) -> Quadratic {
        let form = Quadratic::of_table(lut, step, reach).unwrap();
        for k in -reach..=reach {
            assert_eq!(form.apply(k), lut.apply(step * k), "{form:?} at {k}");
        }
        let bits = form.bits(reach).unwrap();
        let naive =
            |k: i64| i128::from(form.square) * i128::from(k * k) + i128::from(form.linear * k);
        let range = (-reach..=reach).map(naive);
        let range = (range.clone().min().unwrap(), range.max().unwrap());
        assert_eq!(form.range(reach), range);
        assert!(
            range.0 >= -(1 << (bits - 1)) && range.1 < 1 << (bits - 1),
            "{bits}"
        );
        form
    }

    fn quantised([a, b, c]: [f64; 3], bound: i64, (low, high): (i64, i64)) -> Lut {
        Lut::new(bound, |x| {
            let x = x as f64 / bound as f64;
            (((a * x + b) * x + c).round_ties_even() as i64).clamp(low, high)
        })
    }

    #[test]
    fn a_trained_square_is_found() {
        let lut = quantised([140.3, 61.7, -3.1], 16_297, (-63, 127));
        let form = check(&lut, 1, 16_297);
        assert!(form.bits(16_297).unwrap() <= 52, "{form:?}");
        // A flat one, with thresholds so close that its shift is 41.
        check(
            &quantised(
                [1.2746431866097947, -68.58488589471565, 24.63054126607425],
                15_126,
                (-127, 127),
            ),
            1,
            15_126,
        );
        // At the left end the table stays at 76, and no quadratic does.
        assert_eq!(Quadratic::of_table(&lut, 1, 20_000), None);
        // A table that ends in clips goes on.
        check(
            &quantised([900.0, 61.7, -3.1], 16_297, (0, 127)),
            1,
            200_000,
        );
        check(
            &quantised([-900.0, 10.0, 100.2], 3_000, (-127, 127)),
            3,
            4_000,
        );
    }

    #[test]
    fn what_is_no_quadratic_is_not_found() {
        let cubic = Lut::new(2_000, |x| (x as f64 / 200.0).powi(3) as i64);
        let abs = Lut::new(300, |x| x.abs() >> 2);
        let wave = Lut::new(2_000, |x| (40.0 * (x as f64 / 300.0).sin()) as i64);
        for (lut, reach) in [(cubic, 2_000), (abs, 300), (wave, 2_000)] {
            assert_eq!(Quadratic::of_table(&lut, 1, reach), None);
        }
        let long = Lut::new(1 << 20, |x| x >> 8);
        assert_eq!(Quadratic::of_table(&long, 1, 1 << 23), None);
    }

    #[test]
    fn whole_squares_need_no_shift() {
        let form = check(&Lut::new(30, |x| x * x - 3 * x + 2), 1, 30);
        assert_eq!(
            (form.square, form.linear, form.offset, form.shift),
            (1, -3, 2, 0)
        );
        check(&Lut::new(300, |x| i64::from(x * x > 400)), 1, 300);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Quantised tables of `y = a x^2 + b x + c`, with all signs, within the
        /// clips and beyond.
        #[test]
        fn quantised_quadratics_are_found(
            a in prop_oneof![-700.0..700.0f64, -3.0..3.0f64],
            b in -200.0..200.0f64,
            c in -60.0..60.0f64,
            bound in prop_oneof![3i64..200, 200i64..20_000],
            low in prop_oneof![Just(0i64), Just(-127), -40i64..0],
            high in prop_oneof![Just(127i64), 1i64..64],
        ) {
            let lut = quantised([a, b, c], bound, (low, high));
            check(&lut, 1, bound);
            check(&lut, 1, bound / 2);
        }

        /// The search recovers random forms, with no larger shift.
        #[test]
        fn every_form_is_found(
            square in -3000i64..3000,
            linear in -1i64 << 20..1 << 20,
            offset in -1i64 << 24..1 << 24,
            shift in 0u32..26,
            (low, high) in (-200i64..0, 0i64..200),
            step in 1i64..4,
        ) {
            let made = Quadratic { square, linear, offset, shift, low, high };
            let lut = Lut::new(900, |x| made.apply(x.div_euclid(step)));
            check(&lut, step, 900 / step);
        }
    }
}
