//! Pure decisions of a run: state is folded from events, decisions are made from plan, state and time.
//! It knows no network, no file, no clock, no chance; time enters as a value.

mod apply;
mod back;
pub mod call;
pub mod decide;
mod driver;
pub mod event;
#[cfg(feature = "fault-injection")]
pub mod fault;
pub mod report;
mod stage;
pub mod state;
pub mod time;
pub mod view;
pub mod words;
mod work;

pub use call::{
    Answer, Call, CallNo, Change, InstanceAnswer, InstanceChange, Ledger, Probed, Procedure, Ran,
};
pub use driver::{Engine, Turn};
pub use event::{Blocked, Cause, Detour, Effect, End, Event, Outcome};
pub use report::{Facts, Report, report};
pub use state::RunState;
pub use time::Timestamp;
pub use view::{Admin, Health, InstanceView, PoolView, Seen};
pub use work::Work;
