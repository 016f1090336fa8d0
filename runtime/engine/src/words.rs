//! Values in words, as messages show them.

/// A duration as the language writes it: `1h30m`, `90s` as `1m30s`, `500ms`.
#[must_use]
pub fn duration(ms: u64) -> String {
    if ms == 0 {
        return String::from("0s");
    }
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let mut left = ms;
    let mut text = String::new();
    for (size, unit) in units {
        let count = left / size;
        left %= size;
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    text
}
