//! How much a document may be. Set from the documented maximum (100,000 targets with a dozen labels each are about
//! 20 MB and two million nodes) with room to spare, so that no honest file meets them and no bomb passes.

/// Bytes of one document.
pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Mappings and sequences inside each other, aliases followed.
pub(crate) const MAX_DEPTH: u32 = 64;

/// Scalars, sequences and mappings of one document.
pub(crate) const MAX_NODES: usize = 8_000_000;

/// Nodes that aliases may add to a document, counted as if each were written out.
pub(crate) const MAX_EXPANDED: u64 = 1_000_000;
