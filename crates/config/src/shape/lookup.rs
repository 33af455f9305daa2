//! From a field path to what is known about it, for `explain`.

use super::{FieldSpec, Shape};
use crate::decode::closest;

/// A field that was found.
#[derive(Debug, Clone)]
pub struct FieldInfo {
    /// The path in its usual spelling, lists marked by `[]`.
    pub path: String,
    /// `None` for the document itself.
    pub field: Option<FieldSpec>,
    pub shape: Shape,
}

/// A path that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", match parent.as_str() {
    "" => format!("there is no field `{field}`"),
    parent => format!("`{parent}` has no field `{field}`"),
})]
pub struct LookupError {
    /// The part of the path that exists.
    pub parent: String,
    pub field: String,
    pub suggestion: Option<String>,
    /// The fields that do exist there.
    pub fields: Vec<&'static str>,
}

/// Finds a path such as `platform.vsphere.vcenters[0].server`. Indices and the case of letters do not
/// matter, and a leading `installconfig` is skipped.
pub fn lookup(root: &Shape, path: &str) -> Result<FieldInfo, LookupError> {
    let mut place = FieldInfo { path: String::new(), field: None, shape: root.clone() };
    let mut steps = path
        .split('.')
        .map(|step| step.split('[').next().unwrap_or_default())
        .filter(|step| !step.is_empty() && !step.bytes().all(|byte| byte.is_ascii_digit()));
    let mut next = steps.next();
    if next.is_some_and(|step| step.eq_ignore_ascii_case("installconfig")) {
        next = steps.next();
    }
    while let Some(step) = next {
        let fields = place.shape.object().map(|object| object.fields).unwrap_or_default();
        let found = fields
            .iter()
            .find(|field| field.key == step)
            .or_else(|| fields.iter().find(|field| field.key.eq_ignore_ascii_case(step)));
        let Some(field) = found else {
            return Err(LookupError {
                suggestion: closest(step, fields.iter().map(|field| field.key))
                    .map(str::to_owned)
                    .or_else(|| elsewhere(root, step)),
                parent: place.path,
                field: step.to_owned(),
                fields: fields.iter().map(|field| field.key).collect(),
            });
        };
        let shape = (field.shape)();
        if !place.path.is_empty() {
            place.path.push('.');
        }
        place.path.push_str(field.key);
        if matches!(shape, Shape::List(_)) {
            place.path.push_str("[]");
        }
        place = FieldInfo { path: place.path, field: Some(*field), shape };
        next = steps.next();
    }
    Ok(place)
}

/// The first field of that name anywhere in the document.
fn elsewhere(root: &Shape, key: &str) -> Option<String> {
    let mut pending = std::collections::VecDeque::from([(String::new(), root.clone())]);
    while let Some((path, shape)) = pending.pop_front() {
        for field in shape.object().map(|object| object.fields).unwrap_or_default() {
            let path = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
            if field.key.eq_ignore_ascii_case(key) {
                return Some(path);
            }
            let shape = (field.shape)();
            if shape.object().is_some() {
                pending.push_back((path, shape));
            }
        }
    }
    None
}
