//! The rim: files, processes, the service manager. Nothing else touches them.

pub(crate) mod command;
pub(crate) mod files;
pub(crate) mod labels;
pub(crate) mod lock;
pub(crate) mod service;
pub(crate) mod watch;
