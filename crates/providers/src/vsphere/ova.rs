//! Appliances: a descriptor, disks, and their checksums, in one archive. Only the descriptor and the list of files
//! are held in memory; disks are read when they are sent.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{self, Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512};
use quick_xml::events::Event;
use thiserror::Error;

/// More than a descriptor or a manifest ever is.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// An appliance that cannot be used.
#[derive(Debug, Error)]
pub enum OvaError {
    #[error("reading `{}`", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("`{}` has no descriptor (.ovf)", path.display())]
    NoDescriptor { path: PathBuf },
    #[error("`{file}` in `{}` is larger than a descriptor can be", path.display())]
    TooLarge { path: PathBuf, file: String },
    #[error("the descriptor in `{}` cannot be read: {reason}", path.display())]
    Descriptor { path: PathBuf, reason: String },
    #[error("line {line} of the manifest in `{}` is not a checksum", path.display())]
    Manifest { path: PathBuf, line: usize },
    #[error("the manifest in `{}` has no checksum for `{file}`", path.display())]
    Unlisted { path: PathBuf, file: String },
    #[error("`{file}` in `{}` is damaged: its checksum is not that of the manifest", path.display())]
    Damaged { path: PathBuf, file: String },
    #[error("`{}` has no file `{file}`", path.display())]
    Missing { path: PathBuf, file: String },
}

/// An appliance on disk.
#[derive(Debug, Clone)]
pub struct Ova {
    path: PathBuf,
    descriptor: String,
    networks: Vec<String>,
    files: BTreeMap<String, ArchiveEntry>,
    manifest: Option<BTreeMap<String, Checksum>>,
}

/// Where the content of a file is in the archive.
#[derive(Debug, Clone, Copy)]
struct ArchiveEntry {
    offset: u64,
    size: u64,
}

#[derive(Debug, Clone)]
struct Checksum {
    algorithm: &'static digest::Algorithm,
    value: Vec<u8>,
}

impl Ova {
    /// Reads what is where, and checks the descriptor against the manifest, if there is one.
    pub fn open(path: &Path) -> Result<Self, OvaError> {
        let broken = |source| OvaError::Read { path: path.to_owned(), source };
        let file = fs_err::File::open(path).map_err(broken)?;
        let mut archive = tar::Archive::new(file);
        let (mut files, mut descriptor, mut manifest) = (BTreeMap::new(), None, None);
        for entry in archive.entries_with_seek().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let name = entry.path().map_err(broken)?.to_string_lossy().into_owned();
            let place = ArchiveEntry { offset: entry.raw_file_position(), size: entry.size() };
            let kept = match Path::new(&name).extension().and_then(|extension| extension.to_str()) {
                // The first one counts, as the format says.
                Some("ovf") if descriptor.is_none() => &mut descriptor,
                Some("mf") if manifest.is_none() => &mut manifest,
                _ => {
                    files.insert(name, place);
                    continue;
                }
            };
            if place.size > MAX_TEXT_BYTES {
                return Err(OvaError::TooLarge { path: path.to_owned(), file: name });
            }
            let mut text = String::new();
            entry.read_to_string(&mut text).map_err(broken)?;
            *kept = Some((name, text));
        }
        let (name, descriptor) =
            descriptor.ok_or_else(|| OvaError::NoDescriptor { path: path.to_owned() })?;
        let networks =
            networks(&descriptor).map_err(|reason| OvaError::Descriptor { path: path.to_owned(), reason })?;
        let manifest = manifest
            .map(|(_, text)| checksums(&text))
            .transpose()
            .map_err(|line| OvaError::Manifest { path: path.to_owned(), line })?;
        let ova = Ova { path: path.to_owned(), descriptor, networks, files, manifest };
        if let Some(mut check) = ova.check(&name)? {
            check.update(ova.descriptor.as_bytes());
            check.finish()?;
        }
        Ok(ova)
    }

    pub fn descriptor(&self) -> &str {
        &self.descriptor
    }

    /// The networks the descriptor names.
    pub fn networks(&self) -> &[String] {
        &self.networks
    }

    /// The size of a file in bytes.
    pub fn size(&self, file: &str) -> Result<u64, OvaError> {
        self.place(file).map(|place| place.size)
    }

    /// The content of a file; [`Content::finish`] says whether it was what the manifest promised.
    pub(super) fn content(&self, file: &str) -> Result<Content, OvaError> {
        let place = self.place(file)?;
        let broken = |source| OvaError::Read { path: self.path.clone(), source };
        let mut archive = fs_err::File::open(&self.path).map_err(broken)?;
        archive.seek(SeekFrom::Start(place.offset)).map_err(broken)?;
        Ok(Content { rest: archive.take(place.size), check: self.check(file)?, path: self.path.clone() })
    }

    fn place(&self, file: &str) -> Result<ArchiveEntry, OvaError> {
        let missing = || OvaError::Missing { path: self.path.clone(), file: file.to_owned() };
        self.files.get(file).copied().ok_or_else(missing)
    }

    /// Nothing to check where there is no manifest.
    fn check(&self, file: &str) -> Result<Option<Check>, OvaError> {
        let Some(manifest) = &self.manifest else { return Ok(None) };
        let unlisted = || OvaError::Unlisted { path: self.path.clone(), file: file.to_owned() };
        let wanted = manifest.get(file).ok_or_else(unlisted)?.clone();
        let context = Context::new(wanted.algorithm);
        Ok(Some(Check { path: self.path.clone(), file: file.to_owned(), context, wanted: wanted.value }))
    }
}

/// A file's content, checked while it is read.
pub(super) struct Content {
    path: PathBuf,
    rest: std::io::Take<fs_err::File>,
    check: Option<Check>,
}

impl Content {
    /// The next bytes; none at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, OvaError> {
        let broken = |source| OvaError::Read { path: self.path.clone(), source };
        let count = self.rest.read(buffer).map_err(broken)?;
        if count == 0 && self.rest.limit() > 0 {
            return Err(broken(std::io::ErrorKind::UnexpectedEof.into()));
        }
        if let Some(check) = &mut self.check {
            check.update(&buffer[..count]);
        }
        Ok(count)
    }

    pub(super) fn finish(self) -> Result<(), OvaError> {
        self.check.map_or(Ok(()), Check::finish)
    }
}

struct Check {
    path: PathBuf,
    file: String,
    context: Context,
    wanted: Vec<u8>,
}

impl Check {
    fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
    }

    fn finish(self) -> Result<(), OvaError> {
        if self.context.finish().as_ref() == self.wanted.as_slice() {
            Ok(())
        } else {
            Err(OvaError::Damaged { path: self.path, file: self.file })
        }
    }
}

/// Lines such as `SHA256(disk.vmdk)= 1f…`. The error is the number of a line that is not.
fn checksums(text: &str) -> Result<BTreeMap<String, Checksum>, usize> {
    let mut checksums = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let (file, checksum) = checksum(line).ok_or(index + 1)?;
        checksums.insert(file, checksum);
    }
    Ok(checksums)
}

fn checksum(line: &str) -> Option<(String, Checksum)> {
    let (algorithm, rest) = line.split_once('(')?;
    let (file, value) = rest.rsplit_once(')')?;
    let algorithm = match algorithm.trim().to_ascii_uppercase().as_str() {
        "SHA1" => &SHA1_FOR_LEGACY_USE_ONLY,
        "SHA256" => &SHA256,
        "SHA512" => &SHA512,
        _ => return None,
    };
    let value = value.trim_start().strip_prefix('=')?.trim();
    let value = value
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<Vec<u8>>>()?;
    (value.len() == algorithm.output_len()).then(|| (file.to_owned(), Checksum { algorithm, value }))
}

/// The names in the descriptor's network section. They are attributes, which replies of a vCenter do not use.
fn networks(descriptor: &str) -> Result<Vec<String>, String> {
    let mut reader = quick_xml::Reader::from_str(descriptor);
    reader.config_mut().expand_empty_elements = true;
    let (mut names, mut inside, mut depth) = (Vec::new(), false, 0_u32);
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(start) => {
                depth += 1;
                match start.local_name().as_ref() {
                    "NetworkSection" => inside = true,
                    "Network" if inside => {
                        for attribute in start.attributes() {
                            let attribute = attribute.map_err(|error| error.to_string())?;
                            if attribute.key.local_name().as_ref() == "name" {
                                let value: &str = &attribute.value;
                                let name =
                                    quick_xml::escape::unescape(value).map_err(|error| error.to_string())?;
                                names.push(name.into_owned());
                            }
                        }
                    }
                    _ => {}
                }
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                inside &= end.local_name().as_ref() != "NetworkSection";
            }
            Event::Eof if depth > 0 => return Err("it is cut off".to_owned()),
            Event::Eof => return Ok(names),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{checksum, checksums, networks};

    #[rstest]
    #[case("SHA1(a b.ovf)= 237de026fb285b85528901da058475e56034da95", Some("a b.ovf"))]
    #[case("sha256 (x) = 0000000000000000000000000000000000000000000000000000000000000000", Some("x"))]
    #[case::short("SHA256(x)= 00", None)]
    #[case::no_hex("SHA1(x)= zz7de026fb285b85528901da058475e56034da95", None)]
    #[case::unknown("MD5(x)= 237de026fb285b85528901da058475e5", None)]
    #[case::not_ascii("SHA1(x)= ü37de026fb285b85528901da058475e56034da9", None)]
    fn a_line_of_a_manifest(#[case] line: &str, #[case] file: Option<&str>) {
        assert_eq!(checksum(line).map(|(file, _)| file).as_deref(), file);
    }

    #[test]
    fn a_bad_line_is_named() {
        assert_eq!(checksums("\nSHA1(x)= 1\n").unwrap_err(), 2);
    }

    #[test]
    fn networks_are_those_of_their_section() {
        let xml = r#"<Envelope xmlns:ovf="o"><Network ovf:name="not this"/><NetworkSection><Info>x</Info>
            <Network ovf:name="a &amp; b"/><Network ovf:name="c"><Description/></Network></NetworkSection></Envelope>"#;
        assert_eq!(networks(xml).unwrap(), ["a & b", "c"]);
        assert!(networks("<Envelope><NetworkSection>").is_err());
    }
}
