//! YAML text as a small tree: nodes in one arena, each with its bytes in the source, scalars as the text that stands
//! there. It knows no key of ours, and never turns text into a number, a boolean or a date.

mod build;
mod limits;
mod mend;
mod place;

pub(crate) use build::build;

use std::ops::Range;
use std::sync::Arc;

/// A node: its position in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(u32);

/// A key and its value in a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: NodeId,
    pub(crate) value: NodeId,
}

/// What a node is, for sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Null,
    Scalar,
    Sequence,
    Mapping,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    start: u32,
    end: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A scalar whose text is a piece of the source.
    Slice { start: u32, len: u32, plain: bool },
    /// A scalar whose text differs from its source (escapes, folded lines): position in `made`.
    Made { at: u32, plain: bool },
    /// Children in `children`.
    Sequence { first: u32, len: u32 },
    /// Keys and values in turn in `children`; `len` counts pairs.
    Mapping { first: u32, len: u32 },
}

/// A document. It owns its source, so that a node is two numbers and a kind.
#[derive(Debug)]
pub(crate) struct Tree {
    source: Arc<String>,
    nodes: Vec<Node>,
    children: Vec<NodeId>,
    made: Vec<Box<str>>,
    root: NodeId,
}

impl Tree {
    pub(crate) fn root(&self) -> NodeId {
        self.root
    }

    fn node(&self, id: NodeId) -> Node {
        // Ids come from this arena only; the fallback keeps the function total.
        self.nodes.get(id.0 as usize).copied().unwrap_or(Node {
            start: 0,
            end: 0,
            kind: Kind::Sequence { first: 0, len: 0 },
        })
    }

    /// The text of a scalar and nothing else: quotes off, escapes done, never interpreted.
    pub(crate) fn text(&self, id: NodeId) -> Option<&str> {
        match self.node(id).kind {
            Kind::Slice { start, len, .. } => self.source.get(start as usize..(start + len) as usize),
            Kind::Made { at, .. } => self.made.get(at as usize).map(|text| &**text),
            Kind::Sequence { .. } | Kind::Mapping { .. } => None,
        }
    }

    /// Where the text of a scalar begins, if each of its bytes stands in the source as it is.
    pub(crate) fn text_start(&self, id: NodeId) -> Option<usize> {
        match self.node(id).kind {
            Kind::Slice { start, .. } => Some(start as usize),
            Kind::Made { .. } | Kind::Sequence { .. } | Kind::Mapping { .. } => None,
        }
    }

    /// What the node is. Null is only what YAML 1.2 calls so, and never in quotes.
    pub(crate) fn shape(&self, id: NodeId) -> Shape {
        match self.node(id).kind {
            Kind::Slice { plain: true, .. } | Kind::Made { plain: true, .. } => match self.text(id) {
                Some("" | "~" | "null" | "Null" | "NULL") => Shape::Null,
                Some(_) | None => Shape::Scalar,
            },
            Kind::Slice { plain: false, .. } | Kind::Made { plain: false, .. } => Shape::Scalar,
            Kind::Sequence { .. } => Shape::Sequence,
            Kind::Mapping { .. } => Shape::Mapping,
        }
    }

    /// The items of a sequence; none for another node.
    pub(crate) fn items(&self, id: NodeId) -> &[NodeId] {
        match self.node(id).kind {
            Kind::Sequence { first, len } => {
                self.children.get(first as usize..(first + len) as usize).unwrap_or(&[])
            }
            Kind::Mapping { .. } | Kind::Slice { .. } | Kind::Made { .. } => &[],
        }
    }

    /// The entries of a mapping in the order of the file; none for another node.
    pub(crate) fn entries(&self, id: NodeId) -> impl Iterator<Item = Entry> + '_ {
        let pairs: &[NodeId] = match self.node(id).kind {
            Kind::Mapping { first, len } => {
                self.children.get(first as usize..(first + 2 * len) as usize).unwrap_or(&[])
            }
            Kind::Sequence { .. } | Kind::Slice { .. } | Kind::Made { .. } => &[],
        };
        pairs.as_chunks::<2>().0.iter().map(|[key, value]| Entry { key: *key, value: *value })
    }

    /// The smallest piece of source that shows the node: a scalar whole, of a block its first key or item.
    pub(crate) fn span(&self, id: NodeId) -> Range<usize> {
        let node = self.node(id);
        let own = node.start as usize..node.end as usize;
        if !own.is_empty() {
            return own;
        }
        match self.first_child(id) {
            Some(child) => self.span(child),
            None => own,
        }
    }

    /// The first child, when it is a node of its own and not an alias to something that stands elsewhere.
    fn first_child(&self, id: NodeId) -> Option<NodeId> {
        let first = match self.node(id).kind {
            Kind::Sequence { first, len } | Kind::Mapping { first, len } if len > 0 => first,
            Kind::Sequence { .. } | Kind::Mapping { .. } | Kind::Slice { .. } | Kind::Made { .. } => {
                return None;
            }
        };
        self.children.get(first as usize).copied().filter(|child| *child > id)
    }
}

#[cfg(test)]
mod tests;
