//! `slipway drivers upgrade`.

use slipway_assets::drivers::operator::{IMAGE, Placed};
use slipway_assets::drivers::settings::relocate;
use slipway_lifecycle::drivers::deploy::{self, Running};
use slipway_lifecycle::drivers::upgrade::{Pin, PinError, pin};

use super::deploy::{GOES_ON, wait};
use super::on_cluster;
use crate::args::UpgradeDrivers;
use crate::exit::{Exit, Usage};
use crate::output::{GOOD, Printer};

pub(crate) fn run(args: &UpgradeDrivers, printer: &Printer) -> anyhow::Result<Exit> {
    let UpgradeDrivers { access, waiting, cloud_provider, storage_provider, unpin, operator, image } = args;
    if cloud_provider.is_none() && storage_provider.is_none() && !unpin && !operator {
        let cure = "name a version with `--cloud-provider` or `--storage-provider`, or give `--unpin` or `--operator`";
        return Err(Usage(format!("nothing to do: {cure}")).into());
    }
    let want = |version: &Option<String>| match version {
        Some(version) => Pin::To(version.clone()),
        None if *unpin => Pin::Release,
        None => Pin::Keep,
    };
    let (cloud, storage) = (want(cloud_provider), want(storage_provider));
    on_cluster(access, GOES_ON, printer, async |client| {
        if *operator {
            let Running { arguments, pull_secrets, registry } = deploy::running(&client).await?;
            let image = image.clone().unwrap_or_else(|| relocate(IMAGE, registry.as_deref()));
            let placed = Placed { image: Some(&image), pull_secrets: &pull_secrets, arguments: &arguments };
            let told = |what: &str| printer.say(&format!("{GOOD}applied{GOOD:#} {what}\n"));
            deploy::deploy(&client, &deploy::objects(&placed)?, told).await?;
        }
        match pin(&client, &cloud, &storage).await {
            Err(error @ PinError::NoConfig) => {
                printer.error(&error.into());
                printer.hint("`slipway drivers deploy` and `slipway drivers configure` come first");
                return Ok(Exit::Other);
            }
            pinned => pinned?,
        }
        wait(&client, waiting, printer).await
    })
}
