//! How platforms hand Ignition configurations to their machines.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

/// What a machine finds when it is switched on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Firmware {
    /// What Ignition is given, as it is. A machine without any boots the bare image.
    pub ignition: Option<Vec<u8>>,
    /// The id in the firmware's tables, by which the platform knows the machine.
    pub uuid: Option<String>,
    /// Keys of VMware's `guestinfo`, which the machine can read while it runs.
    pub guestinfo: BTreeMap<String, String>,
}

/// The keys Ignition reads on vSphere.
const DATA: &str = "guestinfo.ignition.config.data";
const ENCODING: &str = "guestinfo.ignition.config.data.encoding";

impl Firmware {
    pub fn with_ignition(config: impl Into<Vec<u8>>) -> Self {
        Firmware { ignition: Some(config.into()), ..Firmware::default() }
    }

    /// vSphere: keys in the extra configuration of the virtual machine. The encodings are those that Ignition's own provider
    /// for VMware accepts, which cannot run without VMware's hypervisor.
    pub fn from_guestinfo(uuid: &str, extra: &BTreeMap<String, String>) -> anyhow::Result<Self> {
        let ignition = match extra.get(DATA) {
            None => None,
            Some(data) => {
                let encoding = extra.get(ENCODING).map_or("", String::as_str);
                Some(decode(data, encoding).with_context(|| format!("reading {DATA} as `{encoding}`"))?)
            }
        };
        let mut guestinfo = extra.clone();
        guestinfo.retain(|key, _| key.starts_with("guestinfo.") && key != DATA && key != ENCODING);
        Ok(Firmware { ignition, uuid: Some(uuid.to_owned()), guestinfo })
    }
}

fn decode(data: &str, encoding: &str) -> anyhow::Result<Vec<u8>> {
    let plain = || STANDARD.decode(data).context("this is not base64");
    Ok(match encoding {
        "" => data.as_bytes().to_vec(),
        "base64" | "b64" => plain()?,
        "gzip+base64" | "gzip+b64" | "gz+base64" | "gz+b64" => {
            let mut text = Vec::new();
            GzDecoder::new(plain()?.as_slice()).read_to_end(&mut text).context("this is not gzip")?;
            text
        }
        other => bail!("Ignition knows no encoding `{other}`"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Firmware;

    fn given(entries: &[(&str, &str)]) -> anyhow::Result<Firmware> {
        let extra: BTreeMap<String, String> =
            entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Firmware::from_guestinfo("an-id", &extra)
    }

    #[test]
    fn guestinfo_is_decoded_as_ignition_would() -> anyhow::Result<()> {
        const DATA: &str = "guestinfo.ignition.config.data";
        const ENCODING: &str = "guestinfo.ignition.config.data.encoding";
        let config =
            |firmware: Firmware| firmware.ignition.map(|text| String::from_utf8_lossy(&text).into_owned());
        assert_eq!(config(given(&[])?), None);
        assert_eq!(config(given(&[(DATA, "{}")])?).as_deref(), Some("{}"));
        assert_eq!(config(given(&[(DATA, "e30="), (ENCODING, "base64")])?).as_deref(), Some("{}"));
        let packed = "H4sIAAAAAAAAA6uuBQBDv6ajAgAAAA==";
        assert_eq!(config(given(&[(DATA, packed), (ENCODING, "gzip+base64")])?).as_deref(), Some("{}"));
        assert!(given(&[(DATA, "e30="), (ENCODING, "rot13")]).is_err());
        assert!(given(&[(DATA, "e30="), (ENCODING, "gzip+base64")]).is_err(), "not compressed");
        Ok(())
    }

    #[test]
    fn the_configuration_is_not_among_the_keys_a_machine_reads() -> anyhow::Result<()> {
        let firmware = given(&[
            ("guestinfo.hostname", "m-0"),
            ("guestinfo.ignition.config.data", "{}"),
            ("disk.EnableUUID", "TRUE"),
        ])?;
        assert_eq!(firmware.guestinfo.into_keys().collect::<Vec<_>>(), ["guestinfo.hostname"]);
        Ok(())
    }
}
