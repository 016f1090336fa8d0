//! What to do about text that is not YAML. It knows the words of the reader and the text before the place where it stopped.

/// The action that mends it most likely.
pub(super) fn mend(info: &str, before: &str) -> &'static str {
    let line = before.rsplit('\n').next().unwrap_or("");
    if info.contains("indentation") {
        "indent this line like its neighbours, or close the bracket or quote that was opened above it"
    } else if line.ends_with('}') {
        "put text with braces into quotes: `\"{host}:{port}\"`"
    } else if info.contains("did not find expected") && line.trim().is_empty() {
        "indent this line like the keys above it"
    } else {
        "mend the YAML here; indent with blanks, and put text that holds `: `, ` #`, braces or quotes into quotes"
    }
}
