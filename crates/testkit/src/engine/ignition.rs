//! What a machine finds on its configuration drive: the script of its initialization, as the engine rewrites it.

use serde_json::{Map, Value, json};

use super::world::Record;

/// The version that is written where the configuration has none.
const VERSION: &str = "2.3.0";

/// User data, if there is any. Operating systems that take Ignition get Ignition, others get the script as it is.
pub(super) fn payload(vm: &Record) -> Option<String> {
    let initialization = vm.doc.get("initialization")?;
    let script = initialization["custom_script"].as_str()?;
    let system = vm.doc.get("os").and_then(|os| os["type"].as_str()).unwrap_or_default();
    // Asking for Ignition with the start changes nothing for other systems.
    if !system.starts_with("rhcos") {
        return Some(script.to_owned());
    }
    let Ok(Value::Object(mut config)) = serde_json::from_str(script) else { return Some(script.to_owned()) };
    let ignition = config.entry("ignition").or_insert_with(|| json!({}));
    if ignition["version"].is_null() {
        ignition["version"] = VERSION.into();
    }
    if let Some(host_name) = initialization["host_name"].as_str()
        && !script.contains("/etc/hostname")
    {
        name_host(&mut config, host_name);
    }
    Some(Value::Object(config).to_string())
}

fn name_host(config: &mut Map<String, Value>, host_name: &str) {
    let file = json!({"filesystem": "root", "path": "/etc/hostname", "mode": 420,
                      "contents": {"source": format!("data:,{host_name}")}});
    let files = config.get_mut("storage").and_then(|storage| storage.get_mut("files"));
    if let Some(files) = files.and_then(Value::as_array_mut) {
        files.push(file);
    } else {
        // Also when there is storage without files: what it had is lost.
        config.insert("storage".to_owned(), json!({"files": [file]}));
    }
}
