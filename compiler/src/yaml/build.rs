//! From parser events to the tree, within limits. What YAML offers and this language does not want (tags, merge keys,
//! several documents, keys that are no text) is refused here, with the place. It must not know what a key means.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::limits::{LIMITS, Limits};
use super::mend::mend;
use super::place::{Places, without_comment};
use super::{Kind, Node, NodeId, Tree};
use crate::diagnostic::{Code, Diagnostic, Findings, Place};
use crate::source::FileId;

/// Reads a document. `None` when there is no tree to go on with; the findings say why.
pub(crate) fn build(file: FileId, source: &Arc<String>, findings: &mut Findings) -> Option<Tree> {
    build_within(LIMITS, file, source, findings)
}

/// The same within other limits, for tests of the limits.
pub(super) fn build_within(
    limits: Limits,
    file: FileId,
    source: &Arc<String>,
    findings: &mut Findings,
) -> Option<Tree> {
    let text: &str = source.as_str();
    if text.len() > limits.bytes {
        let message =
            format!("the document has {} bytes, more than the {} that are allowed", text.len(), limits.bytes);
        findings.push(
            Diagnostic::error(Code::OverLimit, message)
                .at(Place { file, span: 0..0 }, "this document")
                .help("split the environment into several"),
        );
        return None;
    }
    let mut builder = Builder {
        limits,
        file,
        text,
        places: Places::new(text),
        findings,
        nodes: Vec::with_capacity(text.len() / 12),
        children: Vec::new(),
        made: Vec::new(),
        open: Vec::new(),
        waiting: Vec::new(),
        anchors: BTreeMap::new(),
        expanded: 0,
        refused: false,
    };
    let root = builder.run()?;
    let Builder { nodes, children, made, refused, .. } = builder;
    (!refused).then(|| Tree { source: Arc::clone(source), nodes, children, made, root })
}

/// A mapping or sequence that is not closed yet.
struct Open {
    id: NodeId,
    mapping: bool,
    anchor: usize,
    /// Where its children begin in `waiting`.
    first: usize,
    /// Nodes in it, aliases written out.
    size: u64,
    /// Levels under it, aliases written out.
    height: u32,
}

/// A node that an alias may name; `size` counts it and all under it.
#[derive(Clone, Copy)]
struct Anchored {
    id: NodeId,
    size: u64,
    height: u32,
}

struct Builder<'a> {
    limits: Limits,
    file: FileId,
    text: &'a str,
    places: Places<'a>,
    findings: &'a mut Findings,
    nodes: Vec<Node>,
    children: Vec<NodeId>,
    made: Vec<Box<str>>,
    open: Vec<Open>,
    /// Children of open containers, innermost last.
    waiting: Vec<NodeId>,
    anchors: BTreeMap<usize, Anchored>,
    /// Nodes that aliases have added.
    expanded: u64,
    /// Something was refused, but reading on finds more.
    refused: bool,
}

/// The document cannot be read further; the finding is recorded.
struct Stop;

impl Builder<'_> {
    fn run(&mut self) -> Option<NodeId> {
        let mut root = None;
        let mut documents = 0_u32;
        for event in Parser::new_from_str(self.text) {
            let (event, span) = match event {
                Ok(found) => found,
                Err(error) => {
                    self.syntax(&error);
                    return None;
                }
            };
            let span = self.places.byte(span.start.index())..self.places.byte(span.end.index());
            match event {
                Event::DocumentStart(_) => documents += 1,
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
                other if documents > 1 => {
                    let _ = other;
                    self.refuse(
                        Code::YamlFeature,
                        "a second document begins here",
                        span,
                        "keep one document in a file",
                    );
                    return None;
                }
                other => match self.take(other, span) {
                    Ok(Some(id)) => root = Some(id),
                    Ok(None) => {}
                    Err(Stop) => return None,
                },
            }
        }
        if root.is_none() && !self.refused {
            self.refuse(
                Code::WrongType,
                "the document is empty",
                0..0,
                "copy one from `examples/`, or let `manent init` write a small one to begin with",
            );
        }
        root
    }

    /// Takes one event in; gives the root when it closes it.
    fn take(&mut self, event: Event<'_>, span: Range<usize>) -> Result<Option<NodeId>, Stop> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.no_tag(tag.is_some(), &span);
                let id = self.scalar(&text, style, &span)?;
                if anchor > 0 {
                    self.anchors.insert(anchor, Anchored { id, size: 1, height: 0 });
                }
                Ok(self.attach(id, 1, 0))
            }
            Event::SequenceStart(anchor, tag) => {
                self.no_tag(tag.is_some(), &span);
                self.open_container(false, anchor, span).map(|()| None)
            }
            Event::MappingStart(anchor, tag) => {
                self.no_tag(tag.is_some(), &span);
                self.open_container(true, anchor, span).map(|()| None)
            }
            Event::SequenceEnd | Event::MappingEnd => Ok(self.close()),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(None),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: &Range<usize>) -> Result<NodeId, Stop> {
        let (plain, quote) = match style {
            ScalarStyle::Plain => (true, 0),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => (false, 1),
            ScalarStyle::Literal | ScalarStyle::Folded => (false, 0),
        };
        // Most scalars stand in the source as they are; then no copy is kept. Counted from the end, since an anchor or
        // a tag belongs to the front of the span.
        let span = &if quote == 1 { without_comment(self.text, span) } else { span.clone() };
        let end = span.end.saturating_sub(quote);
        let start = end.saturating_sub(text.len());
        let opening = start.checked_sub(quote).and_then(|at| self.text.get(at..start)).unwrap_or("");
        // In quotes, the end of a longer text could look the same by chance: the quote must stand right before it.
        let whole = quote == 0 || (matches!(opening, "\"" | "'") && !text.contains(opening));
        if whole && start >= span.start && self.text.get(start..end) == Some(text) {
            let kind = Kind::Slice { start: number(start), len: number(text.len()), plain };
            return self.push(start.saturating_sub(quote)..span.end, kind);
        }
        let at = number(self.made.len());
        self.made.push(text.into());
        let shown = if quote == 1 { span.clone() } else { trimmed(self.text, span) };
        self.push(shown, Kind::Made { at, plain })
    }

    fn open_container(&mut self, mapping: bool, anchor: usize, span: Range<usize>) -> Result<(), Stop> {
        if self.open.len() as u32 >= self.limits.depth {
            let message = format!("the document is nested deeper than {} levels", self.limits.depth);
            self.refuse(Code::OverLimit, message, span, "write it flatter");
            return Err(Stop);
        }
        // An anchor belongs to the front of the span; what shows the node is its bracket.
        let shown = if anchor > 0 && !span.is_empty() { span.end - 1..span.end } else { span };
        let id = self.push(shown, Kind::Sequence { first: 0, len: 0 })?;
        self.open.push(Open { id, mapping, anchor, first: self.waiting.len(), size: 1, height: 1 });
        Ok(())
    }

    fn close(&mut self) -> Option<NodeId> {
        let open = self.open.pop()?;
        let first = number(self.children.len());
        let count = number(self.waiting.len() - open.first);
        self.children.extend(self.waiting.drain(open.first..));
        let kind = if open.mapping {
            Kind::Mapping { first, len: count / 2 }
        } else {
            Kind::Sequence { first, len: count }
        };
        if let Some(node) = self.nodes.get_mut(open.id.0 as usize) {
            node.kind = kind;
        }
        if open.mapping {
            self.check_keys(first, count / 2);
        }
        if open.anchor > 0 {
            self.anchors.insert(open.anchor, Anchored { id: open.id, size: open.size, height: open.height });
        }
        self.attach(open.id, open.size, open.height)
    }

    fn alias(&mut self, anchor: usize, span: Range<usize>) -> Result<Option<NodeId>, Stop> {
        let Some(named) = self.anchors.get(&anchor).copied() else {
            // The parser knows the name, so the node is still open: it would contain itself.
            self.refuse(
                Code::OverLimit,
                "an alias stands inside its own anchor",
                span,
                "write the value out",
            );
            return Err(Stop);
        };
        self.expanded = self.expanded.saturating_add(named.size);
        if self.expanded > self.limits.expanded {
            let message = format!("aliases add more than {} nodes to this document", self.limits.expanded);
            self.refuse(Code::OverLimit, message, span, "write the values out, or use fewer aliases");
            return Err(Stop);
        }
        if self.open.len() as u32 + named.height > self.limits.depth {
            let message =
                format!("with its aliases the document is nested deeper than {} levels", self.limits.depth);
            self.refuse(Code::OverLimit, message, span, "write it flatter");
            return Err(Stop);
        }
        Ok(self.attach(named.id, named.size, named.height))
    }

    /// Hands a finished node to the container around it; without one it is the root.
    fn attach(&mut self, id: NodeId, size: u64, height: u32) -> Option<NodeId> {
        let Some(parent) = self.open.last_mut() else { return Some(id) };
        parent.size = parent.size.saturating_add(size);
        parent.height = parent.height.max(height + 1);
        self.waiting.push(id);
        None
    }

    fn push(&mut self, span: Range<usize>, kind: Kind) -> Result<NodeId, Stop> {
        if self.nodes.len() >= self.limits.nodes {
            let message = format!("the document has more than {} values", self.limits.nodes);
            self.refuse(Code::OverLimit, message, span, "split the environment into several");
            return Err(Stop);
        }
        let id = NodeId(number(self.nodes.len()));
        self.nodes.push(Node { start: number(span.start), end: number(span.end), kind });
        Ok(id)
    }

    /// Keys are text, stand once, and are no merge keys.
    fn check_keys(&mut self, first: u32, pairs: u32) {
        let first = first as usize;
        let all = self.children.get(first..first + 2 * pairs as usize).unwrap_or(&[]);
        let keys: Vec<NodeId> = all.iter().copied().step_by(2).collect();
        let mut seen: Vec<(&str, NodeId)> = Vec::with_capacity(keys.len());
        let mut found = Vec::new();
        for key in keys {
            let Some(text) = self.key_text(key) else {
                found.push((Code::YamlFeature, key, None));
                continue;
            };
            if text == "<<" && self.is_plain(key) {
                found.push((Code::YamlFeature, key, Some(key)));
            }
            seen.push((text, key));
        }
        // The sort is stable, so of two equal keys the first in the file stays first.
        seen.sort_by_key(|(text, _)| *text);
        for pair in seen.windows(2) {
            if let [(earlier, one), (later, two)] = pair
                && earlier == later
            {
                found.push((Code::DuplicateKey, *two, Some(*one)));
            }
        }
        for (code, key, other) in found {
            self.report_key(code, key, other);
        }
    }

    fn report_key(&mut self, code: Code, key: NodeId, other: Option<NodeId>) {
        let place = |id: NodeId| {
            let node = self.nodes.get(id.0 as usize);
            let span = node.map_or(0..0, |node| node.start as usize..node.end as usize);
            Place { file: self.file, span }
        };
        let text = self.key_text(key).unwrap_or("").to_owned();
        let diagnostic = match (code, other) {
            (Code::DuplicateKey, Some(first)) => {
                Diagnostic::error(code, format!("the key `{text}` stands here twice"))
                    .at(place(key), "again here")
                    .at(place(first), "first here")
                    .help("keep one of the two")
            }
            (_, Some(_)) => Diagnostic::error(code, "merge keys are not part of this language")
                .at(place(key), "a merge key")
                .help("write the keys out, or use an alias for a whole value"),
            (_, None) => Diagnostic::error(code, "a key has to be text")
                .at(place(key), "not text")
                .help("write `key: value`"),
        };
        self.refused = true;
        self.findings.push(diagnostic);
    }

    fn key_text(&self, id: NodeId) -> Option<&str> {
        match self.nodes.get(id.0 as usize)?.kind {
            Kind::Slice { start, len, .. } => self.text.get(start as usize..(start + len) as usize),
            Kind::Made { at, .. } => self.made.get(at as usize).map(|text| &**text),
            Kind::Sequence { .. } | Kind::Mapping { .. } => None,
        }
    }

    fn is_plain(&self, id: NodeId) -> bool {
        matches!(
            self.nodes.get(id.0 as usize).map(|node| node.kind),
            Some(Kind::Slice { plain: true, .. } | Kind::Made { plain: true, .. })
        )
    }

    fn no_tag(&mut self, tagged: bool, span: &Range<usize>) {
        if tagged {
            let help = "remove the tag; values are read as the text that stands in the file";
            self.refuse(Code::YamlFeature, "tags are not part of this language", span.clone(), help);
        }
    }

    fn refuse(&mut self, code: Code, message: impl Into<String>, span: Range<usize>, help: &str) {
        self.refused = true;
        let place = Place { file: self.file, span };
        self.findings.push(Diagnostic::error(code, message).at(place, "here").help(help));
    }

    fn syntax(&mut self, error: &saphyr_parser::ScanError) {
        let at = self.places.byte(error.marker().index());
        // At the end of the text there is no character to underline, so the last one is.
        let end =
            self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |next| at + next.len_utf8());
        let place = Place { file: self.file, span: at..end };
        let help = mend(error.info(), self.text.get(..at).unwrap_or(""));
        self.refused = true;
        let finding = Diagnostic::error(Code::YamlSyntax, format!("this is not YAML: {}", error.info()))
            .at(place, "the reader stopped here")
            .help(help);
        // A bracket that was never closed is found only lines later.
        let bracket = self.open.last().and_then(|open| self.nodes.get(open.id.0 as usize));
        let bracket =
            bracket.map(|node| node.start as usize..node.end as usize).filter(|span| !span.is_empty());
        let bracket = bracket.map(|span| Place { file: self.file, span });
        self.findings.push(
            bracket
                .into_iter()
                .fold(finding, |finding, place| finding.at(place, "opened here and not closed yet")),
        );
    }
}

/// The span without the blank space around it.
fn trimmed(text: &str, span: &Range<usize>) -> Range<usize> {
    let inner = text.get(span.clone()).unwrap_or("");
    let start = span.start + (inner.len() - inner.trim_start().len());
    start..start + inner.trim().len()
}

/// Places and counts fit: a document is smaller than 4 GiB by its limit.
fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
