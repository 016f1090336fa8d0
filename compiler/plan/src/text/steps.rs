//! Passes, batches and steps in order, with what each does. Batches with the same steps are folded once there are many. It
//! must not know the way back.

use super::Detail;
use super::page::Page;
use super::pool::is_checked;
use super::words::{action, count, grouped, targets, time};
use crate::ids::TargetIx;
use crate::model::{Custom, OnTimeout, Place, Plan, Reversal, Step, StepKind, Wave};

/// So many batches of a pass are shown step by step; of more, the first one.
const WHOLE: usize = 8;
/// So many are shown one a line, with their targets; more are folded into ranges.
const LISTED: usize = 40;

pub(super) fn steps(page: &mut Page, plan: &Plan, detail: Detail) {
    let forward = plan.steps.iter().filter(|step| !step.kind.is_compensation());
    let waves = plan.rollout.waves.len();
    page.section(&format!("STEPS {}, {}", count(forward.clone().count(), "step"), count(waves, "pass")));
    if let Some(pivot) = forward.clone().find(|step| step.reversal == Reversal::Pivot) {
        let id = plan.id_of(pivot);
        page.paragraph(
            2,
            &format!("! From `{id}` on there is no way back to the start: it cannot be undone."),
        );
    }
    let before = forward.clone().filter(|step| step.place.is_none());
    lines(page, plan, 2, before);
    // One walk over the steps serves all passes.
    let mut rest = forward.skip_while(|step| step.place.is_none()).peekable();
    for (number, wave) in (0_u32..).zip(&plan.rollout.waves) {
        page.blank();
        page.line(2, &title(wave));
        let mut of_wave = Vec::new();
        while let Some(step) = rest.next_if(|step| step.place.is_some_and(|place| place.wave == number)) {
            of_wave.push(step);
        }
        batches(page, plan, wave, &of_wave, detail);
        let gates =
            of_wave.iter().copied().filter(|step| step.place.is_some_and(|place| place.batch.is_none()));
        lines(page, plan, 4, gates);
    }
}

fn title(wave: &Wave) -> String {
    let targets: usize = wave.batches.iter().map(Vec::len).sum();
    let select = wave.select.as_ref().map(|select| format!(" with {select}")).unwrap_or_default();
    let batches = count(wave.batches.len(), "batch");
    format!("pass {}: {}{select}, {batches}", wave.name, count(targets, "target"))
}

fn batches(page: &mut Page, plan: &Plan, wave: &Wave, steps: &[&Step], detail: Detail) {
    let whole = if wave.batches.len() <= WHOLE { wave.batches.len() } else { 1 };
    for (number, batch) in (0_u32..).zip(wave.batches.iter().take(whole)) {
        page.line(4, &format!("batch {number}: {}", targets(plan, batch.iter(), detail)));
        let of_batch = |step: &&Step| step.place.is_some_and(|place| place.batch == Some(number));
        // Steps of a wave stand batch by batch, so the first ones are enough for the first batches.
        lines(page, plan, 6, steps.iter().copied().filter(of_batch));
    }
    let folded = wave.batches.get(whole..).unwrap_or_default();
    if folded.is_empty() {
        return;
    }
    page.line(4, "then the same steps, one batch after the other, for");
    if folded.len() <= LISTED || detail == Detail::Wide {
        for (number, batch) in (whole..).zip(folded) {
            page.line(6, &format!("batch {number}: {}", targets(plan, batch.iter(), detail)));
        }
        return;
    }
    let mut from = whole;
    for run in folded.chunk_by(|one, other| one.len() == other.len()) {
        let to = from + run.len() - 1;
        let size = run.first().map_or(0, Vec::len);
        let all: Vec<&TargetIx> = run.iter().flatten().collect();
        let names = targets(plan, all.into_iter(), detail);
        let which = if run.len() == 1 { format!("batch {from}") } else { format!("batches {from} to {to}") };
        page.line(6, &format!("{which}, {} each: {names}", count(size, "target")));
        from = to + 1;
    }
}

/// One line a step, the ids in a column.
fn lines<'p>(page: &mut Page, plan: &Plan, indent: usize, steps: impl Iterator<Item = &'p Step> + Clone) {
    let ids: Vec<String> = steps.clone().map(|step| plan.id_of(step)).collect();
    let longest = ids.iter().map(|id| id.chars().count()).max().unwrap_or(0).max(22);
    for (step, id) in steps.zip(ids) {
        let does = does(plan, step);
        let undone = match step.reversal {
            Reversal::Nothing => String::new(),
            Reversal::By(by) => {
                let undo =
                    plan.steps.get(by.at()).map_or_else(|| "?".to_owned(), |undo| plan.verb(&undo.kind));
                format!("  [{undo}]")
            }
            Reversal::Pivot => "  [PIVOT: cannot be undone]".to_owned(),
        };
        page.line(indent, &format!("{id:<longest$}  {does}{undone}"));
    }
}

/// What a step does, in a few words.
pub(super) fn does(plan: &Plan, step: &Step) -> String {
    let one = step.place.is_none_or(|place: Place| plan.batch(place).len() == 1);
    let pool = plan.pool.as_ref();
    let can = pool.map(|pool| &pool.capabilities);
    let floor = pool.filter(|pool| is_checked(pool));
    let provider = pool.map_or("the pool", |pool| pool.provider.as_str());
    let own = |list: &[Custom], at: u32, undo: bool| {
        let custom = list.get(at as usize);
        let actions =
            custom.map(|custom| if undo { custom.undo.as_deref().unwrap_or_default() } else { &custom.run });
        first_action(actions.unwrap_or_default())
    };
    match &step.kind {
        StepKind::Config => "the documents were checked when this plan was made".into(),
        StepKind::Preflight => {
            "read every instance and target, record the release on each; change nothing".into()
        }
        StepKind::Drain => match floor {
            Some(pool) => {
                format!("out of {provider}, once {} healthy in service would stay", grouped(pool.floor.need))
            }
            None => format!("out of {provider}; the floor is not checked"),
        },
        StepKind::DrainWait => {
            match (pool, can.filter(|can| !can.sees_connections).and_then(|can| can.drain_delay_ms)) {
                (_, Some(delay)) => format!("wait {}, connections are not seen", time(delay)),
                (Some(pool), None) => {
                    let then = match pool.on_timeout {
                        OnTimeout::Proceed => "those left are cut",
                        OnTimeout::Fail => "the batch is put back",
                    };
                    format!("until no connection is left; after {} {then}", time(pool.drain_timeout_ms))
                }
                (None, None) => "until no connection is left".into(),
            }
        }
        StepKind::Deploy => {
            let release = plan.release.as_deref().unwrap_or("{release}");
            format!("bring {release} by recipe {}", plan.procedures.deploy.name)
        }
        StepKind::PostTest => {
            let tests = count(plan.procedures.post_test.len(), "test");
            if one { format!("{tests} to pass") } else { format!("{tests} to pass on each target") }
        }
        StepKind::Custom(at) => own(&plan.procedures.steps, *at, false),
        StepKind::Restore => match can {
            Some(can) if can.checks_while_out => {
                format!("back into {provider}, after a new check saw it healthy")
            }
            Some(_) | None => format!("back into {provider}"),
        },
        StepKind::RestoreWait => {
            let ready = plan.rollout.min_ready_ms;
            match floor {
                Some(_) if ready > 0 => format!("until healthy in service for {}", time(ready)),
                Some(_) => "until healthy in service".into(),
                None if ready > 0 => format!("wait {}, health is not seen", time(ready)),
                None => "health is not seen, the post-test was the gate".into(),
            }
        }
        StepKind::Activate(at) => own(&plan.procedures.activate, *at, false),
        StepKind::Bake => {
            let bake = step.place.and_then(|place| plan.rollout.waves.get(place.wave as usize)?.bake_ms);
            format!("wait {}", time(bake.unwrap_or(0)))
        }
        StepKind::Approve => format!("wait for `manent approve RUN {}`", plan.id_of(step)),
        StepKind::UndoDrain => match floor {
            Some(_) => format!("back into {provider}, until healthy in service"),
            None => format!("back into {provider}"),
        },
        StepKind::UndoDeploy => "return to the release that preflight recorded, and test it".into(),
        StepKind::UndoCustom(at) => own(&plan.procedures.steps, *at, true),
        StepKind::UndoRestore => match floor {
            Some(pool) => format!(
                "out of {provider} again, once {} healthy in service would stay, and wait",
                grouped(pool.floor.need)
            ),
            None => format!("out of {provider} again, and wait"),
        },
        StepKind::UndoActivate(at) => own(&plan.procedures.activate, *at, true),
    }
}

/// The first line of the first action; all of them stand in the section on procedures.
fn first_action(actions: &[crate::model::Action]) -> String {
    let first = actions.first().and_then(|first| action(first, Detail::Review).into_iter().next());
    let text = first
        .map_or_else(|| "nothing".to_owned(), |text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let text = text.split(" (at most ").next().unwrap_or_default().to_owned();
    if actions.len() > 1 { format!("{text}, and {} more", actions.len() - 1) } else { text }
}
