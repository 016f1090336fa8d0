//! Pure decisions of a run: state is folded from events, decisions are made from plan, state and time.
//! It knows no network, no file, no clock, no chance; time enters as a value.

pub mod call;
pub mod event;
pub mod time;
pub mod view;

pub use call::{
    Answer, Call, CallNo, Change, InstanceAnswer, InstanceChange, Ledger, Probed, Procedure, Ran,
};
pub use event::{Blocked, Cause, Effect, End, Event, Outcome};
pub use time::Timestamp;
pub use view::{Admin, Health, InstanceView, PoolView, Seen};
