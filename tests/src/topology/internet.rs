//! The public network between the VPC and the premises, where AWS' own endpoints are.

use std::net::Ipv4Addr;
use std::sync::Arc;

use super::addresses::AWS_ENDPOINTS;
use super::segment::Segment;
use crate::host::namespace::Namespace;

/// The internet, as far as this story goes.
#[derive(Debug)]
pub struct Internet {
    wire: Segment,
}

impl Internet {
    pub(super) fn build() -> anyhow::Result<Self> {
        let namespace = Arc::new(Namespace::create("internet")?);
        Ok(Self {
            wire: Segment::build(namespace, "wire", &[AWS_ENDPOINTS], 24)?,
        })
    }

    pub fn namespace(&self) -> &Arc<Namespace> {
        self.wire.namespace()
    }

    /// Gives a site a public address, on an interface named "public".
    pub(super) fn connect(&self, site: &Namespace, address: Ipv4Addr) -> anyhow::Result<()> {
        self.wire.attach(site, "public", address, None)
    }
}
