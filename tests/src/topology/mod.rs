//! The networks of the lab: a VPC, the internet and the premises, each a network namespace, joined by virtual cables.

pub mod addresses;
pub mod blockade;
pub mod dns;
pub mod gateway;
pub mod internet;
pub mod premises;
pub mod segment;
pub mod user_space;
pub mod vpc;

use self::internet::Internet;
use self::premises::Premises;
use self::vpc::Vpc;

/// All networks, up and connected; gone on drop.
#[derive(Debug)]
pub struct Topology {
    pub vpc: Vpc,
    pub premises: Premises,
    pub internet: Internet,
}

impl Topology {
    /// Builds the networks; the lab's namespaces must have been entered.
    pub fn build() -> anyhow::Result<Self> {
        let internet = Internet::build()?;
        let vpc = Vpc::build(&internet)?;
        let premises = Premises::build(&internet)?;
        Ok(Self {
            vpc,
            premises,
            internet,
        })
    }
}
