//! `slipway drivers bundle`.

use anyhow::Context;
use slipway_lifecycle::drivers::bundle::{Bundle, BundleError, BundleOptions, SignedMatrix};

use super::matrix::refused;
use crate::args::BundleDrivers;
use crate::exit::Exit;
use crate::input;
use crate::output::Printer;

pub(crate) fn run(args: &BundleDrivers, printer: &Printer) -> anyhow::Result<Exit> {
    let BundleDrivers { registry, pull_secret, matrix, matrix_key } = args;
    let files = match matrix {
        None => None,
        Some(file) => {
            let mut beside = file.as_os_str().to_owned();
            beside.push(".sig");
            let signature = fs_err::read_to_string(beside).context("a matrix has its signature beside it");
            Some((input::read(file)?, signature?))
        }
    };
    let matrix = files.as_ref().map(|(text, signature)| SignedMatrix { text, signature, keys: matrix_key });
    let site = BundleOptions { registry: registry.as_deref(), pull_secrets: pull_secret, matrix };
    let bundle = Bundle::new(site).map_err(|error| match (error, &args.matrix) {
        (BundleError::Matrix(found), Some(file)) => refused(&found, &input::name(file), printer),
        (error, _) => error.into(),
    })?;
    printer.data(&bundle.to_text()?)?;
    let images = bundle.images.len();
    printer.hint(&format!(
        "copy the {images} images listed under `images` to your registry, then run `slipway drivers deploy --bundle FILE`"
    ));
    Ok(Exit::Ok)
}
