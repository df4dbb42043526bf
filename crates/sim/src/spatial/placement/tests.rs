//! Places that are taken once, and lengths counted again.

use super::*;
use crate::spatial::{BlindRotation, Parameters};
use std::collections::HashSet;

fn versal() -> Machine {
    Machine::named("versal").expect("built in")
}

fn changed(from: &str, to: &str) -> Machine {
    let text = crate::family::built_in("versal").expect("built in");
    assert!(text.contains(from), "{from}");
    Machine::from_toml(&text.replacen(from, to, 1)).expect("in range")
}

fn placement(machine: &Machine, set: Result<Parameters>) -> Result<Placement> {
    BlindRotation::new(machine, set?)?.placement()
}

#[test]
fn every_tile_has_a_place_of_its_own_in_the_grid() {
    for (set, tiles) in [(Parameters::set_1(), 183), (Parameters::set_2(), 217)] {
        let placement = placement(&versal(), set).expect("fits");
        let places: HashSet<_> = placement.placed.iter().map(|p| (p.column, p.row)).collect();
        assert_eq!(places.len(), tiles + 9, "tiles and channels");
        assert!(places.iter().all(|&(column, row)| match row {
            Some(row) => column < 50 && row < 8,
            None => (6..=44).contains(&column),
        }));
        assert_eq!(placement.shims().len(), 9);
        assert_eq!(placement.rows, 8);
        assert!((tiles.div_ceil(8)..=tiles.div_ceil(8) + 4).contains(&placement.columns));
        assert!(placement.longest < 12 && 2 * placement.neighbours > placement.streams);
    }
}

#[test]
fn longer_streams_take_a_switch_for_each_place_and_little_time() {
    let machine = versal();
    let cycles = |length| machine.hops(length) / machine.array_cycle();
    assert_eq!((cycles(1), cycles(2), cycles(9)), (12, 16, 44));
    assert_eq!(machine.hops(1), machine.hop());
    for set in [Parameters::set_1(), Parameters::set_2()] {
        let rotation = BlindRotation::new(&machine, set.expect("in range")).expect("fits");
        let placement = rotation.placement().expect("fits");
        let near = rotation.simulate().expect("runs").iteration;
        let placed = rotation
            .simulate_placed(&placement)
            .expect("runs")
            .iteration;
        assert!(near < placed && placed < 1.02 * near, "{near} {placed}");
    }
}

#[test]
fn grids_without_room_are_refused_by_name() {
    for (machine, word) in [
        (changed("last_shim = 44", "last_shim = 13"), "9 shim tiles"),
        (
            changed("columns = 50\nrows = 8", "columns = 200\nrows = 2"),
            "",
        ),
    ] {
        let placement = placement(&machine, Parameters::set_2());
        match placement {
            Ok(placement) => assert_eq!((placement.rows, word), (2, "")),
            Err(error) => assert!(
                !word.is_empty() && error.to_string().contains(word),
                "{error}"
            ),
        }
    }
    let text = crate::family::built_in("versal").expect("built in");
    for (from, to, words) in [
        (
            "rows = 8",
            "rows = 7",
            ["array.tiles is 400", "1 to", "350"],
        ),
        (
            "last_shim = 44",
            "last_shim = 50",
            ["grid.last_shim", "50", "0 to 49"],
        ),
        (
            "first_shim = 6",
            "first_shim = 45",
            ["grid.first_shim", "45", "0 to 44"],
        ),
    ] {
        let error = Machine::from_toml(&text.replacen(from, to, 1))
            .expect_err(to)
            .to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}
