//! The verbs against an API server in memory.

mod api_server;
mod keys;
mod workers;

use std::io::Write;
use std::sync::{Arc, Mutex};

pub(crate) use api_server::ApiServer;

use super::cluster::Cluster;
use super::terminal::Console;

pub(crate) const NAMESPACE: &str = "dynk8s-system";

/// A cluster, and what an operator sees of it.
struct Scene {
    api: ApiServer,
    cluster: Cluster,
    out: Shared,
    notes: Shared,
}

/// What was written, for who looks at it later.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Scene {
    fn new() -> Self {
        let api = ApiServer::default();
        let cluster = Cluster::new(api.client(), NAMESPACE);
        Self {
            api,
            cluster,
            out: Shared::default(),
            notes: Shared::default(),
        }
    }

    fn console(&self) -> Console {
        Console::new(self.out.clone(), self.notes.clone())
    }

    /// All that was printed so far.
    fn printed(&self) -> String {
        self.out.text()
    }

    /// All that was said beside it.
    fn noted(&self) -> String {
        self.notes.text()
    }
}

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
