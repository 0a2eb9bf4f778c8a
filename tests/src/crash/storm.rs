//! Carries out the hazards of a round during the storm.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use purser::OperatorUpdate;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tokio::time::sleep;

use super::disk::SmallDisk;
use super::hazards::{Hazards, Keys, Spell};
use super::relayer::Relayer;
use super::thief::Thief;
use crate::chain::DirectOutcome;
use crate::operator::Operator;
use crate::proxy::Proxy;

/// What the hazards act on.
pub(super) struct Storm<'a> {
    pub hazards: &'a Hazards,
    pub nodes: &'a [Proxy; 2],
    pub disks: Vec<SmallDisk>,
    pub authorities: &'a Authorities,
    pub thief: &'a Thief,
}

/// The keys that the operator may allow to transfer.
pub(super) struct Authorities {
    pub operator: Operator,
    pub first: Pubkey,
    pub second: Pubkey,
    pub foreign: Keypair,
}

impl Storm<'_> {
    /// Runs every hazard at its time. May be dropped at any moment. `took`: what the thief got.
    pub async fn rages(&self, relayers: &[Arc<Relayer>], took: &mut Vec<String>) {
        let clock = async {
            if let Some((lying, _)) = self.hazards.clock {
                during(lying.spell, || self.lies_about_time(true), || self.lies_about_time(false)).await;
            }
        };
        let history = async {
            if let Some((lying, ..)) = self.hazards.history {
                during(lying.spell, || self.leaves_out(true), || self.leaves_out(false)).await;
            }
        };
        let height = async {
            if let Some((lying, _)) = self.hazards.height {
                during(lying.spell, || self.lies_about_height(true), || self.lies_about_height(false)).await;
            }
        };
        let deaf = async {
            if let Some(lying) = self.hazards.deaf {
                during(lying.spell, || self.keeps_transactions(true), || self.keeps_transactions(false))
                    .await;
            }
        };
        let landings = async {
            if let Some((lying, _)) = self.hazards.landings {
                during(lying.spell, || self.invents_landings(true), || self.invents_landings(false)).await;
            }
        };
        let disk = join_all(self.hazards.full_disk.iter().map(|spell| {
            let fills_up = || self.disks.iter().for_each(SmallDisk::fills_up);
            during(*spell, fills_up, || self.disks.iter().for_each(SmallDisk::empties))
        }));
        let rotation = join_all(self.hazards.rotations.iter().map(|(at, keys)| async {
            sleep(*at).await;
            self.authorities.are(*keys).await;
        }));
        let copies = async {
            if let Some(copying) = self.hazards.copy {
                sleep(copying.at).await;
                self.thief.copies().await;
                self.thief.tries(relayers, took).await;
            }
        };
        tokio::join!(clock, history, height, deaf, landings, disk, rotation, copies);
    }

    /// Ends the hazards that end with the storm. Open-ended lies hold from here on, even if they had not begun.
    pub async fn passes(&self) {
        self.disks.iter().for_each(SmallDisk::empties);
        if !self.hazards.rotations.is_empty() {
            self.authorities.are(Keys::First).await;
        }
        if self.hazards.copy.is_some() {
            self.thief.copies().await;
        }
        self.lies_about_time(self.hazards.clock.is_some_and(|(lying, _)| lying.spell.lasts.is_none()));
        self.leaves_out(self.hazards.history.is_some_and(|(lying, ..)| lying.spell.lasts.is_none()));
        self.lies_about_height(self.hazards.height.is_some_and(|(lying, _)| lying.spell.lasts.is_none()));
        self.keeps_transactions(self.hazards.deaf.is_some_and(|lying| lying.spell.lasts.is_none()));
        self.invents_landings(self.hazards.landings.is_some_and(|(lying, _)| lying.spell.lasts.is_none()));
    }

    /// From now on every node tells the truth.
    pub fn calms_down(&self) {
        self.nodes.iter().for_each(|node| node.lies().clears());
    }

    fn lies_about_time(&self, lies: bool) {
        if let Some((lying, clock)) = self.hazards.clock {
            self.nodes[lying.node].lies().shows_clock(lies.then_some(clock));
        }
    }

    fn lies_about_height(&self, lies: bool) {
        if let Some((lying, height)) = self.hazards.height {
            self.nodes[lying.node].lies().shows_height(lies.then_some(height));
        }
    }

    fn keeps_transactions(&self, keeps: bool) {
        if let Some(lying) = self.hazards.deaf {
            self.nodes[lying.node].lies().drops_transactions(keeps);
        }
    }

    fn invents_landings(&self, lies: bool) {
        if let Some((lying, landings)) = self.hazards.landings {
            self.nodes[lying.node].lies().invents_landings(lies.then_some(landings));
        }
    }

    fn leaves_out(&self, lies: bool) {
        if let Some((lying, history, seed)) = self.hazards.history {
            self.nodes[lying.node].lies().shows_history(lies.then_some((seed, history)));
        }
    }
}

async fn during(spell: Spell, begins: impl Fn(), ends: impl Fn()) {
    sleep(spell.from).await;
    begins();
    if let Some(lasts) = spell.lasts {
        sleep(lasts).await;
        ends();
    }
}

impl Authorities {
    /// The admin makes these the transfer authorities, and no others.
    async fn are(&self, keys: Keys) {
        let keys = match keys {
            Keys::First => vec![self.first],
            Keys::Second => vec![self.second],
            Keys::Both => vec![self.first, self.second],
            Keys::Foreign => vec![self.foreign.pubkey()],
        };
        let Authorities { operator, .. } = self;
        let update = OperatorUpdate { transfer_authorities: Some(keys), ..OperatorUpdate::default() };
        let admin = operator.app().admin();
        // Two updates at the same moment may be the same transaction; one block later they differ.
        for _ in 0..3 {
            let call =
                operator.chain.program().update_operator(admin.pubkey(), operator.address, update.clone());
            match operator.chain.lands(call, admin).await {
                DirectOutcome::Settled(_) => return,
                DirectOutcome::Refused(_) | DirectOutcome::Failed(_) => {
                    sleep(Duration::from_millis(30)).await
                }
            }
        }
        panic!("the operator cannot name its transfer authorities");
    }
}
