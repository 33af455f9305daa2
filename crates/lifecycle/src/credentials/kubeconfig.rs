//! The kubeconfig of the infrastructure cluster, cut down to what the new cluster needs of it.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use slipway_assets::InfraCluster;
use slipway_config::yaml::{At, to_yaml};
use x509_parser::pem::Pem;

use super::tree::Foreign;
use super::{Error, secret_file};
use crate::environment::Environment;

const WHAT: &str = "the infrastructure cluster";
const VARIABLE: &str = "KUBECONFIG";

/// The current context of `KUBECONFIG`, else of `~/.kube/config`, with everything it refers to.
pub(super) fn infra_cluster(
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<InfraCluster, Error> {
    let mut files = Vec::new();
    let paths = paths(environment)?;
    for path in &paths {
        match secret_file::read(path, warnings) {
            Ok(text) => files.push(Foreign::parse(path, text)?),
            // As kubectl does: the list may name files that do not exist yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    if files.is_empty() {
        let path = paths.into_iter().next().unwrap_or_default();
        return Err(Error::NoFile { what: WHAT, variable: VARIABLE, path });
    }
    let document = select(&mut files, warnings)?;
    for file in files {
        file.finish()?;
    }
    let server = document["clusters"][0]["cluster"]["server"].as_str().unwrap_or_default().to_owned();
    Ok(InfraCluster { server, kubeconfig: to_yaml(&document).into() })
}

fn paths(environment: &Environment) -> Result<Vec<PathBuf>, Error> {
    if let Some(list) = environment.get(VARIABLE) {
        return Ok(std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect());
    }
    let path = environment.in_home(".kube/config");
    Ok(vec![path.ok_or(Error::NoHome { what: WHAT, variable: VARIABLE })?])
}

/// The current context, its cluster and its user. In several files the first one that says something wins.
fn select(files: &mut [Foreign], warnings: &mut Vec<String>) -> Result<Value, Error> {
    let current = files.iter_mut().find_map(|file| file.text(At::ROOT, "current-context"));
    let Some(current) = current else {
        return Err(problem(
            &files[0],
            "there is no current context; choose one with `kubectl config use-context`",
        ));
    };
    let Some((file, context)) = named(files, "contexts", "context", &current) else {
        return Err(problem(&files[0], &format!("the kubeconfig has no context `{current}`")));
    };
    let context_file = &mut files[file];
    let cluster_name = context_file.required(context, "cluster");
    let user_name = context_file.required(context, "user");
    let namespace = context_file.text(context, "namespace");
    let (Some(cluster_name), Some(user_name)) = (cluster_name, user_name) else {
        return Err(problem(
            &files[file],
            &format!("context `{current}` of the kubeconfig names no cluster or no user"),
        ));
    };
    let Some((file, cluster)) = named(files, "clusters", "cluster", &cluster_name) else {
        return Err(problem(
            &files[file],
            &format!("the kubeconfig has no cluster `{cluster_name}`, which context `{current}` names"),
        ));
    };
    let cluster = cluster_of(&mut files[file], cluster, &cluster_name, warnings);
    let Some((file, user)) = named(files, "users", "user", &user_name) else {
        return Err(problem(
            &files[file],
            &format!("user `{user_name}` of context `{current}` is not in the kubeconfig"),
        ));
    };
    let user = user_of(&mut files[file], user, &user_name, warnings)?;
    let mut context =
        Map::from_iter([("cluster".to_owned(), json!(cluster_name)), ("user".to_owned(), json!(user_name))]);
    context.extend(namespace.map(|namespace| ("namespace".to_owned(), json!(namespace))));
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster_name, "cluster": cluster}],
        "contexts": [{"name": current, "context": context}],
        "current-context": current,
        "users": [{"name": user_name, "user": user}],
    }))
}

fn problem(file: &Foreign, message: &str) -> Error {
    Error::File { path: file.path.clone(), problems: vec![message.to_owned()] }
}

/// The entry of that name, and the file it is in.
fn named(files: &mut [Foreign], list: &str, kind: &str, name: &str) -> Option<(usize, At)> {
    files.iter_mut().enumerate().find_map(|(index, file)| {
        let items = file.items(At::ROOT, list);
        let item = items.into_iter().find(|item| file.text(*item, "name").as_deref() == Some(name))?;
        Some((index, file.field(item, kind)?))
    })
}

fn cluster_of(file: &mut Foreign, at: At, name: &str, warnings: &mut Vec<String>) -> Map<String, Value> {
    let server = file.required(at, "server").unwrap_or_default();
    if ["//localhost", "//127.", "//[::1]"].iter().any(|local| server.contains(local)) {
        warnings.push(format!(
            "the server of cluster `{name}` is {server}, which the new cluster's machines cannot reach"
        ));
    }
    let mut members = file.members(at);
    members.remove("extensions");
    inline(file, at, &mut members, "certificate-authority");
    certificates(file, at, &members, "certificate-authority");
    members
}

fn user_of(
    file: &mut Foreign,
    at: At,
    name: &str,
    warnings: &mut Vec<String>,
) -> Result<Map<String, Value>, Error> {
    for (key, method) in [("exec", "a plugin (`exec`)"), ("auth-provider", "an auth provider")] {
        if file.field(at, key).is_some() {
            return Err(Error::Plugin { path: file.path.clone(), user: name.to_owned(), method });
        }
    }
    let mut members = file.members(at);
    members.remove("extensions");
    inline(file, at, &mut members, "client-certificate");
    certificates(file, at, &members, "client-certificate");
    inline(file, at, &mut members, "client-key");
    if let Some(path) = file.text(at, "tokenFile") {
        members.remove("tokenFile");
        // A file is preferred over a token that is written out, because it is newer.
        if let Some(token) = referenced(file, at, "tokenFile", &path) {
            members.insert("token".to_owned(), json!(token.trim()));
            warnings.push(format!("the token of user `{name}` is copied; make sure that it does not expire"));
        }
    }
    let ways = ["token", "tokenFile", "client-certificate", "client-certificate-data", "username"];
    if ways.iter().all(|key| file.field(at, key).is_none()) {
        file.wrong(at, format!("user `{name}` of the kubeconfig has no token, certificate or password"));
    }
    Ok(members)
}

/// Replaces the name of a file by what is in it. Data that is written out wins, as it does for kubectl.
fn inline(file: &mut Foreign, at: At, members: &mut Map<String, Value>, key: &str) {
    members.remove(key);
    let data = format!("{key}-data");
    if file.text(at, &data).is_some() {
        return;
    }
    if let Some(path) = file.text(at, key)
        && let Some(contents) = referenced(file, at, key, &path)
    {
        members.insert(data, json!(BASE64.encode(contents)));
    }
}

/// Whether what should be certificates are some: later the client would only say that it cannot be made.
fn certificates(file: &mut Foreign, at: At, members: &Map<String, Value>, key: &str) {
    let data = format!("{key}-data");
    let Some(text) = members.get(&data).and_then(Value::as_str) else { return };
    let bytes = BASE64.decode(text.trim()).unwrap_or_default();
    let mut all = Pem::iter_from_buffer(&bytes).peekable();
    let is_some = all.peek().is_some();
    if !is_some || !all.all(|pem| pem.is_ok_and(|pem| pem.parse_x509().is_ok())) {
        let found = [data.as_str(), key].into_iter().find_map(|key| Some((key, file.field(at, key)?)));
        let (what, place) = found.unwrap_or((key, at));
        file.wrong(place, format!("`{what}` is not a certificate (PEM)"));
    }
}

/// The contents of a file that a kubeconfig names; relative to where the kubeconfig is.
fn referenced(file: &mut Foreign, at: At, key: &str, path: &str) -> Option<String> {
    let path = file.path.parent().unwrap_or(Path::new("")).join(path);
    match secret_file::read(&path, &mut Vec::new()) {
        Ok(contents) => Some(contents),
        Err(error) => {
            let place = file.field(at, key).unwrap_or(at);
            file.wrong(place, format!("`{key}`: {error}"));
            None
        }
    }
}
