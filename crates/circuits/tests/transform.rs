//! Are slots brought to coefficients exactly, and what does it cost?

use crate::common::{N, alone, setup, timed};
use palladion_circuits::transform::{SlotsToCoeffs, coefficient_of_slot};
use palladion_circuits::{Engine, Value};

#[test]
fn slots_come_to_their_coefficients_exactly() {
    let _alone = alone();
    let mut s = setup(5, 5);
    for (start, layers) in [(3, &[4, 5, 5][..]), (3, &[7, 7])] {
        let transform = timed(&format!("making {layers:?} ready"), || {
            SlotsToCoeffs::new(s.bfv().encoder(), layers).unwrap()
        });
        let slots = s.residues(N);
        let fresh = s.encrypt_slots(&slots, s.top());
        // The state after a table: the noise of a rounding.
        let x = s.switched(fresh, start);
        s.check_noise("before", &x);
        let plain = x.to_dry();
        let keys = s.keys_for(|engine| transform.apply(engine, &plain).unwrap());
        let engine = Engine::new(s.params.bfv(), &keys);
        let name = format!("slots to coefficients {layers:?}");
        let y = timed(&name, || transform.apply(&engine, &x).unwrap());
        println!(
            "{:?}, {} Galois keys of {} bytes",
            engine.counts(),
            keys.galois().iter().count(),
            keys.byte_len()
        );
        let got = s.coefficients(&y);
        let wrong = (0..N)
            .filter(|&slot| got[coefficient_of_slot(N, slot)] != slots[slot])
            .count();
        println!("{name}: {N} coefficients checked, {wrong} wrong");
        assert_eq!(wrong, 0, "{name}");
        s.check_noise(&name, &y);
        let settled = engine.settle("a test", y).unwrap();
        s.check_noise("settled", &settled);
        assert_eq!(s.coefficients(&settled), got);
    }
}

#[test]
fn a_dry_run_foretells_levels_and_noise() {
    let s = setup(5, 6);
    let engine = Engine::dry(s.bfv());
    let x = Value::dry(4, engine.model().fresh());
    let transform = SlotsToCoeffs::balanced(s.bfv()).unwrap();
    let y = transform.apply(&engine, &x).unwrap();
    assert!(y.level() < 4);
    // 8 + 8 + 7 baby steps, three giant steps, the swap of the rows.
    assert_eq!(engine.needs().galois_elements().len(), 27);
}
