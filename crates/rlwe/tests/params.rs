//! The checks of parameters.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use palladion_rlwe::security::{self, SPARSE_WEIGHT, TARGET_BITS, max_log_q_sparse, max_log_qp};
use palladion_rlwe::{Error, Params, ParamsSpec, SecretKey};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::ntt_primes;

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
    // Twice the degree allows a little more than twice the bits of the modulus.
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

/// The table of Bossuat et al. 2024, <https://ia.cr/2024/463> (ternary secrets, classical, 128
/// bits), and the estimates of an independent run of malb/lattice-estimator 27a581b for its
/// entries, by MATZOV.
#[test]
fn the_table_and_the_estimates_are_those_of_their_sources() {
    let limits = [26, 53, 106, 214, 430, 868, 1747, 3523];
    let estimates = [131.3, 128.8, 128.9, 128.3, 128.3, 128.0, 128.2, 128.1];
    for (i, (limit, bits)) in limits.into_iter().zip(estimates).enumerate() {
        let n = 1024 << i;
        assert_eq!(max_log_qp(n), Some(limit));
        let found = security::uniform(n, f64::from(limit));
        assert_eq!(found.bits(), Some(bits), "N = {n}");
        assert!(found.is_enough());
        // No smaller modulus has fewer bits, and no estimate covers a larger one.
        assert!(security::uniform(n, 20.0).bits() >= Some(bits));
        assert_eq!(security::uniform(n, f64::from(limit) + 0.001).bits(), None);
    }
    assert_eq!(TARGET_BITS, 128);
    let best = security::uniform(1 << 15, 866.0);
    assert_eq!((best.bits(), best.adps16()), (Some(128.3), Some(95.2)));
    assert_eq!(best.to_string(), "128.3 bits (MATZOV; ADPS16: 95.2)");
    assert_eq!(security::uniform(1 << 15, 867.0).adps16(), Some(94.9));
    assert_eq!(security::uniform(1024, 25.999).adps16(), Some(104.8));
    assert_eq!(
        security::uniform(1024, 27.0).to_string(),
        "INSECURE: no estimate reaches 128 bits"
    );
}

#[test]
fn sparse_secrets_have_limits_of_their_own() {
    // Bossuat, Troncoso-Pastoriza, Hubaux, ACNS 2022, and Lattigo's default: weight 32 at N = 2^16.
    assert_eq!(SPARSE_WEIGHT, 32);
    let bits = |n: usize, log_q: f64| security::sparse(n, 32, log_q).bits();
    // The runs: the lesser of dual meet-in-the-middle and primal hybrid.
    assert_eq!(bits(1 << 16, 109.0), Some(172.0));
    assert_eq!(bits(1 << 16, 115.0), Some(165.0));
    assert_eq!(bits(1 << 15, 220.0), Some(125.0));
    assert_eq!(bits(1 << 14, 109.0), Some(123.0));
    let limits = [13, 14, 15, 16, 17].map(|log_n| max_log_q_sparse(1 << log_n));
    assert_eq!(limits, [None, None, Some(150), Some(300), Some(300)]);
    // 131 bits against primal attacks alone are not enough, since dual attacks may be cheaper.
    assert_eq!(bits(1 << 16, 420.0), Some(131.0));
    assert!(!security::sparse(1 << 16, 32, 420.0).is_enough());

    let small = spec(1 << 15, 110);
    let params = Params::sparse(&small, 32).unwrap();
    assert!(params.is_secure() && params.weight() == Some(32));
    assert_ne!(params, Params::new(&small).unwrap());
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(&params, rng);
    let weight = secret.coefficients().iter().filter(|&&s| s != 0).count();
    assert_eq!(weight, 32);
    for (log_q, weight) in [(110, 31), (110, 1), (110, 0), (151, 32), (220, 32)] {
        let spec = spec(1 << 15, log_q);
        assert_eq!(
            Params::sparse(&spec, weight).unwrap_err(),
            Error::InsecureSparse {
                weight,
                least: 32,
                log_q,
                limit: 150,
                n: 1 << 15
            }
        );
        let insecure = Params::sparse_insecure(&spec, weight).unwrap();
        assert!(!insecure.is_secure());
        assert!(format!("{insecure:?}").contains("INSECURE"));
    }
}
