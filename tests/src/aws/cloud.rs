//! The account that the emulators share: its instances, and the credentials that each one's identity role was given.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::topology::addresses::vpc_v6;

/// How long credentials of an instance live on AWS.
const CREDENTIALS_LIVE: SignedDuration = SignedDuration::from_hours(6);

/// An EC2 instance, as its metadata describes it.
#[derive(Debug, Clone)]
pub struct Instance {
    pub id: String,
    pub kind: String,
    pub zone: String,
    pub image: String,
    pub address: Ipv4Addr,
    pub mac: String,
    pub lifecycle: Lifecycle,
    pub launched: Timestamp,
    pub user_data: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    OnDemand,
    Spot,
}

impl Lifecycle {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::Spot => "spot",
        }
    }
}

impl Instance {
    /// A new instance with a random id and a locally administered MAC address made of its address.
    pub fn launch(kind: &str, zone: &str, address: Ipv4Addr) -> Self {
        let [a, b, c, d] = address.octets();
        Self {
            id: format!("i-{}", hexadecimal(17)),
            kind: kind.to_owned(),
            zone: zone.to_owned(),
            image: "ami-0d1e8a5b7c9f2e364".to_owned(),
            address,
            mac: format!("02:64:{a:02x}:{b:02x}:{c:02x}:{d:02x}"),
            lifecycle: Lifecycle::OnDemand,
            launched: Timestamp::now(),
            user_data: None,
        }
    }
}

/// Temporary credentials of the instance identity role.
#[derive(Clone)]
pub struct Credentials {
    pub instance: String,
    pub access_key_id: String,
    pub secret_access_key: String,
    pub token: String,
    pub issued: Timestamp,
    pub expires: Timestamp,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("instance", &self.instance)
            .field("access_key_id", &self.access_key_id)
            .finish_non_exhaustive()
    }
}

/// One account in one region, shared by all emulators.
#[derive(Debug, Clone)]
pub struct Cloud {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    account: String,
    region: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    instances: Vec<Instance>,
    credentials: Vec<Credentials>,
}

impl Cloud {
    pub fn new(account: &str, region: &str) -> Self {
        Self {
            inner: Arc::new(Inner {
                account: account.to_owned(),
                region: region.to_owned(),
                state: Mutex::default(),
            }),
        }
    }

    pub fn account(&self) -> &str {
        &self.inner.account
    }

    pub fn region(&self) -> &str {
        &self.inner.region
    }

    /// The instance is there from now on: metadata answers at its address.
    pub fn add(&self, instance: Instance) {
        self.state().instances.push(instance);
    }

    /// The instance's metadata have these user data from now on.
    pub fn give_user_data(&self, id: &str, text: &str) {
        let mut state = self.state();
        if let Some(instance) = state.instances.iter_mut().find(|it| it.id == id) {
            instance.user_data = Some(text.to_owned());
        }
    }

    /// Takes the instance away; its credentials stay valid until they expire, as on AWS.
    pub fn remove(&self, id: &str) {
        self.state().instances.retain(|instance| instance.id != id);
    }

    pub(super) fn instance(&self, id: &str) -> Option<Instance> {
        self.state()
            .instances
            .iter()
            .find(|instance| instance.id == id)
            .cloned()
    }

    pub fn instance_at(&self, address: IpAddr) -> Option<Instance> {
        self.state()
            .instances
            .iter()
            .find(|instance| match address {
                IpAddr::V4(address) => instance.address == address,
                IpAddr::V6(address) => vpc_v6(instance.address) == address,
            })
            .cloned()
    }

    /// Credentials of an instance's identity role: the same ones while they are valid.
    pub fn credentials_of(&self, instance: &str) -> Credentials {
        let now = Timestamp::now();
        let mut state = self.state();
        if let Some(valid) = state
            .credentials
            .iter()
            .find(|it| it.instance == instance && it.expires > now)
        {
            return valid.clone();
        }
        let fresh = issue(instance, now);
        state.credentials.push(fresh.clone());
        fresh
    }

    /// Lets the instance's credentials expire now; the next ones are fresh.
    pub fn expire_credentials(&self, instance: &str) {
        let now = Timestamp::now();
        for credentials in self.state().credentials.iter_mut().filter(|it| it.instance == instance) {
            credentials.expires = now;
        }
    }

    pub(super) fn credentials_by_key(&self, access_key_id: &str) -> Option<Credentials> {
        self.state()
            .credentials
            .iter()
            .find(|it| it.access_key_id == access_key_id)
            .cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn issue(instance: &str, now: Timestamp) -> Credentials {
    Credentials {
        instance: instance.to_owned(),
        access_key_id: format!("ASIA{}", hexadecimal(16).to_uppercase()),
        secret_access_key: hexadecimal(40),
        // Real tokens are base64 and long; the characters that must be escaped in a query are what matters.
        token: format!("IQoJb3JpZ2luX2Vj/{}+{}==", hexadecimal(32), hexadecimal(32)),
        issued: now,
        expires: now + CREDENTIALS_LIVE,
    }
}

/// Random lower-case hexadecimal digits.
pub(super) fn hexadecimal(digits: usize) -> String {
    let mut text = String::new();
    while text.len() < digits {
        text.push_str(&Uuid::new_v4().simple().to_string());
    }
    // The front of a version 4 UUID is random throughout, except for one digit.
    text.truncate(digits);
    text
}
