//! The outline as a person reads it.

use super::outline::{Kind, Line, Outline, Step};

/// How the marks are to be read, and that nothing has happened.
const LEGEND: &str = "what `dynk8s-agent run` would do here; nothing has been changed\n  · so it is   → done   + written   ? known only after the \
                      claim   ! look at this   ✗ ends the journey\n";

/// A head for each step, and its lines.
pub(crate) fn render(outline: &Outline) -> String {
    let steps: String = outline.steps.iter().map(step).collect();
    format!("{LEGEND}{steps}")
}

fn step(step: &Step) -> String {
    let lines: String = step.lines.iter().map(line).collect();
    format!("\n{} (within {} s)\n{lines}", step.name, step.within_seconds)
}

fn line(line: &Line) -> String {
    let mark = match line.kind {
        Kind::Sees => '·',
        Kind::Does => '→',
        Kind::Writes => '+',
        Kind::Later => '?',
        Kind::Doubtful => '!',
        Kind::Ends => '✗',
    };
    format!("  {mark} {}\n", line.text)
}
