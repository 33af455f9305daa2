//! A picture of a terminal, as SVG.

/// A README shows about this many columns without shrinking them.
const WIDTH: usize = 92;
const LINE: usize = 17;
const COLUMN: f32 = 7.8;
const MARGIN: usize = 14;

/// Lines with the colours a terminal would give them.
#[derive(Debug, Default)]
pub(super) struct Picture {
    lines: Vec<Vec<Span>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Span {
    text: String,
    style: Style,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Style {
    bold: bool,
    faint: bool,
    colour: Option<&'static str>,
}

impl Style {
    fn apply(&mut self, code: &str) {
        match code {
            "" | "0" => *self = Style::default(),
            "1" => self.bold = true,
            "2" => self.faint = true,
            "31" | "91" => self.colour = Some("#f7768e"),
            "32" | "92" => self.colour = Some("#9ece6a"),
            "33" | "93" => self.colour = Some("#e0af68"),
            "36" | "96" => self.colour = Some("#7dcfff"),
            _ => {}
        }
    }
}

impl Picture {
    /// Adds the lines of a text, cut off where the picture ends.
    pub(super) fn add(&mut self, text: &str) {
        text.split('\n').for_each(|line| self.line(line));
    }

    fn line(&mut self, text: &str) {
        let (mut spans, mut style, mut column) = (vec![Span::default()], Style::default(), 0);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(codes) = rest.strip_prefix("\u{1b}[") {
                let end = codes.find('m').unwrap_or(codes.len().saturating_sub(1));
                codes[..end].split(';').for_each(|code| style.apply(code));
                spans.push(Span { text: String::new(), style });
                rest = codes.get(end + 1..).unwrap_or_default();
                continue;
            }
            column += 1;
            if let Some(span) = spans.last_mut().filter(|_| column <= WIDTH) {
                span.text.push(if column == WIDTH { '…' } else { c });
            }
            rest = &rest[c.len_utf8()..];
        }
        self.lines.push(spans);
    }

    pub(super) fn svg(&self) -> String {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small"
        )]
        let width = (WIDTH as f32 * COLUMN) as usize + 2 * MARGIN;
        let is_blank = |line: &[Span]| line.iter().all(|span| span.text.trim().is_empty());
        let count = self.lines.iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1);
        let height = (count + 1) * LINE + 2 * MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, \
             SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1a1b26\"/>\n"
        );
        for (index, line) in self.lines[..count].iter().enumerate() {
            let y = MARGIN + (index + 1) * LINE;
            svg.push_str(&format!("<text x=\"{MARGIN}\" y=\"{y}\" fill=\"#c0caf5\" xml:space=\"preserve\">"));
            for Span { text, style } in line.iter().filter(|span| !span.text.is_empty()) {
                let mut attributes = String::new();
                if style.bold {
                    attributes.push_str(" font-weight=\"bold\"");
                }
                if style.faint {
                    attributes.push_str(" fill-opacity=\"0.55\"");
                }
                if let Some(colour) = style.colour {
                    attributes.push_str(&format!(" fill=\"{colour}\""));
                }
                let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                svg.push_str(&format!("<tspan{attributes}>{text}</tspan>"));
            }
            svg.push_str("</text>\n");
        }
        svg + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::{Picture, WIDTH};

    /// More is not read in a README.
    const MAX_LINES: usize = 30;

    #[test]
    fn the_picture_of_the_readme_fits_a_screen() {
        let lines = include_str!("../../../docs/demo.svg").matches("<text").count();
        assert!(lines <= MAX_LINES, "docs/demo.svg has {lines} lines: shorten the excerpts of the demo");
    }

    #[test]
    fn colours_and_long_lines() {
        let mut picture = Picture::default();
        picture.add("\u{1b}[1mbold\u{1b}[0m <&> \u{1b}[32mgreen\u{1b}[0m");
        picture.add(&"x".repeat(WIDTH + 10));
        let svg = picture.svg();
        assert!(svg.contains("<tspan font-weight=\"bold\">bold</tspan>"));
        assert!(svg.contains(" &lt;&amp;&gt; ") && svg.contains("fill=\"#9ece6a\">green"));
        assert_eq!(svg.matches("<text").count(), 2, "the long line is cut off");
        assert!(svg.contains(&format!(">{}…<", "x".repeat(WIDTH - 1))));
    }
}
