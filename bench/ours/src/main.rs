//! Palladion under the benchmark's protocol, beside its peers.

mod bfv;
mod ntt;

use common::Group;

fn main() {
    common::run(&[
        Group {
            name: "ntt",
            time: common::ntt::time::<ntt::Limb>,
            values: common::ntt::values::<ntt::Limb>,
        },
        Group {
            name: "bfv",
            time: common::bfv::time::<bfv::Ours>,
            values: common::bfv::values::<bfv::Ours>,
        },
    ]);
}
