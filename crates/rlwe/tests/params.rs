//! The checks that parameters pass.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use ring::ntt_primes;
use rlwe::security::max_log_qp;
use rlwe::{Error, Params, ParamsSpec};

/// A spec whose log2(QP), rounded up, is `log_qp`.
fn spec(n: usize, log_qp: u32) -> ParamsSpec {
    let limbs = log_qp.div_ceil(49).max(2);
    let bits = |i: u32| log_qp / limbs + u32::from(i < log_qp % limbs);
    let mut all: Vec<u64> = Vec::new();
    for i in 0..limbs {
        let size = bits(i);
        let primes = ring::ntt_primes_avoiding(size, n, 1, &all).unwrap();
        all.push(primes[0]);
    }
    ParamsSpec {
        n,
        p: vec![all.pop().unwrap()],
        q: all,
        digit_limbs: 1,
    }
}

#[test]
fn the_table_is_a_limit_that_is_reached_and_not_passed() {
    for log_n in 12..=16 {
        let n = 1 << log_n;
        let limit = max_log_qp(n).unwrap();
        let params = Params::new(&spec(n, limit)).unwrap();
        assert!(params.is_secure() && params.log_qp().ceil() as u32 == limit);
        let over = spec(n, limit + 1);
        let expected = Error::Insecure {
            log_qp: limit + 1,
            limit,
            lambda: 128,
            n,
        };
        assert_eq!(Params::new(&over).unwrap_err(), expected);
        assert!(!Params::new_insecure(&over).unwrap().is_secure());
    }
    // Twice the degree bears a little more than twice the modulus.
    for log_n in 10..17 {
        let (small, large) = (max_log_qp(1 << log_n), max_log_qp(2 << log_n));
        let (small, large) = (small.unwrap(), large.unwrap());
        assert!(
            (2 * small..=2 * small + 30).contains(&large),
            "{small}, {large}"
        );
    }
}

#[test]
fn degrees_outside_of_the_table_are_insecure() {
    for n in [16, 512] {
        assert_eq!(max_log_qp(n), None);
        let found = Params::new(&spec(n, 60)).unwrap_err();
        let (log_qp, limit, lambda) = (60, 0, 128);
        assert_eq!(
            found,
            Error::Insecure {
                log_qp,
                limit,
                lambda,
                n
            }
        );
    }
    assert_eq!(
        (max_log_qp(0), max_log_qp(3000), max_log_qp(1 << 18)),
        (None, None, None)
    );
}

#[test]
fn specs_that_name_no_parameters_are_refused() {
    let good = spec(1 << 12, 100);
    let limbs = good.q.len();
    for found in [0, limbs + 1] {
        let wrong = ParamsSpec {
            digit_limbs: found,
            ..good.clone()
        };
        assert_eq!(
            Params::new(&wrong).unwrap_err(),
            Error::DigitLimbs { found, limbs }
        );
    }
    let no_special = ParamsSpec {
        p: vec![],
        ..good.clone()
    };
    assert_eq!(
        Params::new(&no_special).unwrap_err(),
        ring::Error::EmptyBasis.into()
    );
    let no_chain = ParamsSpec {
        q: vec![],
        ..good.clone()
    };
    assert_eq!(
        Params::new(&no_chain).unwrap_err(),
        ring::Error::EmptyBasis.into()
    );
    let repeated = ParamsSpec {
        p: vec![good.q[0]],
        ..good.clone()
    };
    let (i, j, q) = (0, limbs, good.q[0]);
    assert_eq!(
        Params::new(&repeated).unwrap_err(),
        ring::Error::RepeatedModulus { i, j, q }.into()
    );
    let other = ParamsSpec {
        q: vec![ntt_primes(40, 1 << 12, 1).unwrap()[0] + 2],
        ..good.clone()
    };
    assert!(matches!(
        Params::new(&other).unwrap_err(),
        Error::Ring(ring::Error::NotNttFriendly { index: 0, .. })
    ));
    let params = Params::new(&good).unwrap();
    assert_eq!(params, Params::new(&good).unwrap());
    assert_ne!(params, Params::new(&spec(1 << 12, 99)).unwrap());
}
