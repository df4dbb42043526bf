//! Refusals: mistakes of callers and malformed messages of the other party.

use super::both;
use crate::material::dealer::deal;
use crate::{
    Channel, Duplex, Error, Material, Needs, Party, Piece, Protocol, Requantisation, Role, Squares,
    memory_pair,
};

pub(super) const RELU: Requantisation = Requantisation {
    bits: 16,
    minimum: -1000,
    maximum: 1000,
    offset: 0,
    shift: 2,
    low: 0,
    high: 127,
    out_bits: 8,
};

fn refused(protocol: crate::Result<Protocol>) -> String {
    protocol.expect_err("out of range").to_string()
}

#[test]
fn numbers_out_of_range_are_named() {
    let with = |change: fn(&mut Requantisation)| {
        let mut changed = RELU;
        change(&mut changed);
        refused(Protocol::requantise(&changed))
    };
    assert_eq!(
        with(|r| r.bits = 0),
        "the modulus of x has 0 bits, expected 1 to 64"
    );
    assert_eq!(
        with(|r| r.bits = 65),
        "the modulus of x has 65 bits, expected 1 to 64"
    );
    assert_eq!(
        with(|r| r.out_bits = 0),
        "the modulus of y has 0 bits, expected 1 to 64"
    );
    assert_eq!(
        with(|r| r.shift = 63),
        "the shift has 63 bits, expected 0 to 62"
    );
    let wide = "the range of x is -1000..=40000, expected an ascending range within -32768..=32767";
    assert_eq!(with(|r| r.maximum = 40_000), wide);
    assert!(with(|r| r.minimum = 1001).contains("an ascending range"));
    assert!(with(|r| r.low = 128).contains("low <= high"));
    assert!(with(|r| r.high = 1 << 32).contains("low + 2^32"));
    assert!(with(|r| r.high = i64::MAX).contains("low + 2^32"));
    assert!(with(|r| r.offset = i64::MIN).contains("-2^62..=2^62"));

    let table = |values: &[i64]| refused(Protocol::table(16, 0, values, 8));
    assert!(table(&[]).contains("the table: 0 values, expected 1 to 2^20"));
    assert!(table(&vec![0; (1 << 20) + 1]).contains("1048577 values"));
    assert!(refused(Protocol::table(4, 0, &[0; 9], 8)).contains("0..=8"));

    assert!(refused(Protocol::maximum(0, 8, 0..=1, 8)).contains("a group: 0 values"));
    assert!(refused(Protocol::argmax(3, 8, 0..=200)).contains("-128..=127"));
    assert!(refused(Protocol::extend(8, 0..=1, 8)).contains("the larger modulus has 8 bits"));

    let piece = Piece {
        start: 0,
        multiplier: 1,
        constant: 0,
        shift: 0,
    };
    assert!(refused(Protocol::piecewise(8, 9, &[], 8)).contains("at least 1"));
    assert!(refused(Protocol::piecewise(8, 9, &[piece, piece], 8)).contains("ascending starts"));
    let steep = Piece {
        multiplier: 1 << 32,
        ..piece
    };
    assert!(refused(Protocol::piecewise(8, 9, &[steep], 8)).contains("-2^31..=2^31"));
}

#[test]
fn material_is_used_once_and_its_end_is_an_error_before_anything_is_sent() {
    let relu = Protocol::requantise(&RELU).expect("in range");
    let needs = relu.needs(70);
    let (_, cost) = both(deal(&needs, 1), |party| {
        party.run(&relu, &[0; 70]).expect("enough");
        let error = party.run(&relu, &[0; 1]).expect_err("nothing is left");
        assert!(
            matches!(
                error,
                Error::Exhausted {
                    needed: 64..,
                    left: 0,
                    ..
                }
            ),
            "{error}"
        );
    });
    assert_eq!(cost, relu.cost(70), "the refused call sent nothing");

    // Two calls never use the same material, so their messages for the same shares differ.
    let (messages, _) = both(deal(&(needs.clone() + needs), 1), |party| {
        let mut taken = Vec::new();
        for _ in 0..2 {
            let material = std::mem::take(&mut party.material);
            let before = format!("{material:?}");
            party.material = material;
            party.run(&relu, &[0; 70]).expect("enough");
            taken.push(before);
        }
        taken
    });
    for [first, second] in messages.map(|m| <[String; 2]>::try_from(m).expect("two")) {
        assert_ne!(first, second, "what was taken is erased");
    }
}

#[test]
fn squares_and_triples_run_out_too() {
    both(deal(&Needs::square(20, 3), 1), |party| {
        party.square(20, &[1, 2]).expect("enough");
        let error = party
            .square(20, &[1, 2])
            .expect_err("one is left")
            .to_string();
        assert!(
            error.contains("squares modulo 2^20 are used up: 2 needed, 1 left"),
            "{error}"
        );
        let error = party
            .multiply(20, &[1], &[2])
            .expect_err("none")
            .to_string();
        assert!(error.contains("triples modulo 2^20"), "{error}");
        let error = party
            .multiply(20, &[1], &[])
            .expect_err("lengths")
            .to_string();
        assert!(
            error.contains("the second factors: 0 values, expected 1"),
            "{error}"
        );
    });
    let uneven = Squares {
        a: vec![1].into(),
        a_squared: vec![].into(),
    };
    Material::default()
        .add_squares(8, uneven)
        .expect_err("lengths differ");
}

#[test]
fn shares_must_fill_groups() {
    let largest = Protocol::maximum(3, 8, 0..=100, 8).expect("in range");
    both(deal(&largest.needs(1), 1), |party| {
        let error = party
            .run(&largest, &[1, 2])
            .expect_err("a part of a group")
            .to_string();
        assert!(
            error.contains("2 values, expected a multiple of 3"),
            "{error}"
        );
    });
}

#[test]
fn a_party_that_goes_away_is_an_error() {
    let relu = Protocol::requantise(&RELU).expect("in range");
    let (server, mut client) = memory_pair();
    let [material, _] = deal(&relu.needs(1), 1);
    // A message that is too short, and then the end of the connection.
    client.send(&[1, 2, 3]).expect("connected");
    client.flush().expect("connected");
    drop(client);
    let mut server: Party<Duplex> = Party::new(Role::Server, server, material);
    let error = server.run(&relu, &[5]).expect_err("the client is gone");
    assert!(matches!(error, Error::Connection { .. }), "{error}");
}
