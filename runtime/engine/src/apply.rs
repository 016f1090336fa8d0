//! How events change the state: the one place where it changes. It decides nothing and never fails on a journal that
//! the engine wrote; an event that does not fit leaves the state as it is.

use std::collections::{BTreeMap, BTreeSet};

use manent_plan::{Plan, StepIx, StepKind, TargetIx};

use crate::call::{Answer, Call, CallNo, Change, InstanceAnswer, Procedure, Ran};
use crate::event::{Detour, Effect, End, Event, Outcome};
use crate::stage::{self, Ctx, Stage, stages};
use crate::state::{Active, Ended, Memory, Node, Note, Release, RunState, StepState, Trouble, Way};
use crate::time::Timestamp;
use crate::view::{Admin, PoolView};
use crate::work::Work;

/// Notes kept in the state; older ones are in the journal.
const NOTES: usize = 200;

impl RunState {
    /// The state after all events of a journal.
    pub fn fold<'e>(plan: &Plan, events: impl IntoIterator<Item = (Timestamp, &'e Event)>) -> RunState {
        let mut state = RunState::new(plan);
        for (at, event) in events {
            state.apply(plan, at, event);
        }
        state
    }

    /// The state after one more event.
    pub fn apply(&mut self, plan: &Plan, at: Timestamp, event: &Event) {
        self.newest = at;
        match event {
            Event::Started { adopted, force } => self.started(at, adopted, *force),
            Event::Resumed { retry_failed } => self.resumed(plan, at, *retry_failed),
            Event::Began { step } => self.began(plan, at, *step),
            Event::Entered { stage } => self.entered(plan, at, *stage),
            Event::Detoured { to, cause } => {
                if let Some(active) = &mut self.active {
                    active.detour = Some((*to, cause.clone()));
                    active.entered = at;
                    active.memory = Memory::default();
                }
            }
            Event::Intended { no, call } => self.intended(at, *no, call),
            Event::Answered { no, answer } => self.answered(plan, at, *no, answer),
            Event::Postponed { blocked, next, .. } => self.postponed(blocked, *next),
            Event::Noted { note } => self.note(at, note),
            Event::Cut { connections } => {
                self.connections_cut = self.connections_cut.saturating_add(*connections);
                if let Some(active) = &mut self.active {
                    active.memory.cut = true;
                }
            }
            Event::Ended { end } => self.ended(plan, at, end),
            Event::TurnedBack { cause } => {
                let (left, barrier) = self.way_back(plan);
                self.cancelled = None;
                self.way = Way::Back { cause: cause.clone(), left, barrier };
            }
            Event::Paused { by } => self.paused = Some(by.clone()),
            Event::Continued { .. } => {
                self.paused = None;
                // What was read before the pause is old: everything is looked at again first.
                if let Some(active) = &mut self.active {
                    active.memory.read = None;
                    active.memory.good = 0;
                    active.memory.good_since = None;
                    active.gated = None;
                }
            }
            Event::Cancelled { by, rollback } => self.cancelled = Some((by.clone(), *rollback)),
            Event::Approved { step, by } => {
                self.approvals.insert(*step, by.clone());
            }
            Event::Interrupted => self.interrupted = true,
            Event::Finished { outcome } => self.finished(outcome),
        }
    }

    fn started(&mut self, at: Timestamp, adopted: &BTreeSet<TargetIx>, force: bool) {
        self.started = Some(at);
        self.force = force;
        self.adopted.clone_from(adopted);
        for target in adopted {
            if let Some(target) = self.targets.get_mut(target.at()) {
                // An earlier run left it out in the middle of something: it goes back only after a check.
                target.touched = true;
                target.out = Some(at);
            }
        }
    }

    /// Whatever was in flight is in doubt: reads are forgotten, changes are settled by a read, nodes are asked.
    fn resumed(&mut self, plan: &Plan, at: Timestamp, retry_failed: bool) {
        self.interrupted = false;
        self.paused = None;
        // Killed after the journal knew the run and before it knew a single event: nothing was touched, and it begins here.
        // What it would have adopted or forced is not known; without either it does less, never more.
        self.started.get_or_insert(at);
        self.reopen(plan, retry_failed);
        let Some(active) = &mut self.active else { return };
        let reads: BTreeSet<CallNo> = active
            .flying
            .iter()
            .filter(|(_, call)| matches!(call, Call::Run { procedure, .. } if !changes(*procedure)))
            .map(|(no, _)| *no)
            .collect();
        active.flying.clear();
        active.memory.read = None;
        active.memory.sent = None;
        active.memory.trouble = None;
        active.memory.good = 0;
        active.memory.good_since = None;
        active.memory.gap = 0;
        active.gated = None;
        // A state that every instance accepted to forget stays forgotten: forced again after each crash, a member would
        // never have the time to come up. A load balancer that was reloaded meanwhile shows another identity.
        for work in active.nodes.values_mut() {
            let mut nodes = std::mem::take(work).into_nodes();
            nodes.retain(|_, node| doubted(node, at, &reads));
            *work = Work::new(&active.targets, nodes);
        }
    }

    /// A run that stopped goes on: where the failure may be tried again, its step waits once more.
    fn reopen(&mut self, plan: &Plan, retry_failed: bool) {
        let Way::Ended { outcome, was } = &self.way else { return };
        let Outcome::Stopped { cause } = outcome else { return };
        let again = retry_failed || !cause.unknown.is_empty() || matches!(**was, Way::Back { .. });
        let way = (**was).clone();
        let failed = match &way {
            Way::Forward { next } => Some(StepIx(*next)),
            Way::Back { left, .. } => left.last().copied(),
            Way::Ended { .. } => None,
        };
        self.way = way;
        self.cancelled = None;
        if !again {
            return;
        }
        let Some(failed) = failed else { return };
        // A wait that failed put its members back, or took them out again: what it waited for has to be done anew, under
        // the floor and after a check, not just waited for.
        let wait = plan.steps.get(failed.at()).is_some_and(|step| match step.kind {
            StepKind::DrainWait | StepKind::RestoreWait => true,
            StepKind::Config
            | StepKind::Preflight
            | StepKind::Drain
            | StepKind::Deploy
            | StepKind::PostTest
            | StepKind::Custom(_)
            | StepKind::Restore
            | StepKind::Activate(_)
            | StepKind::Bake
            | StepKind::Approve
            | StepKind::UndoDrain
            | StepKind::UndoDeploy
            | StepKind::UndoCustom(_)
            | StepKind::UndoRestore
            | StepKind::UndoActivate(_) => false,
        });
        let first = StepIx(failed.0.saturating_sub(u32::from(wait)));
        for step in first.0..=failed.0 {
            if let Some(step) = self.steps.get_mut(StepIx(step).at())
                && let StepState::Failed { ended, .. } | StepState::Done(ended) = step
            {
                *step = StepState::Retried(ended.clone());
            }
        }
        if let Way::Forward { next } = &mut self.way {
            *next = first.0;
        }
    }

    fn began(&mut self, plan: &Plan, at: Timestamp, step: StepIx) {
        let kind = plan.steps.get(step.at()).map(|step| step.kind.clone());
        if kind == Some(StepKind::UndoDeploy) {
            self.abandon(step);
        }
        let targets = self.working(plan, step);
        let (nodes, begun) = match self.steps.get_mut(step.at()) {
            Some(StepState::Retried(ended)) => (std::mem::take(&mut ended.nodes), ended.begun.clone()),
            _ => (BTreeMap::new(), BTreeSet::new()),
        };
        if let Some(state) = self.steps.get_mut(step.at()) {
            *state = StepState::Active;
        }
        let mut nodes: BTreeMap<u32, Work> = nodes;
        for work in nodes.values_mut() {
            let mut known = std::mem::take(work).into_nodes();
            known.retain(|_, node| tried_again(node, at));
            *work = Work::new(&targets, known);
        }
        self.active = Some(Active {
            step,
            began: at,
            targets,
            stage: 0,
            entered: at,
            detour: None,
            memory: Memory::default(),
            nodes,
            gated: None,
            flying: BTreeMap::new(),
            attempt: 0,
            taken: 0,
            begun,
        });
    }

    /// Nodes without a release to return to are left out by the way back.
    fn abandon(&mut self, step: StepIx) {
        for target in self.begun_of_compensated(step) {
            if let Some(target) = self.targets.get_mut(target.at())
                && target.before == Some(None)
            {
                target.abandoned = true;
            }
        }
    }

    fn entered(&mut self, plan: &Plan, at: Timestamp, stage: u32) {
        let Some(active) = &mut self.active else { return };
        let admitted = active.memory.read;
        let left = active.stage;
        let list = plan.steps.get(active.step.at()).map(|step| stages(plan, &step.kind)).unwrap_or_default();
        active.stage = stage;
        active.entered = at;
        active.memory = Memory::default();
        match list.get(stage as usize) {
            Some(Stage::TakeOut) => {
                active.memory.read = admitted;
                self.admitted(plan);
            }
            Some(Stage::Empty) => {
                // The processes that confirmed the drain: a change among them means that connections may be hidden.
                let view = self.view.as_ref().map(|(_, view)| view);
                active.memory.identities = view.map(identities).unwrap_or_default();
            }
            Some(Stage::Nodes(_)) => {
                if list.get(left as usize) == Some(&Stage::Gate) {
                    active.gated = admitted;
                }
            }
            Some(_) | None => {}
        }
    }

    /// What the read that admitted a batch showed of its members.
    fn admitted(&mut self, plan: &Plan) {
        let Some(active) = &mut self.active else { return };
        let forward = plan.steps.get(active.step.at()).is_some_and(|step| !step.kind.is_compensation());
        let view = self.view.as_ref().map(|(_, view)| view);
        let mut taken = 0;
        for at in &active.targets {
            let Some(target) = self.targets.get_mut(at.at()) else { continue };
            // What cannot be seen is taken for healthy: then its return is awaited like any other.
            let serves = view.is_none_or(|view| !view.surely_lost(*at));
            // Admitted before, by a process that died or by a drain that was not obeyed: what was true then stays true.
            let again = target.out.is_some() && active.begun.contains(at);
            taken += u32::from(view.is_some() && (serves || (again && target.healthy_before)));
            if !forward || again {
                continue;
            }
            target.healthy_before = serves;
            if target.out.is_none()
                && let Some(view) = view
            {
                let out =
                    (0_u32..).zip(view.seen_everywhere(*at)).filter(|(_, seen)| seen.admin == Admin::Out);
                target.left_out = out.map(|(instance, _)| instance).collect();
            }
        }
        active.taken = taken;
    }

    fn postponed(&mut self, blocked: &crate::event::Blocked, next: Timestamp) {
        let Some(active) = &mut self.active else { return };
        if active.detour.take().is_some() {
            for target in &active.targets {
                if let Some(target) = self.targets.get_mut(target.at()) {
                    target.out = None;
                }
            }
            active.stage = 0;
        } else if let Some((_, view)) = &self.view {
            // A drain that was intended and never happened took nobody out.
            for at in &active.targets {
                if let Some(target) = self.targets.get_mut(at.at())
                    && active.begun.contains(at)
                    && view.complete()
                    && !view.out_somewhere(*at)
                {
                    target.out = None;
                    active.begun.remove(at);
                }
            }
        }
        active.memory = Memory { postponed: Some((blocked.clone(), next)), ..Memory::default() };
    }

    pub(crate) fn note(&mut self, at: Timestamp, text: &str) {
        if self.notes.len() >= NOTES {
            self.notes.remove(0);
        }
        let step = self.active.as_ref().map(|active| active.step);
        self.notes.push(Note { at, step, text: text.to_owned() });
    }

    fn intended(&mut self, at: Timestamp, no: CallNo, call: &Call) {
        self.next_call = self.next_call.max(no.0.saturating_add(1));
        let Some(active) = &mut self.active else { return };
        active.flying.insert(no, call.clone());
        match call {
            Call::ReadPool { .. } | Call::Probe { .. } => {}
            Call::Change { change, on } => {
                for target in on.iter().flat_map(|on| &on.targets) {
                    active.begun.insert(*target);
                    if *change == Change::Drain
                        && let Some(target) = self.targets.get_mut(target.at())
                    {
                        target.out.get_or_insert(at);
                    }
                }
            }
            Call::Run { procedure, target, until, .. } => {
                let node = Node::Running { no, until: *until };
                let Active { nodes, stage, targets, .. } = active;
                let work = nodes.entry(*stage).or_insert_with(|| Work::new(targets, BTreeMap::new()));
                work.begin(targets, *target, node);
                if changes(*procedure) {
                    active.begun.insert(*target);
                    if let Some(target) = self.targets.get_mut(target.at()) {
                        target.touched = true;
                        if matches!(procedure, Procedure::Apply | Procedure::Undo) {
                            target.release = Release::Unknown;
                        }
                    }
                }
            }
        }
    }

    fn answered(&mut self, plan: &Plan, at: Timestamp, no: CallNo, answer: &Answer) {
        let Some(call) = self.active.as_mut().and_then(|active| active.flying.remove(&no)) else { return };
        match (call, answer) {
            (Call::ReadPool { .. }, Answer::Pool(view)) => self.read(plan, at, view),
            (Call::Change { change, .. }, Answer::Changed(answers)) => self.changed(at, change, answers),
            (Call::Run { procedure, target, release, until, .. }, Answer::Ran(ran)) => {
                let node = match ran {
                    Ran::Done { output } => Node::Done { output: output.clone() },
                    Ran::Failed { begun, reason } => {
                        Node::Failed { reason: reason.clone(), begun: *begun, unknown: None }
                    }
                    // A read that was lost is just a failure; it can be asked again later.
                    Ran::Unknown { reason } if !changes(procedure) => {
                        Node::Failed { reason: reason.clone(), begun: false, unknown: None }
                    }
                    Ran::Unknown { reason } => Node::Doubt { no, until, next: at, reason: reason.clone() },
                };
                self.node(at, (no, procedure, target), release, node);
            }
            (Call::Probe { of, procedure, target, .. }, Answer::Probed(probed)) => {
                self.probed(plan, at, (of, procedure, target), probed);
            }
            (Call::ReadPool { .. } | Call::Change { .. } | Call::Run { .. } | Call::Probe { .. }, _) => {}
        }
    }

    fn read(&mut self, plan: &Plan, at: Timestamp, view: &PoolView) {
        let Some(active) = &self.active else { return };
        let list = plan.steps.get(active.step.at()).map(|step| stages(plan, &step.kind)).unwrap_or_default();
        let Some(stage) = list.get(active.stage as usize).copied() else { return };
        let good = stage::good(Ctx { plan, state: self, active, now: at }, stage, view);
        let now = identities(view);
        let reloaded =
            view.complete() && !active.memory.identities.is_empty() && active.memory.identities != now;
        self.view = Some((at, view.clone()));
        if reloaded {
            self.note(at, "a load balancer was reloaded or restarted: what it showed before counts no more");
        }
        let Some(active) = &mut self.active else { return };
        active.attempt += 1;
        let memory = &mut active.memory;
        memory.read = Some(at);
        memory.gap = stage::grow(plan.pool.as_ref(), memory.gap);
        memory.misses = if view.complete() { 0 } else { memory.misses + 1 };
        if view.complete() {
            memory.identities = now;
        }
        if reloaded {
            memory.forced = false;
            memory.strict = true;
        }
        if stage == Stage::Gate && view.complete() && !active.targets.iter().all(|target| view.out(*target)) {
            memory.strict = true;
        }
        if good && !reloaded {
            memory.good += 1;
            memory.good_since.get_or_insert(at);
        } else {
            memory.good = 0;
            memory.good_since = None;
        }
    }

    fn changed(&mut self, at: Timestamp, change: Change, answers: &[InstanceAnswer]) {
        let Some(active) = &mut self.active else { return };
        let memory = &mut active.memory;
        memory.read = None;
        memory.good = 0;
        memory.good_since = None;
        memory.sent = Some(at);
        let mut trouble: Option<Trouble> = None;
        for answer in answers {
            let (permanent, reason) = match answer {
                InstanceAnswer::Accepted => continue,
                InstanceAnswer::Refused { reason } => (true, reason),
                InstanceAnswer::Unsure { reason } => (false, reason),
            };
            let found = trouble.get_or_insert(Trouble { permanent: false, reason: String::new() });
            found.permanent |= permanent;
            if !found.reason.is_empty() {
                found.reason.push_str("; ");
            }
            found.reason.push_str(reason);
        }
        let accepted = trouble.is_none();
        memory.gap = if accepted { 0 } else { memory.gap.max(50).saturating_mul(3) / 2 };
        memory.trouble = trouble;
        match change {
            Change::Drain | Change::Restore => {}
            Change::ForceDown => memory.forced = accepted,
            Change::Harden => {
                // One try: the members are out with or without it.
                memory.hardened = true;
                let failed = memory.trouble.take().map(|trouble| trouble.reason);
                if let Some(reason) = failed {
                    self.note(at, &format!("persistent clients could not be cut off: {reason}"));
                }
            }
        }
    }

    fn probed(
        &mut self,
        plan: &Plan,
        at: Timestamp,
        (of, procedure, target): (CallNo, Procedure, TargetIx),
        probed: &crate::call::Probed,
    ) {
        let back = match procedure {
            Procedure::Undo => true,
            Procedure::Apply
            | Procedure::Current
            | Procedure::PostTest
            | Procedure::Custom(_)
            | Procedure::UndoCustom(_)
            | Procedure::Activate(_)
            | Procedure::UndoActivate(_) => false,
        };
        let before = self.target(target).and_then(|target| target.before.clone());
        let wanted = if back { before } else { Some(plan.release.clone()) };
        let Some(active) = &mut self.active else { return };
        let Active { nodes, targets, .. } = active;
        let Some(work) = work_of(nodes, target, of) else { return };
        let Some(Node::Doubt { until, .. }) = work.get(target) else { return };
        let until = *until;
        match stage::settle_probe(procedure, of, until, wanted.as_ref(), probed.clone(), at) {
            Some(node) => {
                if let Some(release) = &probed.release
                    && let Some(target) = self.targets.get_mut(target.at())
                {
                    target.release = Release::Known(release.clone());
                }
                self.node(at, (of, procedure, target), wanted.flatten(), node);
            }
            None => work.wait_again(targets, target),
        }
    }

    /// Work on a target came to something.
    fn node(
        &mut self,
        at: Timestamp,
        (no, procedure, target): (CallNo, Procedure, TargetIx),
        release: Option<String>,
        node: Node,
    ) {
        let Some(active) = &mut self.active else { return };
        let Some(state) = self.targets.get_mut(target.at()) else { return };
        let recipe = matches!(procedure, Procedure::Apply | Procedure::Undo);
        match &node {
            Node::Done { output } => {
                state.unknown_since = None;
                if recipe {
                    state.release = Release::Known(release);
                }
                if procedure == Procedure::Current {
                    state.before = Some(output.clone());
                    state.release = Release::Known(output.clone());
                }
            }
            Node::Failed { begun, unknown, .. } => {
                if unknown.is_some() {
                    state.unknown_since.get_or_insert(at);
                } else {
                    state.unknown_since = None;
                }
                if !begun {
                    active.begun.remove(&target);
                    if procedure == Procedure::Apply
                        && let Some(before) = &state.before
                    {
                        state.release = Release::Known(before.clone());
                    }
                }
            }
            Node::Doubt { .. } => {
                state.unknown_since.get_or_insert(at);
            }
            Node::Running { .. } | Node::Again { .. } => {}
        }
        // The stage in hand may be another one by now: the gate is looked at again while some targets are at work.
        if let Some(work) = work_of(&mut active.nodes, target, no) {
            work.set(target, node);
        }
    }

    fn ended(&mut self, plan: &Plan, at: Timestamp, end: &End) {
        let Some(active) = self.active.take() else { return };
        let Some(step) = plan.steps.get(active.step.at()) else { return };
        let failed = matches!(end, End::Failed { .. });
        let ended = Ended {
            began: active.began,
            ended: at,
            attempts: active.attempt,
            begun: active.begun.clone(),
            nodes: if failed { active.nodes.clone() } else { BTreeMap::new() },
        };
        match end {
            End::Done => self.step_done(plan, &active, &step.kind),
            End::Skipped { .. } => {}
            End::Failed { effect, .. } => self.step_failed(&active, *effect),
        }
        if !failed {
            match &mut self.way {
                Way::Forward { next } => *next = active.step.0.saturating_add(1),
                Way::Back { left, .. } => {
                    left.pop();
                }
                Way::Ended { .. } => {}
            }
        }
        let state = match end {
            End::Done => StepState::Done(ended),
            End::Skipped { reason } => StepState::Skipped { reason: reason.clone() },
            End::Failed { cause, effect } => {
                StepState::Failed { cause: cause.clone(), effect: *effect, ended }
            }
        };
        if let Some(slot) = self.steps.get_mut(active.step.at()) {
            *slot = state;
        }
    }

    fn step_done(&mut self, plan: &Plan, active: &Active, kind: &StepKind) {
        if *kind == StepKind::Preflight {
            let seen = plan.pool.as_ref().filter(|pool| pool.capabilities.sees_members);
            if let (Some(pool), Some((_, view))) = (seen, &self.view) {
                self.need = Some(pool.floor.wanted.round_up(view.total));
            }
        }
        if matches!(kind, StepKind::RestoreWait | StepKind::UndoDrain) {
            self.back_in_service(active);
        }
        let undone = self.undoes.get(&active.step).copied();
        if let Some(slot) = undone.and_then(|step| self.steps.get_mut(step.at())) {
            *slot = StepState::Undone;
        }
    }

    fn back_in_service(&mut self, active: &Active) {
        for target in &active.targets {
            if let Some(target) = self.targets.get_mut(target.at()) {
                target.out = None;
            }
        }
    }

    fn step_failed(&mut self, active: &Active, effect: Effect) {
        match active.detour.as_ref().map(|(detour, _)| *detour) {
            Some(Detour::PutBackAndPostpone | Detour::PutBackAndFail) if effect == Effect::None => {
                self.back_in_service(active);
            }
            Some(Detour::TakeOutAndFail) => {
                let serving: Vec<TargetIx> = match &self.view {
                    Some((_, view)) => {
                        active.targets.iter().copied().filter(|target| view.serves(*target)).collect()
                    }
                    None => Vec::new(),
                };
                for target in serving {
                    if let Some(target) = self.targets.get_mut(target.at()) {
                        target.out = None;
                    }
                }
            }
            Some(Detour::PutBackAndPostpone | Detour::PutBackAndFail) | None => {}
        }
    }

    fn finished(&mut self, outcome: &Outcome) {
        let was = std::mem::replace(&mut self.way, Way::Forward { next: 0 });
        self.way = Way::Ended { outcome: outcome.clone(), was: Box::new(was) };
        self.cancelled = None;
    }
}

/// Whether a procedure has an effect on its target.
pub(crate) fn changes(procedure: Procedure) -> bool {
    match procedure {
        Procedure::Current | Procedure::PostTest => false,
        Procedure::Apply
        | Procedure::Undo
        | Procedure::Custom(_)
        | Procedure::UndoCustom(_)
        | Procedure::Activate(_)
        | Procedure::UndoActivate(_) => true,
    }
}

/// The stage's work to which a call belongs.
fn work_of(nodes: &mut BTreeMap<u32, Work>, target: TargetIx, no: CallNo) -> Option<&mut Work> {
    nodes.values_mut().find(|work| match work.get(target) {
        Some(Node::Running { no: its, .. } | Node::Doubt { no: its, .. } | Node::Again { no: its }) => {
            *its == no
        }
        Some(Node::Done { .. } | Node::Failed { .. }) | None => false,
    })
}

fn identities(view: &PoolView) -> Vec<Option<String>> {
    view.instances.iter().map(|instance| instance.identity.clone()).collect()
}

/// A node when a process takes the run up again; `false` forgets it, so that its work begins anew.
fn doubted(node: &mut Node, at: Timestamp, reads: &BTreeSet<CallNo>) -> bool {
    match node {
        Node::Running { no, .. } if reads.contains(no) => false,
        Node::Running { no, until } => {
            let reason = String::from("manent was gone while it ran");
            *node = Node::Doubt { no: *no, until: *until, next: at, reason };
            true
        }
        Node::Doubt { next, .. } => {
            *next = at;
            true
        }
        Node::Again { .. } | Node::Done { .. } | Node::Failed { .. } => true,
    }
}

/// A node when its failed step is tried again; `false` forgets it, so that its work begins anew.
fn tried_again(node: &mut Node, at: Timestamp) -> bool {
    match node {
        Node::Done { .. } => true,
        Node::Failed { unknown: Some(no), reason, .. } => {
            *node = Node::Doubt { no: *no, until: at.plus(60_000), next: at, reason: reason.clone() };
            true
        }
        Node::Failed { unknown: None, .. } => false,
        Node::Running { no, until } => {
            *node = Node::Doubt {
                no: *no,
                until: *until,
                next: at,
                reason: String::from("it was still running"),
            };
            true
        }
        Node::Doubt { next, .. } => {
            *next = at;
            true
        }
        Node::Again { .. } => true,
    }
}
