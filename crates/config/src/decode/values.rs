//! Decoding of single values and lists.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::{Decode, Decoder, Entries, Field, closest};
use crate::findings::Rule;
use crate::shape::{Shape, Text};
use crate::yaml::{At, Style, Value, printable};

/// A type read from a text. The error says what is wrong with it.
pub(crate) trait FromText: Sized {
    const TEXT: Text;

    fn from_text(text: &str) -> Result<Self, BadText>;
}

/// Why a text is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadText {
    pub(crate) rule: Rule,
    pub(crate) reason: String,
    pub(crate) hint: Option<String>,
}

impl BadText {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        BadText { rule: Rule::InvalidValue, reason: reason.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }
}

impl Decoder<'_> {
    pub(crate) fn text_value<T: FromText>(&mut self, at: At) -> Option<T> {
        if T::TEXT.secret {
            self.conceal(at);
        }
        let text = self.text(at, T::TEXT.what)?;
        let too_long = T::TEXT.max_length.filter(|max| text.chars().nth(*max).is_some());
        let result = match too_long {
            Some(max) => {
                Err(BadText::new(format!("longer than the {max} characters allowed")).rule(Rule::TooLong))
            }
            None => T::from_text(text),
        };
        match result {
            Ok(value) => Some(value),
            Err(BadText { rule, reason, hint }) => {
                let message =
                    if T::TEXT.secret { reason } else { format!("`{}`: {reason}", printable(text)) };
                self.findings().error(rule, at, message).hint_opt(hint);
                None
            }
        }
    }

    pub(crate) fn choice(&mut self, at: At, words: &[&str]) -> Option<usize> {
        let text = self.text(at, &format!("one of {}", words.join(", ")))?;
        if let Some(index) = words.iter().position(|word| *word == text) {
            return Some(index);
        }
        let hint = match closest(text, words.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? Allowed: {}", words.join(", ")),
            None => format!("write one of {}", words.join(", ")),
        };
        let message = format!("`{}` is not one of the values this field takes", printable(text));
        self.findings().error(Rule::InvalidValue, at, message).hint(hint);
        None
    }

    pub(crate) fn integer(&mut self, at: At, what: &str, min: i64, max: i64) -> Option<i64> {
        let text = self.text(at, what)?;
        let quoted = matches!(self.value(at), Value::Scalar { style: Style::Text, .. });
        // Go's readers take a leading zero for octal; what was meant is anyone's guess.
        let digits = text.trim_start_matches(['-', '+']);
        let octal = digits.len() > 1 && digits.starts_with('0');
        let number = text.parse::<i64>().ok().filter(|_| !quoted && !octal);
        match number {
            Some(number) if (min..=max).contains(&number) => Some(number),
            Some(number) => {
                let rule = if what == PORT { Rule::PortRange } else { Rule::OutOfRange };
                let range =
                    if max == i64::MAX { format!("at least {min}") } else { format!("{min} to {max}") };
                self.findings().error(rule, at, format!("{number} is out of range, allowed: {range}"));
                None
            }
            None => {
                let message = format!("`{}` is not a whole number", printable(text));
                let finding = self.findings().error(Rule::InvalidValue, at, message);
                if quoted {
                    finding.hint("write the number without quotes");
                } else if octal {
                    finding.hint("write it without a leading zero");
                }
                None
            }
        }
    }
}

macro_rules! integer {
    ($($type:ty),+) => {$(
        impl Decode for $type {
            fn shape() -> Shape {
                Shape::Integer { what: "a whole number", min: i64::from(<$type>::MIN), max: i64::from(<$type>::MAX) }
            }

            fn decode(decoder: &mut Decoder<'_>, at: At) -> Option<Self> {
                let range = (i64::from(<$type>::MIN), i64::from(<$type>::MAX));
                decoder.integer(at, "a whole number", range.0, range.1)?.try_into().ok()
            }
        }
    )+};
}
integer!(u32);

const REPLICAS: &str = "a number of machines";

/// How many machines a pool has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replicas(u32);

impl Replicas {
    /// More than the largest clusters have; a slip of the keyboard should not be taken for a wish.
    const MAX: u32 = 5000;

    pub fn get(self) -> u32 {
        self.0
    }
}

impl Decode for Replicas {
    fn shape() -> Shape {
        Shape::Integer { what: REPLICAS, min: 0, max: Replicas::MAX.into() }
    }

    fn decode(decoder: &mut Decoder<'_>, at: At) -> Option<Self> {
        decoder.integer(at, REPLICAS, 0, Replicas::MAX.into())?.try_into().ok().map(Replicas)
    }
}

const PORT: &str = "a port number";

/// A TCP port as the cluster's own API accepts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port(u16);

impl Port {
    pub const HTTPS: Port = Port(443);
    /// Upper bound of the port in OpenShift's Infrastructure resource, where it ends up.
    const MAX: u16 = 32767;

    pub fn get(self) -> u16 {
        self.0
    }
}

impl Decode for Port {
    fn shape() -> Shape {
        Shape::Integer { what: PORT, min: 1, max: Port::MAX.into() }
    }

    fn decode(decoder: &mut Decoder<'_>, at: At) -> Option<Self> {
        decoder.integer(at, PORT, 1, Port::MAX.into())?.try_into().ok().map(Port)
    }
}

impl Decode for bool {
    fn shape() -> Shape {
        Shape::Bool
    }

    fn decode(decoder: &mut Decoder<'_>, at: At) -> Option<Self> {
        let text = decoder.text(at, "true or false")?;
        let plain = matches!(decoder.value(at), Value::Scalar { style: Style::Plain, .. });
        match text {
            "true" | "True" | "TRUE" if plain => Some(true),
            "false" | "False" | "FALSE" if plain => Some(false),
            _ => {
                let quoted = if plain { "" } else { " in quotes" };
                let message = format!("`{}`{quoted} is not true or false", printable(text));
                let hint = "write true or false, without quotes";
                decoder.findings().error(Rule::InvalidValue, at, message).hint(hint);
                None
            }
        }
    }
}

/// Implements [`Decode`] for types that are read from text.
macro_rules! text {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::decode::Decode for $type {
            fn shape() -> $crate::shape::Shape {
                $crate::shape::Shape::Text(<$type as $crate::decode::FromText>::TEXT)
            }

            fn decode(decoder: &mut $crate::decode::Decoder<'_>, at: $crate::yaml::At) -> Option<Self> {
                decoder.text_value(at)
            }
        }
    )+};
}
pub(crate) use text;

impl FromText for String {
    const TEXT: Text = Text::new("text");

    fn from_text(text: &str) -> Result<Self, BadText> {
        Ok(text.to_owned())
    }
}

impl FromText for SecretString {
    const TEXT: Text = Text::new("secret text").secret();

    fn from_text(text: &str) -> Result<Self, BadText> {
        Ok(text.into())
    }
}

text!(String, SecretString);

impl<T: Decode> Decode for Entries<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }

    fn decode(decoder: &mut Decoder<'_>, at: At) -> Option<Self> {
        let Value::List(items) = decoder.value(at) else {
            decoder.wrong_kind(at, "a list");
            return None;
        };
        let decoded = items.iter().map(|&item| {
            if decoder.is_blank(item) {
                let message = "this entry of the list is empty";
                decoder.findings().error(Rule::InvalidValue, item, message).hint("fill it in, or remove it");
                return Field::Invalid(item);
            }
            match T::decode(decoder, item) {
                Some(value) => Field::set(value, item),
                None => Field::Invalid(item),
            }
        });
        Some(decoded.collect())
    }
}

impl<T: Decode> Decode for BTreeMap<String, Field<T>> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }

    fn decode(decoder: &mut Decoder<'_>, at: At) -> Option<Self> {
        let Value::Map(entries) = decoder.value(at) else {
            decoder.wrong_kind(at, "a mapping");
            return None;
        };
        let decoded = entries.iter().map(|entry| {
            let value = match T::decode(decoder, entry.at) {
                Some(value) => Field::set(value, entry.at),
                None => Field::Invalid(entry.at),
            };
            (entry.key.to_string(), value)
        });
        Some(decoded.collect())
    }
}

/// A value that is accepted and has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ignored;

impl Decode for Ignored {
    fn shape() -> Shape {
        Shape::Anything
    }

    fn decode(_: &mut Decoder<'_>, _: At) -> Option<Self> {
        Some(Ignored)
    }
}
