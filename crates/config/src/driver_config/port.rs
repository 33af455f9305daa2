//! The port of a server.

use serde_json::{Value, json};

use super::keys::Slot;
use crate::decode::Decoder;
use crate::yaml::At;

/// A TCP port, or none, which means the driver's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerPort(u16);

impl ServerPort {
    pub fn get(self) -> Option<u16> {
        (self.0 != 0).then_some(self.0)
    }
}

impl From<u16> for ServerPort {
    fn from(port: u16) -> Self {
        ServerPort(port)
    }
}

impl Slot for ServerPort {
    fn is_set(&self) -> bool {
        self.0 != 0
    }

    /// The drivers keep the text and put it into a URL. Only digits survive that, and leading zeros do no harm.
    fn read_ini(&mut self, value: Option<&str>) -> Result<(), &'static str> {
        let text = value.ok_or(super::keys::NEEDS_VALUE)?;
        self.0 = match text.trim_start_matches('0') {
            "" if text.is_empty() => 0,
            digits if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().map_err(|_| BAD)?,
            _ => return Err(BAD),
        };
        Ok(())
    }

    fn to_ini(&self) -> String {
        self.0.to_string()
    }

    fn read_yaml(&mut self, decoder: &mut Decoder<'_>, at: At) -> bool {
        let port = decoder.integer(at, "a port", 0, u16::MAX.into()).and_then(|port| port.try_into().ok());
        self.0 = port.unwrap_or_default();
        port.is_some()
    }

    fn to_yaml(&self) -> Value {
        json!(self.0)
    }
}

const BAD: &str = "write a number from 1 to 65535; the driver keeps the text, and fails when it connects";

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{ServerPort, Slot};

    #[rstest]
    #[case("443", Some(443))]
    #[case("0443", Some(443))]
    #[case("65535", Some(65535))]
    #[case("", Some(0))]
    #[case("0", None)]
    #[case("0x1bb", None)]
    #[case("70000", None)]
    #[case("-1", None)]
    #[case("+443", None)]
    #[case(" 443", None)]
    #[case("https", None)]
    fn ports_in_ini_are_digits(#[case] text: &str, #[case] expected: Option<u16>) {
        let mut port = ServerPort::default();
        assert_eq!(port.read_ini(Some(text)).is_ok().then_some(port.0), expected);
    }
}
