//! Writes the JavaScript and the types around a module: `palladion-bindgen MODULE FOLDER`.
//!
//! It does what `wasm-bindgen --target web` does, without the test runner and the server of that
//! command.

use std::env;
use std::error::Error;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let (Some(module), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: palladion-bindgen MODULE FOLDER".into());
    };
    Bindgen::new()
        .input_path(module)
        .out_name("palladion")
        .web(true)?
        .typescript(true)
        .omit_default_module_path(false) // the module lies beside the JavaScript
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder)?;
    Ok(())
}
