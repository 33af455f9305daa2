//! Reading many objects in one call, page by page.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::client::Client;
use super::error::{Error, Retry};
use super::fault::Fault;
use super::moref::{MoRef, Reference};
use super::soap::{Body, Element};

/// Objects per page: large enough to be few, small enough to arrive within a deadline.
const PAGE: u32 = 500;

/// A kind of object and the properties wanted of it; none means only that it exists.
#[derive(Debug, Clone)]
pub struct PropertySpec<'a> {
    pub kind: &'a str,
    pub properties: &'a [&'a str],
}

/// What was read of an object.
#[derive(Debug, Clone)]
pub struct Object {
    pub moref: MoRef,
    pub properties: BTreeMap<Box<str>, Element>,
    /// Properties that could not be read, and why: most often a privilege is missing.
    pub missing: BTreeMap<Box<str>, Fault>,
}

impl Object {
    /// The text of a property; empty without it.
    pub fn text(&self, property: &str) -> &str {
        self.properties.get(property).map_or("", |element| &element.text)
    }

    /// An object that a property refers to.
    pub fn reference(&self, property: &str) -> Option<MoRef> {
        let element = self.properties.get(property)?;
        Some(MoRef { vcenter: self.moref.vcenter.clone(), reference: Reference::of(element) })
    }

    /// Objects that a property lists.
    pub fn references(&self, property: &str) -> Vec<MoRef> {
        let children = self.properties.get(property).map(|element| element.children.as_slice());
        let children = children.unwrap_or_default().iter();
        children
            .map(|child| MoRef { vcenter: self.moref.vcenter.clone(), reference: Reference::of(child) })
            .collect()
    }
}

impl Client {
    /// Properties of objects that are known. One that is gone meanwhile is left out.
    pub async fn retrieve(
        &self,
        objects: &[MoRef],
        specs: &[PropertySpec<'_>],
    ) -> Result<Vec<Object>, Error> {
        if objects.is_empty() {
            return Ok(Vec::new());
        }
        let spec = property_sets(specs)
            .each(objects, |body, object| {
                body.object("objectSet", &Body::new().reference("obj", &object.reference))
            })
            .text("reportMissingObjectsInResults", true);
        self.whole(|| self.pages(&spec)).await
    }

    /// One property of one object; none if it is not set.
    pub async fn property(&self, object: &MoRef, name: &str) -> Result<Option<Element>, Error> {
        let session = self.session();
        match self.property_once(object, name).await {
            // Some objects can be read by anybody, and only what belongs to a session tells that there is none.
            Err(error) if error.retry() == Retry::LogIn => {
                self.forget(&session);
                self.property_once(object, name).await
            }
            done => done,
        }
    }

    async fn property_once(&self, object: &MoRef, name: &str) -> Result<Option<Element>, Error> {
        let specs = [PropertySpec { kind: &object.reference.kind, properties: &[name] }];
        let mut objects = self.retrieve(std::slice::from_ref(object), &specs).await?;
        let Some(read) = objects.first_mut() else { return Ok(None) };
        match read.missing.remove(name) {
            Some(fault) => Err(self.error(name, fault)),
            None => Ok(read.properties.remove(name)),
        }
    }

    /// Properties of all objects of the wanted kinds at or below `root`, however many there are.
    pub async fn retrieve_below(
        &self,
        root: &MoRef,
        specs: &[PropertySpec<'_>],
    ) -> Result<Vec<Object>, Error> {
        self.whole(|| self.below(root, specs)).await
    }

    async fn below(&self, root: &MoRef, specs: &[PropertySpec<'_>]) -> Result<Vec<Object>, Error> {
        let views = self.manager("viewManager").await?;
        let body = Body::new()
            .reference("container", &root.reference)
            .each(specs, |body, spec| body.text("type", spec.kind))
            .text("recursive", true);
        let reply = self.call(&views, "CreateContainerView", &body).await?;
        let view = reply.need("returnval").map_err(|cause| self.error("CreateContainerView", cause))?;
        let view = self.moref(Reference::of(view));
        let traversal = Body::new()
            .text("name", "view")
            .text("type", "ContainerView")
            .text("path", "view")
            .text("skip", false);
        let set = Body::new().reference("obj", &view.reference).text("skip", true).typed(
            "selectSet",
            "TraversalSpec",
            &traversal,
        );
        let result = self.pages(&property_sets(specs).object("objectSet", &set)).await;
        // The view dies with the session; one that cannot be destroyed is no reason to fail.
        let _ = self.call(&view, "DestroyView", &Body::new()).await;
        result
    }

    /// A read that breaks starts over: a page that was sent is not sent again, and what is on the server for it
    /// goes with the session.
    async fn whole<T, F: Future<Output = Result<T, Error>>>(
        &self,
        attempt: impl Fn() -> F,
    ) -> Result<T, Error> {
        let session = self.session();
        match self.with_retries(&attempt).await {
            Err(_) if !Arc::ptr_eq(&session, &self.session()) => self.with_retries(attempt).await,
            done => done,
        }
    }

    async fn pages(&self, spec: &Body) -> Result<Vec<Object>, Error> {
        let collector = self.manager("propertyCollector").await?;
        let options = Body::new().text("maxObjects", PAGE);
        let body = Body::new().object("specSet", spec).object("options", &options);
        let mut reply = self.call(&collector, "RetrievePropertiesEx", &body).await?;
        let mut objects = Vec::new();
        loop {
            let Some(page) = reply.child("returnval") else { return Ok(objects) };
            objects.extend(page.all("objects").map(|element| self.object(element)));
            let token = page.text_of("token").to_owned();
            if token.is_empty() {
                return Ok(objects);
            }
            let body = Body::new().text("token", token);
            reply = self.call(&collector, "ContinueRetrievePropertiesEx", &body).await?;
        }
    }

    fn object(&self, element: &Element) -> Object {
        let value = |set: &Element| {
            let value = set.child("val").cloned().unwrap_or_default();
            (set.text_of("name").into(), value)
        };
        let missing = |set: &Element| {
            let fault = set.child("fault").map(Fault::of_method);
            Some((set.text_of("path").into(), fault?))
        };
        let reference = element.child("obj").map_or_else(|| Reference::new("", ""), Reference::of);
        Object {
            moref: self.moref(reference),
            properties: element.all("propSet").map(value).collect(),
            missing: element.all("missingSet").filter_map(missing).collect(),
        }
    }
}

pub(super) fn property_sets(specs: &[PropertySpec<'_>]) -> Body {
    Body::new().each(specs, |body, spec| {
        let set = Body::new()
            .text("type", spec.kind)
            .text("all", false)
            .each(spec.properties, |body, property| body.text("pathSet", property));
        body.object("propSet", &set)
    })
}
