//! A fault that tests plant in the engine, to see that whoever judges a run objects to it. It must not exist outside builds
//! with the feature `fault-injection`, and does nothing until it is asked for.

use std::cell::Cell;

thread_local! {
    static FLOOR_SKIPPED: Cell<bool> = const { Cell::new(false) };
}

/// As long as this lives, drains of the way back are admitted on this thread without a look at the floor.
#[derive(Debug)]
pub struct FloorSkipped(());

/// Takes the floor check out of the way back, on this thread, until the value is dropped.
#[must_use]
pub fn skip_floor_on_the_way_back() -> FloorSkipped {
    FLOOR_SKIPPED.set(true);
    FloorSkipped(())
}

impl Drop for FloorSkipped {
    fn drop(&mut self) {
        FLOOR_SKIPPED.set(false);
    }
}

pub(crate) fn floor_is_skipped() -> bool {
    FLOOR_SKIPPED.get()
}
