//! Blind rotation, and bootstrapping.

use crate::glwe::{Glwe, GlweList};
use crate::lwe::Lwe;
use crate::modulus::modulus_switch;
use crate::params::Params;
use crate::poly::{extract_into, rotate_into};
use crate::switch::{Switch, SwitchKey, SwitchScratch};
use crate::table::TestPolynomial;
use ring::torus::{Decomposition, Multiplier, Torus};

/// The keys of bootstrapping, ready for use.
pub struct Bootstrapper<T: Torus, M: Multiplier<T>> {
    multiplier: M,
    digits: Decomposition,
    n: usize,
    rank: usize,
    log_2n: u32,
    /// Prepared GGSW ciphertexts of the bits of the small secret, one after another.
    key: Vec<M::Word>,
    switch: Switch<T, M>,
}

/// Memory that bootstrappings reuse.
pub struct Scratch<T: Torus, M: Multiplier<T>> {
    switch: SwitchScratch<T, M>,
    small: Vec<T>,
    exponents: Vec<usize>,
    accumulator: Vec<T>,
    digits: Vec<i32>,
    product: M::Scratch,
}

impl<T: Torus, M: Multiplier<T>> Scratch<T, M> {
    /// Memory for bootstrappings at these parameters.
    pub fn new(params: &Params, multiplier: &M) -> Self {
        let (n, components) = (params.n(), params.rank() + 1);
        let rows = components * params.spec().bootstrap.levels() as usize;
        Self {
            switch: Switch::scratch(params, multiplier),
            small: vec![T::default(); params.lwe_dimension() + 1],
            exponents: vec![0; params.lwe_dimension() + 1],
            accumulator: vec![T::default(); components * n],
            digits: vec![0; rows * n],
            product: multiplier.scratch(rows, components),
        }
    }
}

impl<T: Torus, M: Multiplier<T>> Bootstrapper<T, M> {
    /// Prepares the keys of these parameters: the GGSW ciphertexts of the small secret's bits, and
    /// the key for the switch to the small secret.
    ///
    /// # Panics
    /// If the multiplier is made for another ring degree.
    pub fn new(
        params: &Params,
        bootstrap: &GlweList<T>,
        switch: &SwitchKey<T>,
        multiplier: M,
    ) -> Self {
        assert_eq!(
            multiplier.n(),
            params.n(),
            "the ring degree of the parameters"
        );
        Self {
            key: bootstrap.prepare(&multiplier),
            switch: Switch::new(params, switch, &multiplier),
            digits: params.spec().bootstrap,
            n: params.n(),
            rank: params.rank(),
            log_2n: params.spec().log_n + 1,
            multiplier,
        }
    }

    /// The multiplier.
    pub fn multiplier(&self) -> &M {
        &self.multiplier
    }

    /// Size of the prepared keys in memory, in bytes.
    pub fn key_bytes(&self) -> usize {
        std::mem::size_of_val(&self.key[..])
    }

    /// Switches `input`, a sample under the big secret, to the small secret. The phase stays the
    /// same.
    pub fn key_switch(&self, input: &Lwe<T>, scratch: &mut Scratch<T, M>) -> Lwe<T> {
        self.switch.switch_into(
            &self.multiplier,
            &mut scratch.small,
            input.words(),
            &mut scratch.switch,
        );
        Lwe::from_words(scratch.small.clone())
    }

    /// Looks up the phase of `input` in every table. Returns a sample under the big secret for each
    /// table.
    ///
    /// Source: Chillotti, Joye, Paillier 2021, with the key switch first. For several tables:
    /// Carpov, Izabachène, Mollimard, "New Techniques for Multi-value Input Homomorphic Evaluation
    /// and Applications", CT-RSA 2019, and Chillotti, Ligier, Orfila, Tap, ASIACRYPT 2021,
    /// <https://ia.cr/2021/729>.
    pub fn bootstrap(
        &self,
        input: &Lwe<T>,
        test: &TestPolynomial<T>,
        scratch: &mut Scratch<T, M>,
    ) -> Vec<Lwe<T>> {
        self.switch.switch_into(
            &self.multiplier,
            &mut scratch.small,
            input.words(),
            &mut scratch.switch,
        );
        modulus_switch(
            &mut scratch.exponents,
            &scratch.small,
            self.log_2n,
            test.drop(),
        );
        self.blind_rotate(test.words(), scratch);
        let extract = |place| {
            let mut words = vec![T::default(); self.rank * self.n + 1];
            extract_into(&mut words, &scratch.accumulator, self.n, place);
            Lwe::from_words(words)
        };
        (0..test.tables()).map(extract).collect()
    }

    /// A ciphertext of the test polynomial times `X^(-b + sum a_i s_i)`, for the exponents
    /// `a_0, a_1, .., b`.
    ///
    /// # Panics
    /// If there is not one exponent below `2N` for each bit of the small secret and one more, or if
    /// the polynomial does not have `N` words.
    pub fn blind_rotation(
        &self,
        exponents: &[usize],
        test: &[T],
        scratch: &mut Scratch<T, M>,
    ) -> Glwe<T> {
        scratch.exponents.copy_from_slice(exponents);
        self.blind_rotate(test, scratch);
        Glwe::from_words(self.n, scratch.accumulator.clone())
    }

    /// Multiplies the test polynomial by `X^(-b + sum a_i s_i)`, into the accumulator.
    fn blind_rotate(&self, test: &[T], s: &mut Scratch<T, M>) {
        let n = self.n;
        let masks = self.rank * n;
        let (mask, body) = s.exponents.split_at(s.exponents.len() - 1);
        s.accumulator[..masks].fill(T::default());
        rotate_into(
            &mut s.accumulator[masks..],
            test,
            (2 * n - body[0]) % (2 * n),
        );
        let size = self.key.len() / mask.len();
        let run = n * self.digits.levels() as usize;
        for (i, &power) in mask.iter().enumerate() {
            if power == 0 {
                continue; // the difference is 0
            }
            for (digits, poly) in s
                .digits
                .chunks_exact_mut(run)
                .zip(s.accumulator.chunks_exact(n))
            {
                self.digits.rotated_digits_into(digits, poly, power);
            }
            let (ggsw, rest) = self.key[i * size..].split_at(size);
            let next = &rest[..size.min(rest.len())];
            self.multiplier.dot_add_ahead(
                &mut s.accumulator,
                &s.digits,
                ggsw,
                next,
                &mut s.product,
            );
        }
    }
}
