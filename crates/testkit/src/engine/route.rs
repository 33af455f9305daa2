//! From paths to what answers them.

use serde_json::{Map, Value, json};

use super::fault::Refusal;
use super::kind::Kind;
use super::render::{Extent, ROOT};
use super::schema;
use super::world::{Caller, Record, World};
use super::{search, xml};

/// A request for the API, without what belongs to the transport.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) segments: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) is_xml: bool,
    pub(super) body: String,
}

/// An answer that is no refusal.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// The name of the root in XML.
    pub(super) root: &'static str,
    pub(super) value: Value,
}

pub(super) type Answer = Result<Reply, Refusal>;

impl Reply {
    #[expect(clippy::unnecessary_wraps, reason = "it ends functions that can refuse")]
    pub(super) fn new(status: u16, root: &'static str, value: Value) -> Answer {
        Ok(Reply { status, root, value })
    }

    /// What removals without work answer.
    pub(super) fn complete() -> Answer {
        Reply::new(200, "action", json!({"status": "complete"}))
    }
}

impl Request {
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        // `?clone` alone means true, too.
        self.parameter(name).is_some_and(|value| value.is_empty() || value == "true")
    }

    /// The body as an object of that type.
    pub(super) fn body(&self, of: &'static str) -> Result<Value, Refusal> {
        let object = if self.is_xml {
            if self.body.trim().is_empty() {
                Map::new()
            } else {
                let root = xml::read(&self.body).filter(|root| root.name == of).ok_or(Refusal::Malformed)?;
                schema::from_xml(&root, of)?
            }
        } else {
            schema::from_json(&self.body, of)?
        };
        Ok(Value::Object(object))
    }

    /// Whether it asks for an action: those answer refusals in a form of their own.
    pub(super) fn is_action(&self) -> bool {
        if self.method != "POST" || self.segments.len() < 3 || self.segments.len().is_multiple_of(2) {
            return false;
        }
        let last = self.segments[self.segments.len() - 1].as_str();
        Kind::ALL.iter().any(|kind| kind.actions().contains(&last))
    }
}

/// Whether what is listed is exactly what is there, even when that is nothing.
const SHOWN_EMPTY: [Kind; 1] = [Kind::VnicProfile];

impl World {
    pub(super) fn answer(&mut self, request: &Request, caller: &Caller) -> Answer {
        let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
        let mut reply = match request.method.as_str() {
            "GET" => self.read(&segments, request, caller),
            "POST" => self.post(&segments, request, caller),
            "PUT" => self.put(&segments, request, caller),
            "DELETE" => self.delete(&segments, request, caller),
            _ => Err(Refusal::NotAllowed),
        }?;
        if request.method == "GET"
            && let Some(paths) = request.parameter("follow")
        {
            for path in paths.split(',') {
                let steps: Vec<&str> = path.trim().split('.').collect();
                self.follow(&mut reply.value, &steps, caller);
            }
        }
        Ok(reply)
    }

    fn read(&self, segments: &[&str], request: &Request, caller: &Caller) -> Answer {
        if !caller.is_filtered && !self.access.is_administrator(&caller.user) {
            return Err(Refusal::Forbidden(
                "query execution failed due to insufficient permissions.".to_owned(),
            ));
        }
        match *segments {
            [] => Reply::new(200, "api", self.entry_point()),
            [collection] => {
                let kind = Kind::of_collection(collection).ok_or(Refusal::NoPath)?;
                let records =
                    self.all(kind).iter().filter(|record| self.sees(caller, kind, &record.id)).collect();
                self.list(kind, Self::ordered(kind, records), request, caller, &|record, extent| {
                    self.show(kind, record, extent)
                })
            }
            [collection, id] => {
                let kind = Kind::of_collection(collection).ok_or(Refusal::NoPath)?;
                let record = self.find(kind, id).filter(|record| self.sees(caller, kind, &record.id));
                let extent = if caller.all_content { Extent::Full } else { Extent::Brief };
                Reply::new(200, kind.item(), self.show(kind, record.ok_or(Refusal::Missing)?, extent))
            }
            [collection, id, ref rest @ ..] => {
                let kind = Kind::of_collection(collection).ok_or(Refusal::NoPath)?;
                self.get(kind, id)?;
                self.read_part(kind, id, rest, request, caller)
            }
        }
    }

    fn ordered(kind: Kind, mut records: Vec<&Record>) -> Vec<&Record> {
        match kind {
            Kind::Event => records.reverse(),
            Kind::Vm | Kind::Template | Kind::Disk | Kind::Host | Kind::Cluster => {
                records.sort_by(|one, other| one.name().cmp(other.name()));
            }
            _ => {}
        }
        records
    }

    /// A list, searched and cut to a page.
    pub(super) fn list(
        &self,
        kind: Kind,
        mut records: Vec<&Record>,
        request: &Request,
        caller: &Caller,
        show: &dyn Fn(&Record, Extent) -> Value,
    ) -> Answer {
        let size = request.parameter("max").and_then(|max| max.parse().ok());
        if let Some(from) = request.parameter("from").and_then(|from| from.parse::<u64>().ok())
            && kind == Kind::Event
        {
            records.retain(|record| record.number("index") > from);
        }
        let is_exact = request.parameter("case_sensitive") != Some("false");
        let text = request.parameter("search").unwrap_or_default();
        let found = match search::parse(text) {
            Some(search) => search.apply(self, kind, records, is_exact, size),
            None => Vec::new(),
        };
        let extent = if caller.all_content { Extent::Full } else { Extent::Brief };
        let items: Vec<Value> = found.into_iter().map(|record| show(record, extent)).collect();
        Self::listed(kind, items)
    }

    pub(super) fn listed(kind: Kind, items: Vec<Value>) -> Answer {
        let mut list = Map::new();
        if !items.is_empty() || SHOWN_EMPTY.contains(&kind) {
            list.insert(kind.item().to_owned(), items.into());
        }
        Reply::new(200, kind.list(), Value::Object(list))
    }

    /// The API without a path.
    fn entry_point(&self) -> Value {
        let to = |rel: &str| json!({"href": format!("{ROOT}/{rel}"), "rel": rel});
        let links: Vec<Value> = Kind::ALL
            .iter()
            .filter(|kind| Kind::of_collection(kind.collection()) == Some(**kind) && **kind != Kind::Step)
            .flat_map(|kind| {
                let plain = to(kind.collection());
                let search = json!({"href": format!("{ROOT}/{}?search={{query}}", kind.collection()),
                                    "rel": format!("{}/search", kind.collection())});
                [plain, search]
            })
            .collect();
        let count = |kind: Kind, active: &str| {
            let records = self.all(kind);
            let live = records.iter().filter(|record| record.text("status") == active).count();
            json!({"active": live.to_string(), "total": records.len().to_string()})
        };
        let domains = self.all(Kind::StorageDomain).len().to_string();
        let users = self.all(Kind::User).len().to_string();
        json!({
            "product_info": {
                "instance_id": "61d9a4a5-2c1f-4a0c-9d1c-7b1f0d8f1c11",
                "name": "oVirt Engine",
                "vendor": "ovirt.org",
                "version": {"build": "8", "full_version": "4.5.8-1.el9", "major": "4", "minor": "5", "revision": "0"},
            },
            "special_objects": {
                "blank_template": {"href": format!("{ROOT}/templates/{}", super::inventory::BLANK), "id": super::inventory::BLANK},
                "root_tag": {"href": format!("{ROOT}/tags/{}", super::inventory::BLANK), "id": super::inventory::BLANK},
            },
            "summary": {
                "hosts": count(Kind::Host, "up"),
                "storage_domains": {"active": domains, "total": domains},
                "users": {"active": users, "total": users},
                "vms": count(Kind::Vm, "up"),
            },
            "time": self.now(),
            "link": links,
        })
    }

    /// Puts what a link leads to in its place.
    fn follow(&self, value: &mut Value, steps: &[&str], caller: &Caller) {
        let Some((step, rest)) = steps.split_first() else { return };
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.follow(item, steps, caller)),
            Value::Object(object) => {
                // A list: its items are meant.
                if object.len() == 1
                    && let Some(Value::Array(items)) = object.values_mut().next()
                {
                    for item in items {
                        self.follow(item, steps, caller);
                    }
                    return;
                }
                let plain = step.replace('_', "");
                let linked = object.get("link").and_then(Value::as_array).and_then(|links| {
                    links.iter().find(|link| link["rel"].as_str() == Some(&plain))?["href"]
                        .as_str()
                        .map(str::to_owned)
                });
                let referred = object.get(*step).and_then(|inner| inner["href"].as_str()).map(str::to_owned);
                let Some(href) = linked.or(referred) else { return };
                let path: Vec<&str> = href.strip_prefix(ROOT).unwrap_or(&href).split('/').skip(1).collect();
                let request = Request {
                    method: "GET".to_owned(),
                    segments: path.iter().map(|segment| (*segment).to_owned()).collect(),
                    query: Vec::new(),
                    is_xml: false,
                    body: String::new(),
                };
                if let Ok(reply) = self.read(&path, &request, caller) {
                    let mut inner = reply.value;
                    self.follow(&mut inner, rest, caller);
                    object.insert((*step).to_owned(), inner);
                }
            }
            _ => {}
        }
    }
}
