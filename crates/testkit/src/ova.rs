//! Appliances to import.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use sha2::{Digest, Sha256};

/// A machine with one disk, `disk.vmdk`, and one card. It is called `a.ovf` in the archive.
pub const DESCRIPTOR: &str = r#"<?xml version="1.0"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
 xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData">
<References><File ovf:href="disk.vmdk" ovf:id="file1"/></References>
<DiskSection><Info/><Disk ovf:capacity="16" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="d" ovf:fileRef="file1"/></DiskSection>
<NetworkSection><Info/><Network ovf:name="VM Network"/></NetworkSection>
<VirtualSystem ovf:id="vm"><Info/><OperatingSystemSection ovf:id="101"><Info/></OperatingSystemSection>
<ProductSection><Info/><Product>os &amp; more</Product><Version>1</Version></ProductSection>
<VirtualHardwareSection><Info/>
<System><vssd:ElementName>x</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID><vssd:VirtualSystemType>vmx-15</vssd:VirtualSystemType></System>
<Item><rasd:ElementName>cpu</rasd:ElementName><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>2</rasd:VirtualQuantity></Item>
<Item><rasd:ElementName>scsi</rasd:ElementName><rasd:InstanceID>3</rasd:InstanceID><rasd:ResourceSubType>VirtualSCSI</rasd:ResourceSubType><rasd:ResourceType>6</rasd:ResourceType></Item>
<Item><rasd:ElementName>disk</rasd:ElementName><rasd:HostResource>ovf:/disk/d</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType></Item>
</VirtualHardwareSection></VirtualSystem></Envelope>"#;

/// An archive of files, in this order.
pub fn archive(files: &[(&str, &[u8])]) -> anyhow::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *content)?;
    }
    builder.into_inner().context("the end of the archive")
}

/// An appliance with one disk.
pub fn image() -> anyhow::Result<Vec<u8>> {
    archive(&[("a.ovf", DESCRIPTOR.as_bytes()), ("disk.vmdk", &vec![7; 300_000])])
}

/// The checksum of a file, in hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Serves a file by HTTP for as long as the test runs: the port, and how often it was asked for.
pub fn serve(content: Vec<u8>) -> anyhow::Result<(u16, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (port, served) = (listener.local_addr()?.port(), Arc::new(AtomicUsize::new(0)));
    let count = served.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            count.fetch_add(1, Ordering::Relaxed);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&content));
        }
    });
    Ok((port, served))
}
