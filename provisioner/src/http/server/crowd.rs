//! Room for connections. When it is full, who has kept us waiting longest makes room for who comes: a client that sends
//! slowly, or nothing, keeps out others of its kind and nobody else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// How long until it is looked again for somebody who can go, when everybody is being served.
const PAUSE: Duration = Duration::from_millis(50);

/// Requests with a large body that are in memory at the same time.
const MAX_LARGE_BODIES: usize = 32;

/// All open connections.
#[derive(Debug)]
pub(super) struct Crowd {
    room: Arc<Semaphore>,
    large_bodies: Arc<Semaphore>,
    guests: Mutex<Vec<Arc<Guest>>>,
}

/// One connection.
#[derive(Debug)]
pub(in crate::http) struct Guest {
    /// Since when we wait for it; not while its request is being answered.
    waiting: Mutex<Option<Instant>>,
    leave: Notify,
    large_bodies: Arc<Semaphore>,
    /// The permit of its request's large body.
    large_body: Mutex<Option<OwnedSemaphorePermit>>,
}

/// A connection's place, for as long as it is held.
#[derive(Debug)]
pub(super) struct Place {
    crowd: Arc<Crowd>,
    pub(super) guest: Arc<Guest>,
    _room: OwnedSemaphorePermit,
}

impl Crowd {
    pub(super) fn new(size: usize) -> Arc<Self> {
        Arc::new(Self {
            room: Arc::new(Semaphore::new(size)),
            large_bodies: Arc::new(Semaphore::new(MAX_LARGE_BODIES)),
            guests: Mutex::default(),
        })
    }

    /// A place, made by sending somebody away if there is none. `None` only if there never is one again.
    pub(super) async fn enter(self: &Arc<Self>) -> Option<Place> {
        let room = loop {
            if self.room.available_permits() == 0 {
                self.send_one_away();
            }
            if let Ok(room) = timeout(PAUSE, Arc::clone(&self.room).acquire_owned()).await {
                break room.ok()?;
            }
        };
        let guest = Arc::new(Guest {
            waiting: Mutex::new(Some(Instant::now())),
            leave: Notify::new(),
            large_bodies: Arc::clone(&self.large_bodies),
            large_body: Mutex::default(),
        });
        self.guests().push(Arc::clone(&guest));
        Some(Place {
            crowd: Arc::clone(self),
            guest,
            _room: room,
        })
    }

    fn send_one_away(&self) {
        let guests = self.guests();
        let waiting = guests.iter().filter_map(|it| Some(((*it.waiting())?, it)));
        if let Some((_, guest)) = waiting.min_by_key(|(since, _)| *since) {
            guest.served();
            guest.leave.notify_one();
        }
    }

    fn guests(&self) -> MutexGuard<'_, Vec<Arc<Guest>>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.guests().retain(|it| !Arc::ptr_eq(it, &self.guest));
    }
}

impl Guest {
    /// Its request is here: from now on it waits for us.
    pub(in crate::http) fn served(&self) {
        *self.waiting() = None;
    }

    /// Whether there is memory for a large body, which is then its own until it has its answer.
    pub(in crate::http) fn may_send_much(&self) -> bool {
        let permit = Arc::clone(&self.large_bodies).try_acquire_owned().ok();
        let may = permit.is_some();
        *self.large_body() = permit;
        may
    }

    /// It has its answer: from now on we wait for it.
    pub(super) fn waits(&self) {
        *self.large_body() = None;
        *self.waiting() = Some(Instant::now());
    }

    /// Returns when it has to go.
    pub(super) async fn sent_away(&self) {
        self.leave.notified().await;
    }

    fn large_body(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.large_body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Instant>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
