//! Cases that the halves refuse: answers to other queries, images that do not fit, programs with
//! wrong claims.

use crate::common::{PIXELS, small_program, table_program};
use crate::halves::{client_of, image};
use exchange::{Error, files};
use palladion_runtime::{Prepared, Server};
use program::{Op, Program, Type};

#[test]
fn an_answer_to_another_query_is_refused() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 11);
    let keys = client.evaluation_keys().unwrap();
    // The same image gives two different queries, because their masks differ.
    let [old, new] = [0, 1].map(|_| client.encrypt(&[image()]).unwrap());
    let (answer, _) = Server::new(&prepared, &keys).run(&old, |_| true).unwrap();
    assert!(client.decrypt(&answer, &old).is_ok());
    let bytes = files::answer_to_bytes(&prepared, &answer);
    for answer in [
        answer.clone(),
        files::answer_from_bytes(&prepared, &bytes).unwrap(),
    ] {
        let error = client.decrypt(&answer, &new).err();
        assert!(
            matches!(
                error,
                Some(client::Error::Exchange(Error::OtherQuery { .. }))
            ),
            "{error:?}"
        );
        let words = error.map(|e| e.to_string()).unwrap_or_default();
        assert!(words.contains("this answer belongs to another query"));
    }
    // Any changed bit makes a different query.
    let mut changed = old.clone();
    changed.seed.as_mut().unwrap().0[31] ^= 1;
    assert!(client.decrypt(&answer, &changed).is_err());

    // The server states the number of images, and the client checks it.
    for images in [0, 2] {
        let server = Server::new(&prepared, &keys);
        let (mut raw, _) = server.raw_answer(&old, None, |_| true, |_| true).unwrap();
        raw.images = images;
        let wrong = raw
            .hide(&prepared, &keys, &mut client::system_rng())
            .unwrap();
        match client.decrypt(&wrong, &old).err() {
            Some(client::Error::Image { what, found, .. }) => {
                assert_eq!(what, "the number of images of an answer");
                assert_eq!(found, images.to_string());
            }
            other => panic!("{other:?}"),
        }
    }

    // A query of another input layout.
    let other = Prepared::new(table_program(1)).unwrap();
    let theirs = client_of(&other, 11).encrypt(&[image()]).unwrap();
    let error = client.decrypt(&answer, &theirs).err();
    let refused = matches!(error, Some(client::Error::Exchange(Error::Layout { .. })));
    assert!(refused, "{error:?}");
}

#[test]
fn images_that_do_not_fit_are_refused() {
    let prepared = Prepared::new(small_program()).unwrap();
    let client = client_of(&prepared, 8);
    let mut bright = image();
    bright[3] = 128;
    let mut dark = image();
    dark[3] = i64::MIN;
    for (images, about) in [
        (vec![], "the number of images"),
        (vec![image(), image()], "the number of images"),
        (
            vec![vec![0; PIXELS - 1]],
            "the number of pixels of an image",
        ),
        (
            vec![vec![0; PIXELS + 1]],
            "the number of pixels of an image",
        ),
        (vec![bright], "a pixel"),
        (vec![dark], "a pixel"),
    ] {
        match client.encrypt(&images) {
            Err(client::Error::Image { what, .. }) => assert_eq!(what, about),
            other => panic!("{about}: {:?}", other.map(|_| ())),
        }
    }
}

#[test]
fn a_program_that_claims_what_the_circuits_do_not_give_is_refused() {
    let step_of = |error: Option<palladion_runtime::Error>| match error {
        Some(palladion_runtime::Error::Program(program::Error::Step { step, what, .. })) => {
            (step, what)
        }
        other => panic!("{other:?}"),
    };
    let refused = |change: &dyn Fn(&mut Program)| {
        let mut program = small_program();
        change(&mut program);
        Prepared::new(program).err()
    };
    let change_type = |step: usize, up: usize, more: f64| {
        move |program: &mut Program| match &mut program.steps[step].ty {
            Type::Ciphertext {
                level, noise_bits, ..
            } => (*level, *noise_bits) = (*level + up, *noise_bits + more),
            Type::Samples => panic!("step {step} makes samples"),
        }
    };
    // Less noise than there will be, or another level.
    assert_eq!(step_of(refused(&change_type(1, 0, -1.0))), (1, "the noise"));
    assert_eq!(step_of(refused(&change_type(5, 0, -0.1))), (5, "the noise"));
    assert_eq!(step_of(refused(&change_type(4, 1, 0.0))), (4, "the level"));
    // More noise than there will be, as an older version predicted, is no fault.
    assert!(refused(&change_type(1, 0, 1.0)).is_none());
    assert!(refused(&change_type(1, 0, -0.001)).is_none());
    // Keys that the steps do not use, or missing keys.
    type Case<'a> = (&'a dyn Fn(&mut Program), &'a str);
    let lists: [Case<'_>; 5] = [
        (
            &|p| p.keys.relinearization = Some(1),
            "the relinearization key's level",
        ),
        (
            &|p| p.keys.packing.clear(),
            "the list of packings and levels",
        ),
        (
            &|p| p.keys.packing[0].1 = 1,
            "the list of packings and levels",
        ),
        (
            &|p| p.keys.galois.truncate(1),
            "the list of Galois elements and levels",
        ),
        (
            &|p| p.keys.galois[0].1 = 1,
            "the list of Galois elements and levels",
        ),
    ];
    for (change, about) in lists {
        match refused(change) {
            Some(palladion_runtime::Error::Program(program::Error::Parameters {
                what, ..
            })) => {
                assert_eq!(what, about)
            }
            other => panic!("{about}: {other:?}"),
        }
    }
    // A smaller probability of failure than the steps have: the border is too near to the bound.
    let with_border = |border: i64, claimed: f64| {
        let mut program = table_program(1);
        program.prediction.log2_failure = claimed;
        if let Op::Table { indices, .. } = &mut program.steps[5].op {
            indices.border = indices.bound + border;
        }
        Prepared::new(program)
    };
    // 16 values beyond 70 with a deviation of about 8: 2^-55. Beyond 26 it is about three
    // deviations: 2^-5.
    assert!(with_border(70, -48.0).is_ok());
    for (border, claimed) in [(70, -70.0), (26, -40.0), (26, -9999.0)] {
        match with_border(border, claimed).err() {
            Some(palladion_runtime::Error::Program(program::Error::Parameters {
                what, ..
            })) => {
                assert_eq!(what, "the probability that a run is wrong");
            }
            other => panic!("{border}: {other:?}"),
        }
    }
    // Moduli that are not prime, or too large for the ring.
    assert!(matches!(
        refused(&|p| p.parameters.q[1] = (1 << 33) + 1),
        Some(palladion_runtime::Error::Exchange(Error::Bfv(_)))
    ));
    let insecure = refused(&|p| {
        let more = ring::ntt_primes(48, p.parameters.n, 2).unwrap();
        p.parameters.q.extend(more);
    });
    let words = insecure.map(|e| e.to_string()).unwrap_or_default();
    assert!(
        words.contains("at most 214 gives 128-bit security"),
        "{words}"
    );
}
