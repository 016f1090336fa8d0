//! The graph of a plan for Mermaid, as Markdown pages show it. It must not know what the steps do.

use std::fmt::Write;

use crate::drawing::{ends, groups, lines};
use crate::model::{EdgeKind, Plan, Reversal};

/// The plan as a Mermaid flowchart: order solid, compensation dotted, order of the way back thick.
#[must_use]
pub fn mermaid(plan: &Plan) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = draw(plan, &mut text);
    text
}

fn draw(plan: &Plan, text: &mut String) -> std::fmt::Result {
    writeln!(text, "flowchart TB")?;
    for (number, group) in groups(plan).into_iter().enumerate() {
        let framed = !group.title.is_empty();
        if framed {
            writeln!(text, "  subgraph g{number}[{}]", quoted(&[group.title]))?;
        }
        for (at, step) in group.steps {
            let class = match (step.kind.is_compensation(), step.reversal) {
                (true, _) => ":::undo",
                (false, Reversal::Pivot) => ":::pivot",
                (false, Reversal::Nothing | Reversal::By(_)) => "",
            };
            writeln!(text, "    s{}[{}]{class}", at.0, quoted(&lines(plan, step)))?;
        }
        if framed {
            writeln!(text, "  end")?;
        }
    }
    for edge in &plan.edges {
        let (from, to) = ends(edge);
        let arrow = match edge.kind {
            EdgeKind::Needs => "-->",
            EdgeKind::Compensates => "-. undone by .->",
            EdgeKind::UndoOrder => "==>",
        };
        writeln!(text, "  s{} {arrow} s{}", from.0, to.0)?;
    }
    writeln!(text, "  classDef undo stroke:#b22222,stroke-dasharray:4 2")?;
    writeln!(text, "  classDef pivot stroke:#ff8c00,stroke-width:3px")
}

/// A quoted text of several lines. Mermaid reads HTML and its own `#…;` entities inside quotes, so whatever is not plain
/// becomes an entity by number.
fn quoted(lines: &[String]) -> String {
    let mut text = String::from("\"");
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            text.push_str("<br/>");
        }
        for character in line.chars() {
            if character.is_alphanumeric() || " -_.:@,/+=()".contains(character) {
                text.push(character);
            } else {
                text.push_str(&format!("#{};", u32::from(character)));
            }
        }
    }
    text.push('"');
    text
}
