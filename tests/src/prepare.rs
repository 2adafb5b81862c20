//! Everything that must be there before the lab shuts itself off from the network: fetched or built once, then found again.

use serde::{Deserialize, Serialize};

use crate::host::packages;
use crate::machine::image::{self, Image};
use crate::product::{self, Product};
use crate::programs::{self, Programs};

/// What the lab works with.
#[derive(Debug, Serialize, Deserialize)]
pub struct Prepared {
    pub programs: Programs,
    pub product: Product,
    pub image: Image,
}

/// Prepares what is missing, and says so.
pub async fn all() -> anyhow::Result<Prepared> {
    packages::ensure_host_packages().await?;
    let programs = programs::ensure().await?;
    let image = image::ensure(&programs).await?;
    let product = product::build().await?;
    Ok(Prepared {
        programs,
        product,
        image,
    })
}
