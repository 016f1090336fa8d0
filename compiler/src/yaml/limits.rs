//! How much a document may be. Set from the documented maximum (100,000 targets with a dozen labels each are about
//! 20 MB and two million nodes) with room to spare, so that no honest file meets them and no bomb passes.

/// The limits of one document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of its text.
    pub(crate) bytes: usize,
    /// Mappings and sequences inside each other, aliases followed.
    pub(crate) depth: u32,
    /// Scalars, sequences and mappings.
    pub(crate) nodes: usize,
    /// Nodes that aliases may add, counted as if each were written out.
    pub(crate) expanded: u64,
}

/// What holds for every document.
pub(crate) const LIMITS: Limits =
    Limits { bytes: 64 * 1024 * 1024, depth: 64, nodes: 8_000_000, expanded: 1_000_000 };
