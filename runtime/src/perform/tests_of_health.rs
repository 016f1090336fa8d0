//! Post-tests: each is asked until it passes often enough in a row, or its time is over. Reads; they may be repeated.

use std::time::{Duration, Instant};

use manent_engine::{Ran, words};
use manent_grammar::Template;
use manent_plan::{Action, Test};

use super::actions::Acted;
use super::{Performer, Scope};

/// Distance to the second try; the next ones grow from it to `every`.
const FIRST: Duration = Duration::from_millis(50);
/// No single try may take longer than this, however long the test may take as a whole.
const TRY: Duration = Duration::from_secs(10);

impl Performer {
    /// All post-tests of a target, one after another.
    pub(super) async fn post_tests(&self, scope: &Scope<'_>) -> Ran {
        for test in &self.plan.procedures.post_test {
            if let Err(reason) = self.post_test(test, scope).await {
                return Ran::Failed { begun: false, reason };
            }
        }
        Ran::Done { output: None }
    }

    async fn post_test(&self, test: &Test, scope: &Scope<'_>) -> Result<(), String> {
        let within = Duration::from_millis(test.within_ms);
        let began = Instant::now();
        let (mut tries, mut passed) = (0_u32, 0_u32);
        let every = Duration::from_millis(test.every_ms);
        let mut gap = FIRST.min(every);
        loop {
            let left = within.saturating_sub(began.elapsed()).max(Duration::from_millis(100));
            let tried = tokio::time::timeout(left, self.try_once(&test.action, scope, left.min(TRY))).await;
            tries = tries.saturating_add(1);
            let failure = match tried {
                Ok(Ok(())) => {
                    passed = passed.saturating_add(1);
                    None
                }
                Ok(Err(reason)) => Some(reason),
                Err(_) => Some(String::from("it was not answered in time")),
            };
            if let Some(reason) = &failure {
                passed = 0;
                if began.elapsed() >= within {
                    return Err(format!(
                        "{} did not pass within {}: {reason} (try {tries})",
                        self.shown(&test.action, scope),
                        words::duration(test.within_ms)
                    ));
                }
            }
            if passed >= test.consecutive.max(1) {
                return Ok(());
            }
            let left = within.saturating_sub(began.elapsed());
            if failure.is_none() && left.is_zero() {
                let name = self.shown(&test.action, scope);
                return Err(format!(
                    "{name} passed {passed} times in a row, {} are needed",
                    test.consecutive
                ));
            }
            // Passes in a row are `every` apart, as the descriptor asks; a node that is still starting is asked sooner.
            let pause = if failure.is_none() { every } else { gap };
            gap = gap.saturating_mul(3).checked_div(2).unwrap_or(every).min(every);
            tokio::time::sleep(pause.min(left)).await;
        }
    }

    async fn try_once(&self, action: &Action, scope: &Scope<'_>, timeout: Duration) -> Result<(), String> {
        if let Action::Http { method, url, expect, .. } = action {
            let status = self.ask(method, url, scope, timeout).await?;
            return if status == *expect {
                Ok(())
            } else {
                Err(format!("answered {status}, expected {expect}"))
            };
        }
        match self.action(None, action, scope).await {
            Acted::Done(_) => Ok(()),
            Acted::Failed { reason, .. } | Acted::Unknown { reason } => Err(reason),
        }
    }

    /// The test with its values, as people look for it.
    fn shown(&self, action: &Action, scope: &Scope<'_>) -> String {
        match action {
            Action::Http { method, url, .. } => {
                format!("`{method} {}`", self.render(url, scope).unwrap_or_else(|_| url.to_string()))
            }
            Action::Run { argv, .. } => {
                let word = |word: &Template| self.render(word, scope).unwrap_or_else(|_| word.to_string());
                let words: Vec<String> = argv.iter().map(word).collect();
                format!("`{}`", words.join(" "))
            }
            Action::Sh { .. } => String::from("the script"),
            Action::Upload { .. } | Action::Wait { .. } => String::from("the test"),
        }
    }
}
