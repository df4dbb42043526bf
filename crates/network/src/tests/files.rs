//! Files: read back, damaged, of other formats.

use proptest::prelude::*;

use super::{graph, image, residual};
use crate::*;

proptest! {
    #[test]
    fn json_is_read_back_equal(seed: u64) {
        let network = graph(seed);
        prop_assert_eq!(IntNetwork::from_json(&network.to_json()), Ok(network));
    }

    /// Reading a file with any byte changed returns a network or an error. A network that is read
    /// can be evaluated.
    #[test]
    fn damaged_files_never_panic(at: prop::sample::Index, byte: u8, cut: bool) {
        let mut bytes = residual().to_json().into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let text = String::from_utf8(bytes).unwrap_or_default();
        if let Ok(network) = IntNetwork::from_json(&text) {
            let exact = Evaluator::new(&network).unwrap();
            prop_assert!(exact.evaluate(&image(&network, 1)).is_ok());
        }
    }
}

#[test]
fn a_file_is_as_documented() {
    let text = r#"{"format":"palladion-int-network/3","name":"n",
        "input":{"shape":[1,2,2],"min":0,"max":3,"scale":0.5},
        "layers":[
          {"name":"c","terms":[{"source":0,"linear":{"window":{"kernel":[2,2],"stride":[1,1],
            "dilation":[1,1],"pads":[0,0,0,0],"weights":[1,2,3,4],"first":1,"channels":2}}}],
           "bias":[0,-1],"bound":40,"lut":{"starts":[-40,0,20],"values":[0,1,2]},"scale":1.0},
          {"name":"d","terms":[{"source":1,"linear":{"dense":{"inputs":2,"outputs":2,
            "weights":[1,2,3,4]}}}],"bias":[0,5],"bound":9,"scale":0.25}]}"#;
    let network = IntNetwork::from_json(text).unwrap();
    let trace = Evaluator::new(&network).unwrap();
    let trace = trace.evaluate(&[3, 2, 1, 3]).unwrap();
    assert_eq!(trace.layers[0].accumulators, [0, 3 + 4 + 3 + 12 - 1]);
    assert_eq!(trace.logits, [1 + 2 * 2, 3 + 4 * 2 + 5]);
    assert_eq!(
        (network.input.mean, network.layers[1].lut.clone()),
        (vec![], None)
    );
    assert_eq!(network.layers[1].terms[0].source, Source::Layer(0));
}

#[test]
fn an_interface_is_kept_and_a_former_file_is_read() {
    let mut network = residual();
    network.interface = Some(serde_json::json!({"gives": {"scale": [0.25, 0.5]}}));
    let text = network.to_json();
    assert_eq!(IntNetwork::from_json(&text).unwrap(), network);
    let mut given = residual();
    (given.input.mean, given.input.std) = (vec![0.5, 0.25], vec![2.0, 4.0]);
    let former = given.to_json().replace("network/3", "network/2");
    let read = IntNetwork::from_json(&former).unwrap();
    assert_eq!(read.layers, given.layers);
    assert_eq!((&read.input.mean, &read.input.std), (&vec![], &vec![]));
    let interface = read.interface.unwrap();
    assert_eq!(
        interface["takes"]["pixels"]["std"],
        serde_json::json!([2.0, 4.0])
    );
    assert_eq!(
        interface["takes"]["shape"],
        serde_json::json!(given.input.shape)
    );
    let scale = given.layers.last().unwrap().scale;
    assert_eq!(interface["gives"]["scale"], serde_json::json!([scale]));
}

#[test]
fn a_product_is_as_documented() {
    let text = r#"{"format":"palladion-int-network/3","name":"n",
        "input":{"shape":[2,1,2],"min":-5,"max":5,"scale":1},
        "layers":[
          {"name":"a","terms":[{"source":0,"linear":{"window":{"kernel":[1,1],"stride":[1,1],
            "dilation":[1,1],"pads":[0,0,0,0],"weights":[1],"first":0,"channels":2}}}],
           "bias":[0,0],"bound":5,"lut":{"starts":[-5,0,1,2],"values":[-7,0,1,2]},"scale":1},
          {"name":"b","terms":[{"source":1,"linear":{"conv":{"kernels":1,"channels":2,"groups":1,
            "kernel":[1,2],"stride":[1,1],"dilation":[1,1],"pads":[0,0,0,0],"weights":[1,0,0,1]}}}],
           "bias":[9],"bound":30,"lut":{"starts":[-30,4],"values":[-1000,1000]},"scale":1},
          {"name":"c","terms":[],"product":[1,2],"bias":[0,3],"bound":9000,"scale":1}]}"#;
    let network = IntNetwork::from_json(text).unwrap();
    assert_eq!(network.shapes().unwrap()[2], [2, 1, 2]);
    assert_eq!(network.worst_cases().unwrap(), [5, 13, 7003]);
    let evaluator = Evaluator::new(&network).unwrap();
    let trace = evaluator.evaluate(&[2, 1, 0, -4]).unwrap();
    assert_eq!(trace.layers[1].accumulators, [2 - 7 + 9]);
    assert_eq!(trace.logits, [2000, 1000, 3, -6997]);
    assert_eq!(IntNetwork::from_json(&network.to_json()), Ok(network));
}

#[test]
fn what_is_no_network_is_refused_with_the_place() {
    let unknown = residual().to_json().replacen("\"name\"", "\"nom\"", 1);
    for text in ["", "{}", "[]", "{\"format\": 1}", "null", &unknown] {
        let Err(Error::Json { reason }) = IntNetwork::from_json(text) else {
            panic!("{text:?} was read");
        };
        assert!(reason.contains("line"), "{reason}");
    }
}

#[test]
fn files_of_other_versions_say_so() {
    let text = r#"{"format":"palladion-int-network/1","name":"n","input":{"shape":[1,4,4]}}"#;
    assert_eq!(
        IntNetwork::from_json(text).unwrap_err().to_string(),
        "the network's format is \"palladion-int-network/1\", expected \"palladion-int-network/3\""
    );
}
