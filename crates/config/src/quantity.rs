//! Amounts as Kubernetes writes them: `16G`, `120Gi`, `500m`.

use std::fmt;

use crate::decode::{BadText, FromText, text};
use crate::findings::Rule;
use crate::shape::Text;

/// A positive Kubernetes quantity, kept as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    text: String,
    value: f64,
}

impl Quantity {
    /// A quantity of another's, such as an API server's; none for nothing.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_text(text).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The amount in base units, as precisely as a float can.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// A quantity of this program's own, known to be valid.
    pub(crate) fn builtin(text: &str) -> Self {
        Self::from_text(text).unwrap_or_else(|_| Quantity { text: text.to_owned(), value: 0.0 })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromText for Quantity {
    const TEXT: Text = Text::new("a quantity such as 16Gi")
        .pattern(r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$");

    fn from_text(text: &str) -> Result<Self, BadText> {
        let bad = || {
            BadText::new("not a quantity")
                .rule(Rule::Quantity)
                .hint("write a number with an optional unit: `16Gi`, `120G`, `4`")
        };
        let digits = text.strip_prefix('+').unwrap_or(text);
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        let (number, suffix) = digits.split_at(end);
        if !number.contains(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
            return Err(bad());
        }
        let number: f64 = format!("0{number}").parse().map_err(|_| bad())?;
        let value = number * multiplier(suffix).ok_or_else(bad)?;
        if value <= 0.0 {
            return Err(BadText::new("must be more than zero").rule(Rule::Quantity));
        }
        Ok(Quantity { text: text.to_owned(), value })
    }
}

text!(Quantity);

fn multiplier(suffix: &str) -> Option<f64> {
    let decimal = |power: i32| Some(10f64.powi(power));
    let binary = |power: i32| Some(1024f64.powi(power));
    match suffix {
        "" => Some(1.0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            (-18..=18).contains(&power).then(|| 10f64.powi(power))
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{FromText, Quantity};

    #[rstest]
    #[case("4", Some(4.0))]
    #[case("16G", Some(16e9))]
    #[case("120Gi", Some(120.0 * 1024.0 * 1024.0 * 1024.0))]
    #[case("500m", Some(0.5))]
    #[case("1.5k", Some(1500.0))]
    #[case(".5", Some(0.5))]
    #[case("1e3", Some(1000.0))]
    #[case("0", None)]
    #[case("-1", None)]
    #[case("16GB", None)]
    #[case("16 Gi", None)]
    #[case("1.2.3", None)]
    #[case("1e", None)]
    #[case("", None)]
    #[case("Gi", None)]
    fn parses_like_kubernetes(#[case] text: &str, #[case] value: Option<f64>) {
        assert_eq!(Quantity::from_text(text).ok().map(|quantity| quantity.value()), value);
    }
}
