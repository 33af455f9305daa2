//! `slipway drivers bundle`.

use slipway_assets::drivers::operator::Placed;
use slipway_lifecycle::drivers::bundle::Bundle;

use crate::args::BundleDrivers;
use crate::exit::Exit;
use crate::output::Printer;

pub(crate) fn run(args: &BundleDrivers, printer: &Printer) -> anyhow::Result<Exit> {
    let BundleDrivers { registry, pull_secret } = args;
    let placed = Placed { pull_secrets: pull_secret, ..Placed::default() };
    let bundle = Bundle::new(registry.as_deref(), &placed)?;
    printer.data(&bundle.to_text()?)?;
    let images = bundle.images.len();
    printer.hint(&format!(
        "copy the {images} images under `images`, then `slipway drivers deploy --bundle FILE`"
    ));
    Ok(Exit::Ok)
}
