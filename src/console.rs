//! All printing: data to stdout, talk to stderr, colours where they are wanted, nothing raw from elsewhere.
//! It must not know what is printed. A reader that went away is no error: a run goes on without it.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use miette::{GraphicalReportHandler, GraphicalTheme, MietteDiagnostic};

use crate::clean;
use crate::fault::Fault;

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Where the program prints.
#[derive(Debug)]
pub(crate) struct Console {
    /// One JSON value is wanted on stdout.
    pub(crate) json: bool,
    out_colour: bool,
    err_colour: bool,
    width: usize,
    /// Nobody reads stdout any more.
    closed: AtomicBool,
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// What matters most.
    Bold,
    /// What matters least.
    Dim,
    /// Good.
    Green,
    /// Needs attention.
    Yellow,
    /// Bad.
    Red,
    /// Something to type.
    Cyan,
}

/// Colours, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// The text in that look; cleaned of control characters.
    pub(crate) fn with(self, look: Look, text: impl AsRef<str>) -> String {
        let text = clean::line(text.as_ref());
        if !self.0 {
            return text;
        }
        let code = match look {
            Look::Bold => "1",
            Look::Dim => "2",
            Look::Green => "32",
            Look::Yellow => "33",
            Look::Red => "31",
            Look::Cyan => "36",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

impl Console {
    /// From the command line and the environment.
    pub(crate) fn new(json: bool, colour: Colour) -> Console {
        let allowed = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let wanted = |terminal: bool| match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => terminal && allowed,
        };
        Console {
            json,
            out_colour: wanted(io::stdout().is_terminal()),
            err_colour: wanted(io::stderr().is_terminal()),
            width: width(),
            closed: AtomicBool::new(false),
        }
    }

    /// Colours of stdout.
    pub(crate) fn paint(&self) -> Paint {
        Paint(self.out_colour)
    }

    /// Colours of stderr.
    pub(crate) fn err_paint(&self) -> Paint {
        Paint(self.err_colour)
    }

    /// Columns of the terminal; 100 where there is none.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Text to stdout, with a line break at its end.
    ///
    /// # Errors
    /// Stdout cannot be written (a full disk, not a reader that left).
    pub(crate) fn data(&self, text: &str) -> Result<(), Fault> {
        let text = if self.out_colour { clean::coloured(text) } else { clean::lines(text) };
        self.raw(&text)
    }

    /// Text that a shell reads, as it stands.
    ///
    /// # Errors
    /// As [`Console::data`].
    pub(crate) fn script(&self, text: &str) -> Result<(), Fault> {
        self.raw(text)
    }

    /// One JSON value to stdout, on one line.
    ///
    /// # Errors
    /// As [`Console::data`].
    pub(crate) fn value(&self, value: &impl serde::Serialize) -> Result<(), Fault> {
        let text = serde_json::to_string(value)
            .map_err(|error| Fault::error("the answer cannot be written as JSON").because(&error))?;
        self.raw(&clean::json(&text))
    }

    fn raw(&self, text: &str) -> Result<(), Fault> {
        if self.closed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.write_all(end.as_bytes()))
            .and_then(|()| stdout.flush());
        match written {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => Err(Fault::error("cannot write to standard output").because(&error)),
        }
    }

    /// A sentence to stderr. Nobody may be listening, and that stops nothing.
    pub(crate) fn talk(&self, text: &str) {
        let text = if self.err_colour { clean::coloured(text) } else { clean::lines(text) };
        let mut stderr = io::stderr().lock();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        // Deliberately ignored: there is no better place to say that stderr is gone.
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.write_all(end.as_bytes()));
    }

    /// Prints why a verb ended; with `--json` on stdout too.
    pub(crate) fn fault(&self, fault: &Fault) {
        if self.json {
            // Deliberately ignored: the exit code still says what happened.
            let _ = self.value(&fault.to_json());
        }
        if !fault.told {
            self.talk(&self.render(fault));
        }
    }

    fn render(&self, fault: &Fault) -> String {
        let mut message = clean::line(&fault.message);
        for cause in &fault.causes {
            message.push_str(": ");
            message.push_str(&clean::line(cause));
        }
        let mut diagnostic = MietteDiagnostic::new(message);
        if let Some(help) = &fault.help {
            diagnostic = diagnostic.with_help(clean::lines(help));
        }
        let mut out = String::new();
        match self.reporter(self.err_colour).render_report(&mut out, &diagnostic) {
            Ok(()) => out,
            Err(_) => format!("error: {}", fault.message),
        }
    }

    /// Renders diagnostics as people read them.
    pub(crate) fn reporter(&self, colour: bool) -> GraphicalReportHandler {
        let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        GraphicalReportHandler::new_themed(theme).with_width(self.width.min(120)).with_links(false)
    }

    /// Whether somebody sits at a terminal and can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Nobody reads stdout any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Whether stdout can be wiped and printed again.
    pub(crate) fn redraws(&self) -> bool {
        !self.json && io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Wipes the terminal.
    pub(crate) fn wipe(&self) {
        let mut stdout = io::stdout().lock();
        // Deliberately ignored: what is printed next tells that stdout is gone.
        let _ = stdout.write_all(b"\x1b[H\x1b[2J").and_then(|()| stdout.flush());
    }

    /// Whether a block on stderr can be drawn again in place.
    pub(crate) fn can_redraw(&self) -> bool {
        !self.json && io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Asks a question; only `yes` and `y` mean yes.
    pub(crate) fn ask(&self, question: &str) -> bool {
        self.talk_open(&format!("{question} [y/N] "));
        let mut answer = String::new();
        match io::stdin().read_line(&mut answer) {
            Ok(0) | Err(_) => false,
            Ok(_) => matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"),
        }
    }

    fn talk_open(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        // Deliberately ignored, as in `talk`.
        let _ = stderr.write_all(clean::lines(text).as_bytes()).and_then(|()| stderr.flush());
    }
}

fn width() -> usize {
    let named = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    named.or_else(seen).unwrap_or(100).max(40)
}
