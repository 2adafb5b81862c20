//! Names that stand in people's clusters. None of them may ever change.

/// The type of the Secrets that hold a WireGuard key.
pub const KEY_TYPE: &str = "dynk8s.du5t1n.me/wireguard-key";

/// The label that says which instance an object belongs to; on a key, the empty value says that it is free.
pub const INSTANCE_LABEL: &str = "dynk8s.du5t1n.me/ec2-instance-id";

/// The label of a key that may be in a stranger's hand: its value is the instance whose claims contradicted each other. Such
/// a key is neither free nor anybody's, whatever its other label says, until an operator has changed it and removes this.
pub const QUARANTINE_LABEL: &str = "dynk8s.du5t1n.me/quarantined";

/// The annotation of a Worker that was made because a key bears its instance's name: its value is that key. Of which account
/// the instance is, such a Worker does not know.
pub const ADOPTED_ANNOTATION: &str = "dynk8s.du5t1n.me/adopted";

/// The field of a key Secret that holds the wg-quick document.
pub const KEY_FIELD: &str = "wireguard-config";

/// The Secret of our namespace that holds the provisioner's own key, in the field [`OWN_KEY_FIELD`].
pub const OWN_KEY: &str = "dynk8s-provisioner-key";

/// The private key of the envelopes, base64.
pub const OWN_KEY_FIELD: &str = "private-key";

/// The type of the Secrets of our namespace that hold what one instance joins with; each is named by its instance.
pub const JOIN_TYPE: &str = "dynk8s.du5t1n.me/join";

/// Fields of a join Secret: the token's two halves, the generation that it belongs to and when it expires (RFC 3339).
pub const JOIN_FIELDS: [&str; 4] = ["token-id", "token-secret", "generation", "expiration"];

/// Where kubelets renew their Leases; each is named as its Node.
pub const NODE_LEASE_NAMESPACE: &str = "kube-node-lease";

/// Where bootstrap tokens live.
pub const TOKEN_NAMESPACE: &str = "kube-system";

/// The type of a bootstrap token.
pub const TOKEN_TYPE: &str = "bootstrap.kubernetes.io/token";

/// The group that our tokens put their bearer into. It may ask for a certificate; nobody but us approves it.
pub const TOKEN_GROUP: &str = "system:bootstrappers:dynk8s:node";

/// The taint that keeps pods away until the node has been looked at; the Cluster Autoscaler understands its prefix.
pub const STARTUP_TAINT: &str = "startup-taint.cluster-autoscaler.kubernetes.io/dynk8s";

/// The label of a key Secret that shall not be handed out any more, and is removed when its instance is gone.
pub const RETIRED_LABEL: &str = "dynk8s.du5t1n.me/retired";
