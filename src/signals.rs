//! Signals: the first SIGINT, SIGTERM or SIGHUP asks the run to stop after the calls in hand; the second leaves at once.
//! It must not know what the run is doing.

use manent_runtime::observe::Stopper;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Exit;
use crate::fault::Fault;

/// Listens from now on. `told` is called with the first signal's name.
///
/// # Errors
/// The system does not let us listen.
pub(crate) fn listen(stopper: Stopper, told: impl Fn(&'static str) + Send + 'static) -> Result<(), Fault> {
    let open =
        |kind| signal(kind).map_err(|error| Fault::error("signals cannot be listened to").because(&error));
    let mut interrupt = open(SignalKind::interrupt())?;
    let mut terminate = open(SignalKind::terminate())?;
    let mut hangup = open(SignalKind::hangup())?;
    tokio::spawn(async move {
        let mut asked = false;
        loop {
            let name = tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
                _ = hangup.recv() => "SIGHUP",
            };
            if asked {
                // The journal has every intent; nothing has to be written on the way out.
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
            asked = true;
            stopper.stop();
            told(name);
        }
    });
    Ok(())
}
