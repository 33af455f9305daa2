//! Which version a request asks for.

use super::spec::SpecVersion;

/// The media type of Ignition's configurations.
pub const MEDIA_TYPE: &str = "application/vnd.coreos.ignition+json";

/// Ranges that a configuration also satisfies, whatever its version.
const GENERAL: &[&str] = &[MEDIA_TYPE, "application/json", "application/*", "*/*"];

/// The version that a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedVersion {
    Version(SpecVersion),
    /// Whichever the configuration is stored in.
    Stored,
}

/// What cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    #[error(
        "the Accept header asks for version `{asked}` of Ignition's specification; there are 3.0.0 to {}",
        SpecVersion::NEWEST
    )]
    UnknownVersion { asked: String },
    #[error("the Accept header leaves nothing: there is only {MEDIA_TYPE}")]
    OtherType,
    #[error("the Accept header is malformed")]
    Malformed,
}

/// Reads an Accept header. Of versions that are wanted alike the newest one is taken.
///
/// A machine with a newer Ignition than ours asks for a version that we do not know, and says at the end that it would
/// take anything: it reads all older ones of the same major version, so it gets the stored one. One that asks for
/// another major version could not read what we have, whatever it says.
pub fn wanted(header: Option<&str>) -> Result<RequestedVersion, AcceptError> {
    let Some(header) = header.map(str::trim).filter(|header| !header.is_empty()) else {
        return Ok(RequestedVersion::Stored);
    };
    let mut best: Option<(u16, SpecVersion)> = None;
    let mut unknown: Option<String> = None;
    let mut any = false;
    for range in header.split(',').map(str::trim).filter(|range| !range.is_empty()) {
        let Range { media_type, version, quality } = Range::parse(range)?;
        if quality == 0 {
            continue;
        }
        match version {
            Some(version) if media_type == MEDIA_TYPE => match SpecVersion::known(&version) {
                Some(known) => best = best.max(Some((quality, known))),
                // One that we could not satisfy whatever else is said is the one to name.
                None if unknown.as_deref().is_some_and(|known| !is_later(known)) => {}
                None => unknown = Some(version),
            },
            _ => any |= GENERAL.contains(&media_type.as_str()),
        }
    }
    match (best, unknown) {
        (Some((_, version)), _) => Ok(RequestedVersion::Version(version)),
        (None, Some(asked)) if !(any && is_later(&asked)) => {
            Err(AcceptError::UnknownVersion { asked: asked.chars().take(40).collect() })
        }
        (None, _) if any => Ok(RequestedVersion::Stored),
        (None, _) => Err(AcceptError::OtherType),
    }
}

/// Whether it is a version of the same major one that came after those we know.
fn is_later(version: &str) -> bool {
    let newest = semver::Version::parse(&SpecVersion::NEWEST.to_string());
    let version = semver::Version::parse(version);
    matches!((version, newest), (Ok(version), Ok(newest)) if version.major == newest.major && version > newest)
}

struct Range {
    media_type: String,
    version: Option<String>,
    /// In thousandths.
    quality: u16,
}

impl Range {
    fn parse(text: &str) -> Result<Self, AcceptError> {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        if !media_type.contains('/') {
            return Err(AcceptError::Malformed);
        }
        let mut range = Range { media_type, version: None, quality: 1000 };
        for part in parts.filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or(AcceptError::Malformed)?;
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "version" => range.version = Some(value.to_owned()),
                "q" => range.quality = quality(value).ok_or(AcceptError::Malformed)?,
                _ => {}
            }
        }
        Ok(range)
    }
}

/// `0.25` in thousandths.
fn quality(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.len() <= 3 && fraction.chars().all(|c| c.is_ascii_digit());
    let fraction: u16 = if digits { format!("{fraction:0<3}").parse().ok()? } else { return None };
    match whole {
        "0" => Some(fraction),
        "1" if fraction == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{AcceptError, RequestedVersion, SpecVersion, wanted};

    const IGNITION: &str = "application/vnd.coreos.ignition+json;";

    #[rstest]
    #[case::ignition("I;version=3.4.0, */*;q=0.1", 4)]
    #[case::spaces("I; version=3.2.0 , */* ; q=0.1", 2)]
    #[case::quoted("I;version=\"3.1.0\"", 1)]
    #[case::oldest("I;version=3.0.0", 0)]
    #[case::newest("I;version=3.6.0", 6)]
    #[case::best("I;version=3.1.0;q=0.5, I;version=3.0.0;q=0.9", 0)]
    #[case::newest_of_equals("I;version=3.1.0, I;version=3.3.0", 3)]
    #[case::one_that_we_know("I;version=3.9.0, I;version=3.3.0;q=0.5", 3)]
    #[case::upper_case("Application/vnd.coreos.Ignition+JSON;Version=3.2.0", 2)]
    fn a_version(#[case] header: &str, #[case] minor: u8) {
        let header = header.replace("I;", IGNITION);
        assert_eq!(wanted(Some(&header)), Ok(RequestedVersion::Version(SpecVersion::new(minor))), "{header}");
    }

    #[rstest]
    #[case::none(None)]
    #[case::empty(Some(""))]
    #[case::curl(Some("*/*"))]
    #[case::no_version(Some("application/vnd.coreos.ignition+json"))]
    #[case::json(Some("text/html, application/json;q=0.9"))]
    #[case::newer_than_we(Some("application/vnd.coreos.ignition+json;version=3.9.0, */*;q=0.1"))]
    fn any_version(#[case] header: Option<&str>) {
        assert_eq!(wanted(header), Ok(RequestedVersion::Stored));
    }

    #[rstest]
    #[case::old("I;version=2.2.0", "2.2.0")]
    #[case::old_with_anything("I;version=2.4.0, I;version=1;q=0.5, */*;q=0.1", "2.4.0")]
    #[case::newer_and_strict("I;version=3.9.0", "3.9.0")]
    #[case::experimental("I;version=3.5.0-experimental, */*;q=0.1", "3.5.0-experimental")]
    #[case::major("I;version=4.0.0, */*;q=0.1", "4.0.0")]
    #[case::refused("I;version=3.2.0;q=0, I;version=x, */*", "x")]
    #[case::one_of_them_is_old("I;version=2.4.0, I;version=3.9.0, */*;q=0.1", "2.4.0")]
    fn an_unknown_version(#[case] header: &str, #[case] asked: &str) {
        let header = header.replace("I;", IGNITION);
        assert_eq!(wanted(Some(&header)), Err(AcceptError::UnknownVersion { asked: asked.to_owned() }));
    }

    #[rstest]
    #[case::html("text/html", AcceptError::OtherType)]
    #[case::refused("*/*;q=0", AcceptError::OtherType)]
    #[case::word("anything", AcceptError::Malformed)]
    #[case::quality("*/*;q=2", AcceptError::Malformed)]
    #[case::parameter("*/*;q", AcceptError::Malformed)]
    #[case::sign("*/*;q=0.+5", AcceptError::Malformed)]
    fn nothing(#[case] header: &str, #[case] error: AcceptError) {
        assert_eq!(wanted(Some(header)), Err(error));
    }
}
