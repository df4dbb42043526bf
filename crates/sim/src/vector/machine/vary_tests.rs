//! Tests of files with other integers: values that are set, figures that follow, and changes that
//! are refused.

use super::vary::{integers, scaling, varied};
use super::{Literal, Machine};
use crate::family::built_in;

fn of(text: &str) -> Literal {
    toml::from_str(text).expect("a machine")
}

fn change(machine: &str, changes: &[(&str, i64)]) -> crate::error::Result<Literal> {
    let changes: Vec<_> = changes
        .iter()
        .map(|&(key, value)| (key.to_owned(), value))
        .collect();
    Ok(of(&varied(built_in(machine).expect("built in"), &changes)?))
}

#[test]
fn nothing_changes_where_nothing_is_set() {
    for machine in ["f1", "athena", "craterlake", "sharp", "hyena", "tiny"] {
        let text = built_in(machine).expect("built in");
        assert_eq!(of(&varied(text, &[]).expect("fine")), of(text));
        for key in integers(text).expect("TOML") {
            let same = Machine::from_toml(text).expect("fine");
            let table: toml::Table = toml::from_str(text).expect("TOML");
            let Some(toml::Value::Integer(value)) = table.get(&key) else {
                continue; // only keys at the top, which need no path
            };
            let again = varied(text, &[(key, *value)]).expect("fine");
            assert_eq!(Machine::from_toml(&again).expect("fine"), same);
        }
    }
}

/// Joules of a word or byte do not follow. The watts of a part that is always busy do.
#[test]
fn areas_and_watts_follow_what_is_set() {
    let (f1, near) = (of(built_in("f1").expect("built in")), |a: f64, b: f64| {
        (a / b - 1.0).abs() < 1e-12
    });
    let watts = |changes: &[(&str, i64)], name: &str| {
        let changes: Vec<_> = changes
            .iter()
            .map(|&(key, value)| (key.to_owned(), value))
            .collect();
        let text = varied(built_in("f1").expect("built in"), &changes).expect("fine");
        let machine = Machine::from_toml(&text).expect("fine");
        let units = machine.units().iter().zip(machine.unit_watts());
        let units = units.map(|(unit, watts)| (unit.name.as_str(), watts));
        let mut all = units.chain(machine.part_watts());
        all.find(|(part, _)| *part == name).expect("a part").1
    };
    let lanes = [("unit.ntt.lanes", 256)];
    let changed = change("f1", &lanes).expect("fine");
    assert_eq!(changed.unit["ntt"].lanes, 256);
    assert!(near(changed.unit["ntt"].area_mm2, 2.0 * 2.27));
    assert_eq!(changed.unit["ntt"].energy, f1.unit["ntt"].energy);
    assert!(near(watts(&lanes, "ntt"), 2.0 * 4.8));
    assert_eq!(changed.unit["adder"], f1.unit["adder"]);
    let changed = change("f1", &[("lanes", 64)]).expect("fine");
    assert!(changed.unit.values().all(|unit| unit.lanes == 64));
    assert!(near(changed.unit["adder"].area_mm2, 0.015));
    let rate = [("memory.bytes_per_second", 2_000_000_000_000)];
    let changed = change("f1", &rate).expect("fine");
    assert!(near(changed.memory.area_mm2, 2.0 * 29.8) && near(watts(&rate, "memory"), 0.9));
    let changed = change(
        "f1",
        &[("scratchpad.bytes", 33_554_432), ("scratchpad.ports", 6)],
    )
    .expect("fine");
    assert!(
        near(changed.scratchpad.area_mm2, 48.09),
        "half the bytes, twice the ports"
    );
    let half = [("scratchpad.bytes", 33_554_432)];
    assert!(near(watts(&half, "scratchpad"), 20.35 / 2.0));
    let changed = change("f1", &[("cluster.count", 8), ("cluster.port_bytes", 256)]).expect("fine");
    assert!(near(changed.network.area_mm2, 10.02 / 4.0));
    assert!(
        near(changed.cluster[0].register_file_area_mm2, 0.56),
        "of one"
    );
    let slow = [("clock_mhz", 500)];
    let changed = change("f1", &slow).expect("fine");
    assert!(near(watts(&slow, "ntt"), 2.4) && near(changed.unit["ntt"].area_mm2, 2.27));
    let changed = change("f1", &[("cluster.units.ntt", 3)]).expect("fine");
    assert_eq!(changed.cluster[0].units["ntt"], 3);
}

#[test]
fn a_cluster_is_named_or_all_of_them_are() {
    let changed = change("athena", &[("cluster.region 1.ports", 8)]).expect("fine");
    assert_eq!((changed.cluster[0].ports, changed.cluster[1].ports), (2, 8));
    let changed = change("athena", &[("cluster.ports", 4)]).expect("fine");
    assert_eq!((changed.cluster[0].ports, changed.cluster[1].ports), (4, 4));
}

#[test]
fn lanes_of_all_units_keep_their_proportions() {
    let athena = of(built_in("athena").expect("built in"));
    let changed = change("athena", &[("lanes", 1024)]).expect("fine");
    for (name, unit) in &athena.unit {
        assert_eq!(changed.unit[name].lanes, unit.lanes / 2, "{name}");
    }
}

#[test]
fn a_file_says_otherwise() {
    let text = built_in("tiny").expect("built in");
    let text = format!("{text}\n[scaling]\nlanes = 2.0\nbytes = 0.5\n");
    let changed = of(&varied(
        &text,
        &[
            ("unit.mac.lanes".into(), 16),
            ("scratchpad.bytes".into(), 4 * 16_777_216),
        ],
    )
    .expect("fine"));
    assert!((changed.unit["mac"].area_mm2 - 1.0).abs() < 1e-12);
    assert!((changed.scratchpad.area_mm2 - 8.0).abs() < 1e-12);
    let words = scaling(&text).expect("fine");
    assert!(
        words.contains("lanes^2") && words.contains("bytes^0.5") && words.contains("ports,"),
        "{words}"
    );
    let error =
        Machine::from_toml(&text.replace("lanes = 2.0", "lanes = -1.0")).expect_err("negative");
    assert!(error.to_string().contains("scaling.lanes is -1"), "{error}");
}

#[test]
fn keys_and_values_that_cannot_be_are_refused_by_name() {
    for (key, value, words) in [
        (
            "unit.fft.lanes",
            8,
            &[
                "unit.fft.lanes",
                "no integer",
                "lanes, or one of",
                "unit.ntt.lanes",
                "memory.latency",
            ][..],
        ),
        ("unit.ntt.area_mm2", 8, &["unit.ntt.area_mm2", "no integer"]),
        ("unit.ntt", 8, &["\"unit.ntt\"", "no integer"]),
        ("", 8, &["\"\"", "no integer"]),
        (
            "unit.ntt.lanes",
            0,
            &["unit.ntt.lanes is 0", "1 to 1048576"],
        ),
        ("lanes", 0, &["lanes is 0", "1 or more"]),
        ("lanes", -4, &["lanes is -4", "1 or more"]),
        (
            "scratchpad.banks",
            1 << 40,
            &["scratchpad.banks", "1 to 65536"],
        ),
        ("memory.latency", -1, &["-1"]),
    ] {
        let error = change("tiny", &[(key, value)]).expect_err(key).to_string();
        for word in words {
            assert!(error.contains(word), "{key}: {error}");
        }
    }
}
