//! Where objects are, worked out without asking.

use std::collections::HashMap;

use crate::vsphere::moref::Reference;
use crate::vsphere::properties::Object;

/// Where objects are, worked out from their `name` and `parent` without asking.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    known: HashMap<Reference, String>,
}

impl Paths {
    /// From places that are known. The root folder's path is `/`, whatever its name.
    pub fn known<'a>(places: impl IntoIterator<Item = (&'a Reference, &'a str)>) -> Self {
        let known = places.into_iter().map(|(id, path)| (id.clone(), path.to_owned()));
        Paths { known: known.collect() }
    }

    /// Objects in any order. One whose way to the root cannot be seen has no path.
    pub fn add(&mut self, objects: &[Object]) {
        let unplaced: HashMap<&Reference, (&Object, Option<Reference>)> = objects
            .iter()
            .map(|object| {
                let parent = object.reference("parent").map(|parent| parent.reference);
                (&object.moref.reference, (object, parent))
            })
            .collect();
        for object in objects {
            // Up to what is known, and down again.
            let (mut way, mut at) = (Vec::new(), &object.moref.reference);
            while !self.known.contains_key(at)
                && way.len() <= objects.len()
                && let Some((object, parent)) = unplaced.get(at)
            {
                way.push(*object);
                let Some(parent) = parent else { break };
                at = parent;
            }
            for object in way.into_iter().rev() {
                let Some(path) = self.of(object) else { break };
                self.known.insert(object.moref.reference.clone(), path);
            }
        }
    }

    /// Where an object is, if it is known where its parent is.
    pub fn of(&self, object: &Object) -> Option<String> {
        let parent = self.known.get(&object.reference("parent")?.reference)?;
        let separator = if parent == "/" { "" } else { "/" };
        Some(format!("{parent}{separator}{}", object.text("name")))
    }

    /// The path of an object that was added.
    pub fn get(&self, id: &Reference) -> Option<&str> {
        self.known.get(id).map(String::as_str)
    }
}

/// A path and everything above it, up to the root.
pub fn ancestry(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| match path.rfind('/') {
        Some(0) if path.len() > 1 => Some("/"),
        Some(0) | None => None,
        Some(at) => Some(&path[..at]),
    })
}

#[cfg(test)]
mod tests {
    use super::ancestry;

    #[test]
    fn paths_lead_up_to_the_root() {
        let up: Vec<&str> = ancestry("/dc/vm/a").collect();
        assert_eq!(up, ["/dc/vm/a", "/dc/vm", "/dc", "/"]);
        assert_eq!(ancestry("/").collect::<Vec<_>>(), ["/"]);
    }
}
