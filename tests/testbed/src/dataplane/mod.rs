//! A Data Plane API: the HTTP contract of the real one, in front of a real HAProxy or of a scripted world.
//! It decides nothing about a pool; it answers as the chosen release of the API would, with its mistakes.

mod answer;
mod backend;
mod bridge;
mod cut;
mod dialect;
mod faults;
pub(crate) mod ledger;
mod scripted;
mod service;

pub use backend::{Backend, Gone, Refusal, SocketBacked};
pub use bridge::{Bridge, Options};
pub use dialect::{Decoding, Release};
pub use faults::{Fault, Kind, When};
pub use ledger::Call;
pub use scripted::{Change, Member, Pace, Scripted, Trigger};
