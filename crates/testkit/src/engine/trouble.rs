//! What goes wrong because a test says so.

/// A rule for requests of the API. The first that fits is used; each is used once, unless it says otherwise.
#[derive(Debug, Clone)]
pub struct Fault {
    method: String,
    path: String,
    skip: u32,
    times: u32,
    pub(super) trouble: Trouble,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A fault of the engine's.
    Refuse { status: u16, detail: String },
    /// A page of something in between.
    Page { status: u16 },
    /// The connection ends before anything happens.
    Cut,
    /// It is carried out, and the connection ends before the answer.
    LoseAnswer,
    /// It waits until the test lets it go on.
    Hold,
}

impl Fault {
    /// For requests below a path of the API; `*` stands for any method or segment.
    pub fn new(method: &str, path: &str) -> Self {
        let trouble = Trouble::Refuse { status: 500, detail: String::new() };
        Fault { method: method.to_owned(), path: path.to_owned(), skip: 0, times: 1, trouble }
    }

    /// The first so many requests are left alone.
    #[must_use]
    pub fn after(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// A fault with this status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.trouble = Trouble::Refuse { status, detail: self.detail_text() };
        self
    }

    /// What the fault says; the engine puts it in brackets.
    #[must_use]
    pub fn detail(mut self, detail: &str) -> Self {
        let status = match self.trouble {
            Trouble::Refuse { status, .. } | Trouble::Page { status } => status,
            _ => 400,
        };
        self.trouble = Trouble::Refuse { status, detail: detail.to_owned() };
        self
    }

    fn detail_text(&self) -> String {
        match &self.trouble {
            Trouble::Refuse { detail, .. } => detail.clone(),
            _ => String::new(),
        }
    }

    /// An HTML page instead, as a proxy gives it, or a web server whose engine is starting.
    #[must_use]
    pub fn html(mut self) -> Self {
        let status = match self.trouble {
            Trouble::Refuse { status, .. } | Trouble::Page { status } => status,
            _ => 503,
        };
        self.trouble = Trouble::Page { status };
        self
    }

    #[must_use]
    pub fn cut(mut self) -> Self {
        self.trouble = Trouble::Cut;
        self
    }

    #[must_use]
    pub fn lose_answer(mut self) -> Self {
        self.trouble = Trouble::LoseAnswer;
        self
    }

    #[must_use]
    pub fn hold(mut self) -> Self {
        self.trouble = Trouble::Hold;
        self
    }

    fn fits(&self, method: &str, segments: &[String]) -> bool {
        let wanted: Vec<&str> = self.path.split('/').filter(|segment| !segment.is_empty()).collect();
        let is_like = |(wanted, segment): (&&str, &String)| *wanted == "*" || *wanted == segment;
        (self.method == "*" || self.method == method)
            && wanted.len() <= segments.len()
            && wanted.iter().zip(segments).all(is_like)
    }
}

/// The rule for a request, if there is one.
pub(super) fn take(faults: &mut Vec<Fault>, method: &str, segments: &[String]) -> Option<Trouble> {
    let index = faults.iter().position(|fault| fault.fits(method, segments))?;
    let fault = &mut faults[index];
    if fault.skip > 0 {
        fault.skip -= 1;
        return None;
    }
    let trouble = fault.trouble.clone();
    fault.times -= 1;
    if fault.times == 0 {
        faults.remove(index);
    }
    Some(trouble)
}
