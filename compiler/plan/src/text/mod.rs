//! The plan as text, for review and for snapshots: stable, without colour, of one width everywhere. It must not know a
//! terminal.

mod back;
mod header;
mod page;
mod pool;
mod procedures;
mod steps;
mod summary;
mod words;

pub use summary::summary;

pub(crate) use page::harmless;

use page::Page;

use crate::model::Plan;

/// How much is written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything that a reviewer needs: long lists of targets and long scripts are cut, equal batches folded.
    Review,
    /// Every target, batch and script.
    Wide,
}

/// The whole plan.
#[must_use]
pub fn text(plan: &Plan, detail: Detail) -> String {
    let mut page = Page::default();
    header::header(&mut page, plan, detail);
    pool::pool(&mut page, plan);
    pool::capacity(&mut page, plan);
    pool::clocks(&mut page, plan);
    header::warnings(&mut page, plan);
    procedures::procedures(&mut page, plan, detail);
    steps::steps(&mut page, plan, detail);
    back::back(&mut page, plan, detail);
    page.done()
}
