//! The graph of a plan for Graphviz. It must not know what the steps do.

use std::fmt::Write;

use crate::drawing::{ends, groups, lines};
use crate::model::{EdgeKind, Plan, Reversal};

/// The plan as a DOT document: order solid, compensation dashed, order of the way back dotted; pivots have a double frame.
#[must_use]
pub fn dot(plan: &Plan) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = draw(plan, &mut text);
    text
}

fn draw(plan: &Plan, text: &mut String) -> std::fmt::Result {
    writeln!(text, "digraph plan {{")?;
    writeln!(text, "  label={}; labelloc=t; fontname=Helvetica;", quoted(&[title(plan)]))?;
    writeln!(text, "  node [shape=box, style=rounded, fontname=Helvetica, fontsize=10];")?;
    writeln!(text, "  edge [fontname=Helvetica, fontsize=9];")?;
    for (number, group) in groups(plan).into_iter().enumerate() {
        let framed = !group.title.is_empty();
        if framed {
            writeln!(text, "  subgraph cluster_{number} {{")?;
            writeln!(text, "    label={}; color=gray70; fontsize=10;", quoted(&[group.title]))?;
        }
        for (at, step) in group.steps {
            let look = match (step.kind.is_compensation(), step.reversal) {
                (true, _) => ", color=firebrick",
                (false, Reversal::Pivot) => ", peripheries=2, color=darkorange",
                (false, Reversal::Nothing | Reversal::By(_)) => "",
            };
            writeln!(text, "    s{} [label={}{look}];", at.0, quoted(&lines(plan, step)))?;
        }
        if framed {
            writeln!(text, "  }}")?;
        }
    }
    for edge in &plan.edges {
        let (from, to) = ends(edge);
        let look = match edge.kind {
            EdgeKind::Needs => "",
            EdgeKind::Compensates => {
                " [style=dashed, color=firebrick, constraint=false, tooltip=\"undone by\"]"
            }
            EdgeKind::UndoOrder => " [style=dotted, color=firebrick]",
        };
        writeln!(text, "  s{} -> s{}{look};", from.0, to.0)?;
    }
    writeln!(text, "}}")
}

fn title(plan: &Plan) -> String {
    let release = plan.release.as_deref().unwrap_or("{release}");
    crate::text::harmless(&format!("{}: {} {release}", plan.environment, plan.app)).into_owned()
}

/// A quoted text of several lines. Backslashes begin escapes of Graphviz, so they are doubled.
fn quoted(lines: &[String]) -> String {
    let escaped: Vec<String> =
        lines.iter().map(|line| line.replace('\\', "\\\\").replace('"', "\\\"")).collect();
    format!("\"{}\"", escaped.join("\\n"))
}
