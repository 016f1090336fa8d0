//! Health checks of the demo's load balancer: one task a member, for ever. It must not decide what a check means for a
//! member; `member` does.

use std::sync::Arc;
use std::time::Duration;

use super::Balancer;
use super::member::Admin;
use crate::demo::client;

/// Between two checks of a member.
pub(super) const INTERVAL: Duration = Duration::from_millis(200);
/// How long a check may take: the machine may be busy, and a slow answer is none that a restart cut.
const PATIENCE: Duration = Duration::from_secs(2);

/// Checks one member again and again, except in maintenance.
pub(super) async fn watch(balancer: Arc<Balancer>, place: usize) {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let seen = balancer.state().members.get(place).map(|member| (member.admin(), member.address));
        match seen {
            None => return,
            Some((Admin::Maint, _)) => {}
            Some((Admin::Ready | Admin::Drain, address)) => {
                let answer = client::get(address, "/healthz", PATIENCE).await;
                let well = answer.is_ok_and(|answer| answer.status == 200);
                if let Some(member) = balancer.state().members.get_mut(place) {
                    member.checked(well);
                }
            }
        }
    }
}
