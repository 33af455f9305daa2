//! Which disks of a machine are its own. vCenter deletes with a machine whatever is attached to it, so that everything
//! else is taken out first.

use super::{ForeignDisk, KindError, MachineState, State, VCenter};
use crate::vsphere::MoRef;
use crate::vsphere::machines::{ConfigSpec, Disk, Hardware};

/// What is known of the disks something was made with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Made<'a> {
    /// A machine: the ids of its disks were written down when it was made, unless that was cut off or is lost. The
    /// machine itself says in which places they were.
    Machine(&'a [String]),
    /// A template: nothing can be attached to it.
    Template,
}

impl<'a> Made<'a> {
    pub(super) fn machine(state: &'a State) -> Self {
        match state {
            State::Machine(MachineState { disks, .. }) => Made::Machine(disks),
            _ => Made::Machine(&[]),
        }
    }

    /// Disks that are not its own: volumes of the storage driver, and what others attached. On doubt a disk is none of its
    /// own: one that is left behind can be deleted later.
    pub(super) fn foreign(self, hardware: &Hardware) -> Vec<&Disk> {
        hardware.disks.iter().filter(|disk| !self.owns(hardware, disk)).collect()
    }

    /// What is not its own and can be taken out. A snapshot would keep hold of such a disk then, and vCenter deletes what
    /// snapshots hold.
    pub(super) fn removable(self, hardware: &Hardware) -> Result<Vec<ForeignDisk>, String> {
        let foreign = self.foreign(hardware).into_iter();
        let disks: Vec<ForeignDisk> = foreign
            .map(|disk| ForeignDisk { file: disk.file.clone(), volume: disk.first_class_id.clone() })
            .collect();
        if disks.is_empty() || hardware.snapshots.is_empty() {
            return Ok(disks);
        }
        Err(format!(
            "{} has snapshots, and disks that are not its own: {}. Remove the snapshots and run again",
            hardware.home,
            files(&disks)
        ))
    }

    fn owns(self, hardware: &Hardware, disk: &Disk) -> bool {
        if disk.first_class_id.is_some() {
            return false;
        }
        // An administrator's disk may lie there as well: "store with the virtual machine" is the default.
        let at_home = !disk.file.is_empty() && folder(&disk.file) == folder(&hardware.home);
        let in_place = hardware.slots.as_ref().map(|slots| slots.contains(disk));
        match self {
            Made::Template => at_home,
            Made::Machine(uuids) if !uuids.is_empty() => {
                let known = disk.uuid.as_ref().is_some_and(|uuid| uuids.contains(uuid));
                known && (at_home || in_place == Some(true))
            }
            Made::Machine(_) => match in_place {
                Some(in_place) => at_home && in_place,
                // Made before disks were written down: the first is named after the machine.
                None => at_home && stem(&disk.file) == stem(&hardware.home),
            },
        }
    }
}

/// `[datastore] folder` of a file.
fn folder(file: &str) -> Option<&str> {
    file.rsplit_once('/').map(|(folder, _)| folder)
}

/// The name of a file without its ending, and without the number of a snapshot: `a` for `[x] a/a-000001.vmdk`.
fn stem(file: &str) -> &str {
    let name = file.rsplit_once('/').map_or(file, |(_, name)| name);
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    match name.rsplit_once('-') {
        Some((base, number)) if number.len() == 6 && number.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

/// The files of some disks, as a list for people.
pub(super) fn files(disks: &[ForeignDisk]) -> String {
    let files: Vec<&str> = disks.iter().map(|disk| disk.file.as_str()).collect();
    files.join(", ")
}

/// What detaching does, each disk by its file.
pub(super) fn detaching(name: &str, disks: &[ForeignDisk]) -> String {
    match disks {
        [one] => format!("detach the disk {} from `{name}`, and keep what is on it", one.file),
        several => format!(
            "detach {} disks from `{name}`, and keep what is on them: {}",
            several.len(),
            files(several)
        ),
    }
}

impl VCenter {
    /// The devices of a machine, right before something is done to it that cannot be undone. Nothing if it is gone. Whether
    /// it still is the machine that was looked at is read in the same call: another vCenter has the same short ids.
    pub(super) async fn hardware_now(
        &self,
        machine: &MoRef,
        uuid: &str,
    ) -> Result<Option<Hardware>, KindError> {
        let mut read = self.client.hardware(std::slice::from_ref(machine)).await?;
        let Some(hardware) = read.remove(machine) else { return Ok(None) };
        same(machine, uuid, &hardware.instance_uuid)?;
        Ok(Some(hardware))
    }

    /// Takes out what is not the machine's own. The files stay.
    pub(super) async fn detach_foreign(
        &self,
        machine: &MoRef,
        hardware: &Hardware,
        made: Made<'_>,
        limit: std::time::Duration,
    ) -> Result<(), KindError> {
        made.removable(hardware).map_err(KindError::Refused)?;
        let devices = made.foreign(hardware).into_iter().map(Disk::detach).collect();
        let spec = ConfigSpec { devices, ..ConfigSpec::default() };
        let task = self.client.reconfigure(machine, &spec).await?;
        self.client.finish(&task, limit).await?;
        Ok(())
    }

    /// The ids of the disks of a machine that was just made, to be written down. Without them its places are enough.
    pub(super) async fn disks_of(&self, machine: &MoRef) -> Vec<String> {
        let read = self.client.hardware(std::slice::from_ref(machine)).await;
        let hardware = read.ok().and_then(|mut read| read.remove(machine));
        let disks = hardware.map(|hardware| hardware.disks).unwrap_or_default();
        let uuids: Option<Vec<String>> = disks.into_iter().map(|disk| disk.uuid).collect();
        // One that has no id would be taken for somebody else's if the others were known by theirs.
        uuids.unwrap_or_default()
    }
}

/// Whether a machine still is the one that was looked at.
pub(super) fn same(machine: &MoRef, expected: &str, found: &str) -> Result<(), KindError> {
    if expected == found {
        return Ok(());
    }
    Err(KindError::Refused(format!(
        "{machine} is another machine than the one that was looked at (its id is {found}, not {expected}); run again"
    )))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rstest::rstest;

    use super::{ForeignDisk, Made, stem};
    use crate::vsphere::machines::{Hardware, Snapshot};
    use crate::vsphere::properties::Object;
    use crate::vsphere::soap::element;
    use crate::vsphere::{MoRef, Reference};

    const SCSI: i32 = 1000;
    const IDE: i32 = 200;
    const NVME: i32 = 31000;

    /// A disk by its place and its file; its id is the file's name. With `fcd` it is a volume.
    type Attached = (i32, i32, &'static str);

    fn object(disks: &[Attached], mark: Option<&str>) -> Object {
        let disk = |(controller, unit, file): &Attached| {
            let volume = if file.contains("fcd/") { "<vDiskId><id>v</id></vDiskId>" } else { "" };
            let uuid = file.rsplit('/').next().unwrap();
            format!(
                "<VirtualDevice xsi:type=\"VirtualDisk\"><key>2000</key><backing><fileName>{file}</fileName>\
                 <uuid>{uuid}</uuid></backing><controllerKey>{controller}</controllerKey>\
                 <unitNumber>{unit}</unitNumber>{volume}</VirtualDevice>"
            )
        };
        let devices: String = disks.iter().map(disk).collect();
        let mark = mark.map(|mark| format!("<val><key>k</key><value>{mark}</value></val>"));
        let properties = [
            ("config.hardware.device", Some(format!("<val>{devices}</val>"))),
            ("config.files.vmPathName", Some("<val>[ds] m/m.vmx</val>".to_owned())),
            ("config.instanceUuid", Some("<val>id</val>".to_owned())),
            ("config.extraConfig[\"slipway.dev/disks\"]", mark),
        ];
        let parse = |text: String| {
            let text =
                text.replacen("<val>", "<val xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">", 1);
            element::parse(text.as_bytes()).unwrap()
        };
        let properties =
            properties.into_iter().filter_map(|(name, text)| Some((name.into(), parse(text?)))).collect();
        let moref = MoRef { vcenter: "vc".into(), reference: Reference::new("VirtualMachine", "vm-1") };
        Object { moref, properties, missing: BTreeMap::new() }
    }

    /// Its own disk at 0:0 of its controller, with what others attached.
    #[rstest]
    #[case::alone(&[(SCSI, 0, "[ds] m/m.vmdk")], &[])]
    #[case::volume_on_a_controller_before(&[(NVME, 0, "[ds] m/m.vmdk"), (SCSI, 0, "[ds] fcd/v.vmdk")], &["[ds] fcd/v.vmdk"])]
    #[case::disk_on_ide(&[(SCSI, 0, "[ds] m/m.vmdk"), (IDE, 0, "[ds] b/b.vmdk")], &["[ds] b/b.vmdk"])]
    #[case::disk_in_the_first_place(&[(SCSI, 0, "[ds] b/b.vmdk"), (SCSI, 1, "[ds] m/m.vmdk")], &["[ds] b/b.vmdk"])]
    #[case::disk_beside_its_own(&[(SCSI, 0, "[ds] m/m.vmdk"), (SCSI, 2, "[ds] m/m_2.vmdk")], &["[ds] m/m_2.vmdk"])]
    #[case::volume_beside_its_own(&[(SCSI, 0, "[ds] m/m.vmdk"), (SCSI, 1, "[ds] m/fcd/v.vmdk")], &["[ds] m/fcd/v.vmdk"])]
    #[case::only_others(&[(SCSI, 0, "[ds] b/b.vmdk")], &["[ds] b/b.vmdk"])]
    #[case::nothing(&[], &[])]
    fn what_others_attached_is_not_its_own(
        #[case] disks: &[Attached],
        #[case] foreign: &[&str],
        #[values("journal", "mark", "neither")] known_by: &str,
    ) {
        let own = disks.iter().filter(|(.., file)| *file == "[ds] m/m.vmdk");
        let slots: Vec<String> = own.map(|(controller, _, _)| format!("{controller}:0")).collect();
        let mark = (known_by == "mark" && !slots.is_empty()).then(|| slots.join(" "));
        let hardware = Hardware::of(&object(disks, mark.as_deref())).unwrap();
        let uuids = if known_by == "journal" { vec!["m.vmdk".to_owned()] } else { Vec::new() };
        let mut found: Vec<&str> =
            Made::Machine(&uuids).foreign(&hardware).into_iter().map(|disk| &*disk.file).collect();
        // Without the journal a disk that changed its place is nobody's, and stays.
        found.retain(|file| known_by != "mark" || *file != "[ds] m/m.vmdk");
        assert_eq!(found, foreign, "{known_by}");
    }

    /// All that was made with it is its own, also after a snapshot or a move.
    #[rstest]
    #[case::data_disk("[ds] m/m_1.vmdk", 1)]
    #[case::snapshot("[ds] m/m-000001.vmdk", 0)]
    fn what_was_made_with_it_is_its_own(#[case] file: &'static str, #[case] unit: i32) {
        let disks = [(SCSI, unit, file)];
        let hardware = Hardware::of(&object(&disks, Some("1000:0 1000:1"))).unwrap();
        let uuid = [file.rsplit('/').next().unwrap().to_owned()];
        assert_eq!(Made::Machine(&uuid).foreign(&hardware), Vec::<&_>::new());
        assert_eq!(Made::Machine(&[]).foreign(&hardware), Vec::<&_>::new());
        let elsewhere =
            Hardware::of(&object(&[(SCSI, unit, "[b] m/x.vmdk")], Some("1000:0 1000:1"))).unwrap();
        assert_eq!(Made::Machine(&["x.vmdk".to_owned()]).foreign(&elsewhere), Vec::<&_>::new(), "moved");
        assert_eq!(Made::Machine(&[]).foreign(&elsewhere).len(), 1, "nobody knows it");
    }

    /// A disk of somebody else's is in the snapshot, too.
    #[test]
    fn a_machine_with_snapshots_keeps_disks_of_others() {
        let mut hardware =
            Hardware::of(&object(&[(SCSI, 0, "[ds] m/m.vmdk"), (SCSI, 1, "[ds] b/b.vmdk")], None)).unwrap();
        let b = ForeignDisk { file: "[ds] b/b.vmdk".to_owned(), volume: None };
        assert_eq!(Made::Machine(&[]).removable(&hardware), Ok(vec![b]));
        let moref =
            MoRef { vcenter: "vc".into(), reference: Reference::new("VirtualMachineSnapshot", "s-1") };
        hardware.snapshots.push(Snapshot { name: "backup".to_owned(), moref });
        let reason = Made::Machine(&[]).removable(&hardware).unwrap_err();
        assert!(reason.contains("[ds] b/b.vmdk") && reason.contains("snapshots"), "{reason}");
        hardware.disks.pop();
        assert_eq!(Made::Machine(&[]).removable(&hardware), Ok(Vec::new()), "its own go with it");
    }

    #[test]
    fn what_cannot_be_read_is_not_nothing() {
        for name in ["config.hardware.device", "config.files.vmPathName", "config.instanceUuid"] {
            let mut object = object(&[], None);
            object.properties.remove(name);
            assert!(Hardware::of(&object).unwrap_err().to_string().contains(name), "{name}");
        }
        assert_eq!(slipway_config::ids::DISKS_MARK, "slipway.dev/disks", "the path of the property has it");
    }

    #[rstest]
    #[case("[x] a/a.vmdk", "a")]
    #[case("[x] a/a-000001.vmdk", "a")]
    #[case("[x] a/a_1.vmdk", "a_1")]
    #[case("[x] a b/a-master-0.vmx", "a-master-0")]
    #[case("a", "a")]
    fn a_disk_is_named_after_its_machine(#[case] file: &str, #[case] name: &str) {
        assert_eq!(stem(file), name);
    }
}
