//! The search language, as far as clients use it: comparisons, `and`, `or`, wildcards, `sortby`, `page`.

use serde_json::Value;

use super::kind::Kind;
use super::world::{CORRELATION, Record, World};

/// A search that was understood.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Search {
    /// Any of these, all of each.
    any: Vec<Vec<Condition>>,
    sort: Option<(String, bool)>,
    page: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct Condition {
    field: String,
    comparison: Comparison,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Nothing if it is not of the language: the engine finds nothing then, and says no word.
pub(super) fn parse(text: &str) -> Option<Search> {
    let mut tokens = tokens(text)?.into_iter().peekable();
    let mut search = Search { page: 1, ..Search::default() };
    let mut all = Vec::new();
    while let Some(token) = tokens.next() {
        let Token::Word(word) = token else { return None };
        match word.to_lowercase().as_str() {
            "and" => {}
            "or" => search.any.push(std::mem::take(&mut all)),
            "sortby" => {
                let Some(Token::Word(field)) = tokens.next() else { return None };
                let order = tokens
                    .next_if(|token| matches!(token, Token::Word(word) if word == "asc" || word == "desc"));
                search.sort = Some((field.to_lowercase(), order == Some(Token::Word("desc".to_owned()))));
            }
            "page" => {
                let Some(Token::Word(number)) = tokens.next() else { return None };
                search.page = number.parse().ok().filter(|page| *page > 0)?;
            }
            _ => {
                let sign = tokens.next_if(|token| matches!(token, Token::Compare(_)));
                if let Some(Token::Compare(comparison)) = sign {
                    let Some(Token::Word(value)) = tokens.next() else { return None };
                    all.push(Condition { field: word.to_lowercase(), comparison, value });
                } else {
                    // A word alone is looked for in names.
                    let value = format!("*{word}*");
                    all.push(Condition { field: "name".to_owned(), comparison: Comparison::Equal, value });
                }
            }
        }
    }
    search.any.push(all);
    Some(search)
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Compare(Comparison),
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(&first) = characters.peek() {
        if first.is_whitespace() || first == ',' {
            characters.next();
        } else if matches!(first, '=' | '!' | '<' | '>') {
            let mut sign = String::new();
            while let Some(next) = characters.next_if(|next| matches!(next, '=' | '!' | '<' | '>')) {
                sign.push(next);
            }
            tokens.push(Token::Compare(match sign.as_str() {
                "=" => Comparison::Equal,
                "!=" => Comparison::Unequal,
                "<" => Comparison::Less,
                "<=" => Comparison::LessOrEqual,
                ">" => Comparison::Greater,
                ">=" => Comparison::GreaterOrEqual,
                _ => return None,
            }));
        } else if first == '"' {
            characters.next();
            let word: String = std::iter::from_fn(|| characters.next_if(|next| *next != '"')).collect();
            // The closing one.
            characters.next()?;
            tokens.push(Token::Word(word));
        } else {
            let is_inside =
                |next: &char| !next.is_whitespace() && !matches!(next, '=' | '!' | '<' | '>' | '"' | ',');
            tokens.push(Token::Word(std::iter::from_fn(|| characters.next_if(is_inside)).collect()));
        }
    }
    Some(tokens)
}

impl Search {
    /// What is found, in order, one page of it if pages have a size.
    pub(super) fn apply<'a>(
        &self,
        world: &World,
        kind: Kind,
        mut records: Vec<&'a Record>,
        is_exact: bool,
        size: Option<usize>,
    ) -> Vec<&'a Record> {
        records.retain(|record| {
            let holds = |condition: &Condition| condition.holds(world, kind, record, is_exact);
            self.any.iter().any(|all| all.iter().all(holds))
        });
        if let Some((field, descending)) = &self.sort {
            let key = |record: &Record| {
                let text = values(world, kind, record, field).unwrap_or_default().join(" ");
                (text.parse::<i64>().unwrap_or_default(), text)
            };
            records.sort_by(|one, other| {
                let order = key(one).cmp(&key(other));
                if *descending { order.reverse() } else { order }
            });
        }
        match size {
            Some(size) => records.into_iter().skip((self.page - 1) * size).take(size).collect(),
            None => records,
        }
    }
}

impl Condition {
    fn holds(&self, world: &World, kind: Kind, record: &Record, is_exact: bool) -> bool {
        let Some(values) = values(world, kind, record, &self.field) else { return false };
        let wanted = &self.value;
        let matches = |value: &String| match self.comparison {
            Comparison::Equal | Comparison::Unequal if is_exact => like(value, wanted),
            Comparison::Equal | Comparison::Unequal => like(&value.to_lowercase(), &wanted.to_lowercase()),
            other => match (value.parse::<i64>(), wanted.parse::<i64>()) {
                (Ok(value), Ok(wanted)) => match other {
                    Comparison::Less => value < wanted,
                    Comparison::LessOrEqual => value <= wanted,
                    Comparison::Greater => value > wanted,
                    _ => value >= wanted,
                },
                _ => false,
            },
        };
        if self.comparison == Comparison::Unequal {
            !values.iter().any(matches)
        } else {
            values.iter().any(matches)
        }
    }
}

/// With `*` for anything.
fn like(value: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => value == pattern,
        Some((before, after)) => value.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| like(&rest[at..], after))
        }),
    }
}

/// What a field of the language means for an object. Nothing where it has none: the search is no search then.
fn values(world: &World, kind: Kind, record: &Record, field: &str) -> Option<Vec<String>> {
    let named = |kind: Kind, id: &str| {
        world.find(kind, id).map(|record| record.name().to_owned()).into_iter().collect()
    };
    let reference = |kind: Kind, field: &str| named(kind, record.reference(field));
    let own = |field: &str| vec![record.text(field).to_owned()];
    Some(match (kind, field) {
        (Kind::Event | Kind::Job, "correlation_id") => {
            let place = if kind == Kind::Job { CORRELATION } else { "correlation_id" };
            own(place)
        }
        (Kind::Event, "severity" | "type") if field == "severity" => own("severity"),
        (Kind::Event, "type") => own("code"),
        (Kind::Event, "message") => own("description"),
        (Kind::Event, "vm" | "vms.name" | "vm.name" | "event_vm") => part_name(record, "vm"),
        (Kind::Event, "host" | "host.name") => part_name(record, "host"),
        (Kind::Event, "template" | "template.name") => part_name(record, "template"),
        (_, "time" | "start_time" | "creationdate" | "end_time") => {
            let place = if field == "creationdate" { "creation_time" } else { field };
            vec![
                record
                    .doc
                    .get(place)
                    .and_then(Value::as_i64)
                    .map(|time| time.to_string())
                    .unwrap_or_default(),
            ]
        }
        (Kind::Vm | Kind::Host | Kind::Template | Kind::User, "tag") => world
            .tagged
            .iter()
            .filter(|(object, _)| *object == record.id)
            .flat_map(|(_, tag)| -> Vec<String> { named(Kind::Tag, tag) })
            .collect(),
        (Kind::Vm | Kind::Host | Kind::Template, "cluster") => reference(Kind::Cluster, "cluster"),
        (Kind::Vm, "template" | "template.name") => reference(Kind::Template, "template"),
        (Kind::Vm, "host" | "hosts.name") => reference(Kind::Host, "host"),
        (Kind::Vm | Kind::Host | Kind::Template, "datacenter") => {
            named(Kind::DataCenter, &world.data_center_of(record.reference("cluster")))
        }
        (Kind::Cluster | Kind::Network | Kind::StorageDomain, "datacenter") => {
            reference(Kind::DataCenter, "data_center")
        }
        (Kind::Disk, "alias") | (Kind::Vm, "vms.name") => own("name"),
        (Kind::Disk, "disk_type") => own("storage_type"),
        (_, "id" | "name" | "description" | "comment" | "status" | "type" | "usrname" | "version") => {
            match field {
                "id" => vec![record.id.clone()],
                "usrname" => own("user_name"),
                field => own(field),
            }
        }
        _ => return None,
    })
}

fn part_name(record: &Record, part: &str) -> Vec<String> {
    record.doc.get(part).and_then(|part| part["name"].as_str()).map(str::to_owned).into_iter().collect()
}
