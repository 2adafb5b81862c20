//! The provisioner's own key: made at the first start, kept in a Secret of our namespace, pinned by every agent.

use anyhow::{Context as _, bail};
use dynk8s_api::PrivateKey;

use crate::names::{OWN_KEY, OWN_KEY_FIELD};
use crate::store::{self, Error, Store};

/// The key, which is made if there is none. Two provisioners that start at once get the same one.
pub async fn load_or_create(store: &Store) -> anyhow::Result<PrivateKey> {
    if let Some(key) = load(store).await? {
        return Ok(key);
    }
    let key = PrivateKey::generate();
    match store.create_secret(OWN_KEY, OWN_KEY_FIELD, &key.to_secret()).await {
        Ok(()) => return Ok(key),
        Err(Error::Conflict) => {}
        Err(error) => return Err(error).with_context(|| format!("failed to create Secret `{OWN_KEY}`")),
    }
    match load(store).await? {
        Some(key) => Ok(key),
        None => bail!("Secret `{OWN_KEY}` was made and deleted at the same time"),
    }
}

/// The key, if there is one.
pub async fn load(store: &Store) -> anyhow::Result<Option<PrivateKey>> {
    let read = store.secret(OWN_KEY).await;
    let Some(secret) = read.with_context(|| format!("failed to read Secret `{OWN_KEY}`"))? else {
        return Ok(None);
    };
    let text = store::text(&secret, OWN_KEY_FIELD)
        .with_context(|| format!("Secret `{OWN_KEY}` has no field `{OWN_KEY_FIELD}`"))?;
    let key = PrivateKey::from_secret(&text)
        .with_context(|| format!("field `{OWN_KEY_FIELD}` of Secret `{OWN_KEY}` is unusable"))?;
    Ok(Some(key))
}
