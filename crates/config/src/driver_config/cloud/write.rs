//! The configuration as YAML and as INI.

use serde_json::{Map, Value};

use super::CloudConfig;
use crate::driver_config::ini::{quoted, write_keys, write_section};
use crate::driver_config::keys::Section;
use crate::driver_config::yaml::to_map;
use crate::gcfg::{WriteError, Writer};
use crate::yaml::to_yaml;

impl CloudConfig {
    /// YAML, with what is set. The legacy part has no place in it.
    pub fn to_yaml(&self) -> String {
        let mut document = Map::new();
        put(&mut document, "global", &self.global);
        let vcenters: Map<String, Value> = self
            .vcenters
            .iter()
            .map(|(name, vcenter)| (name.clone(), Value::Object(to_map(vcenter))))
            .collect();
        document.insert("vcenter".to_owned(), Value::Object(vcenters));
        put(&mut document, "labels", &self.labels);
        put(&mut document, "nodes", &self.nodes);
        put(&mut document, "loadBalancer", &self.load_balancer);
        let classes = self.load_balancer_classes.iter();
        let classes: Map<String, Value> =
            classes.map(|(name, class)| (name.clone(), Value::Object(to_map(class)))).collect();
        if !classes.is_empty() {
            document.insert("loadBalancerClass".to_owned(), Value::Object(classes));
        }
        put(&mut document, "route", &self.route);
        put(&mut document, "nsxt", &self.nsxt);
        to_yaml(&Value::Object(document))
    }

    /// INI, with what is set.
    pub fn to_ini(&self) -> Result<String, WriteError> {
        let mut writer = Writer::default();
        write_section(&mut writer, "Global", None, &self.global, true)?;
        write_keys(&mut writer, &self.legacy.global)?;
        for (name, vcenter) in &self.vcenters {
            let mut vcenter = vcenter.clone();
            // The name of the section is the server unless said otherwise.
            if vcenter.server == *name {
                vcenter.server.clear();
            }
            write_section(&mut writer, "VirtualCenter", Some(name), &vcenter, true)?;
        }
        write_section(&mut writer, "Workspace", None, &self.legacy.workspace, false)?;
        write_section(&mut writer, "Network", None, &self.legacy.network, false)?;
        write_section(&mut writer, "Disk", None, &self.legacy.disk, false)?;
        write_section(&mut writer, "Labels", None, &self.labels, false)?;
        write_section(&mut writer, "Nodes", None, &self.nodes, false)?;
        write_section(&mut writer, "LoadBalancer", None, &self.load_balancer, false)?;
        for (name, class) in &self.load_balancer_classes {
            write_section(&mut writer, "LoadBalancerClass", quoted(name), class, true)?;
        }
        write_section(&mut writer, "Route", None, &self.route, false)?;
        write_section(&mut writer, "NSXT", None, &self.nsxt, false)?;
        Ok(writer.finish())
    }
}

fn put<S: Section>(document: &mut Map<String, Value>, name: &str, section: &S) {
    if !section.is_blank() {
        document.insert(name.to_owned(), Value::Object(to_map(section)));
    }
}
