//! Two accounts that may publish. Of one are all the instances, of the other is somebody who lies about them.

pub(super) const OWN: &str = "123456789012";
pub(super) const OTHER: &str = "999999999999";
