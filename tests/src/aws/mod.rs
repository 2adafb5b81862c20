//! The parts of AWS that dynk8s meets, emulated: strict where AWS is strict, and able to misbehave on demand.
//!
//! Each service is a set of axum routes over shared state. Its sockets belong to the network namespace of the runtime that serves
//! it. A test switches faults through the service's `faults()` and reads what was asked of it from its journal.

pub mod certificates;
pub mod cloud;
pub mod ec2;
pub mod eventbridge;
pub mod imds;
pub mod ingress;
pub mod journal;
pub mod server;
pub mod sigv4;
pub mod sns;
pub mod sts;
