//! A run while it goes: a redrawn block on a terminal, one line an event elsewhere. Both go to stderr.
//! It must not influence the run, and it must survive a terminal that goes away.

pub(crate) mod block;
mod lines;

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use manent_engine::report::{Facts, Report, report};
use manent_engine::{Event, RunState, Timestamp};
use manent_plan::Plan;
use manent_runtime::observe::Observer;

use crate::clock;
use crate::console::{Console, Look, Paint};
use crate::report::Sheet;

/// Between two drawings: a countdown shows seconds.
const REDRAW: Duration = Duration::from_millis(250);
/// Between two reports: making one walks over all targets.
const REPORT: Duration = Duration::from_millis(100);

/// Shows a run while it goes.
pub(crate) struct Live<'c> {
    run: String,
    show: Show<'c>,
}

enum Show<'c> {
    Lines { console: &'c Console, lines: lines::Lines },
    Block { painter: Painter, made: Option<Instant> },
}

/// Says something in a live display from another task.
#[derive(Clone)]
pub(crate) enum Notice {
    /// Straight to stderr.
    Plain,
    /// Below the block.
    Block(Sender<News>),
}

impl Live<'_> {
    /// What fits where stderr goes.
    pub(crate) fn new<'c>(console: &'c Console, run: &str) -> Live<'c> {
        let show = if console.can_redraw() {
            Show::Block { painter: Painter::start(console.err_paint(), console.width()), made: None }
        } else {
            Show::Lines { console, lines: lines::Lines::default() }
        };
        Live { run: run.to_owned(), show }
    }

    /// A handle for the signals.
    pub(crate) fn notice(&self) -> Notice {
        match &self.show {
            Show::Lines { .. } => Notice::Plain,
            Show::Block { painter, .. } => Notice::Block(painter.news.clone()),
        }
    }

    /// Takes the block away; what is printed next stands where it was.
    pub(crate) fn end(self) {
        match self.show {
            Show::Lines { .. } => {}
            Show::Block { painter, .. } => painter.end(),
        }
    }
}

impl Notice {
    /// Says it.
    pub(crate) fn say(&self, text: &str) {
        match self {
            // A terminal that is gone must not stop a run.
            Notice::Plain => drop(writeln!(std::io::stderr(), "{text}")),
            // The display may have ended; then nobody has to be told any more.
            Notice::Block(news) => drop(news.send(News::Notice(text.to_owned()))),
        }
    }
}

impl Observer for Live<'_> {
    fn event(&mut self, at: Timestamp, event: &Event, plan: &Plan, state: &RunState) {
        match &mut self.show {
            Show::Lines { console, lines } => {
                if let Some(line) = lines.line(plan, state, at, event) {
                    console.talk(&line);
                }
            }
            Show::Block { painter, made } => {
                let quiet =
                    matches!(event, Event::Intended { .. } | Event::Answered { .. } | Event::Noted { .. });
                if quiet && made.is_some_and(|made| made.elapsed() < REPORT) {
                    return;
                }
                *made = Some(Instant::now());
                let facts = Facts { run: &self.run, alive: true, now: at };
                painter.show(report(&facts, plan, state));
            }
        }
    }
}

/// What the drawing thread is told.
pub(crate) enum News {
    /// The run stands like this now.
    Report(Box<Report>),
    /// Somebody has to be told this.
    Notice(String),
    /// There is no more.
    End,
}

/// A thread that draws: countdowns go on while the run waits.
struct Painter {
    news: Sender<News>,
    thread: Option<JoinHandle<()>>,
}

impl Painter {
    fn start(paint: Paint, width: usize) -> Painter {
        let (news, inbox) = channel();
        let thread = std::thread::Builder::new()
            .name(String::from("display"))
            .spawn(move || draw(&inbox, paint, width));
        Painter { news, thread: thread.ok() }
    }

    fn show(&self, report: Report) {
        // A display that is gone must not stop a run.
        let _ = self.news.send(News::Report(Box::new(report)));
    }

    fn end(self) {
        let _ = self.news.send(News::End);
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}

fn draw(inbox: &Receiver<News>, paint: Paint, width: usize) {
    let mut block = block::Block::default();
    let mut newest: Option<Box<Report>> = None;
    let mut notices: Vec<String> = Vec::new();
    loop {
        let first = match inbox.recv_timeout(REDRAW) {
            Ok(news) => Some(news),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let mut ended = false;
        // Events come in bursts; only the newest report is worth drawing.
        for news in first.into_iter().chain(inbox.try_iter()) {
            match news {
                News::Report(report) => newest = Some(report),
                News::Notice(text) => notices.push(paint.with(Look::Yellow, text)),
                News::End => ended = true,
            }
        }
        if ended {
            break;
        }
        let Some(report) = &newest else { continue };
        let mut lines =
            Sheet { report, now: clock::now(), paint, alive: true, ending: None, pooled: true, suffix: "" }
                .live();
        lines.extend(notices.iter().cloned());
        block.draw(&lines, size(width));
    }
    block.clear();
}

fn size(width: usize) -> (usize, usize) {
    match terminal_size::terminal_size_of(std::io::stderr()) {
        Some((width, height)) => (usize::from(width.0), usize::from(height.0)),
        None => (width, 40),
    }
}
