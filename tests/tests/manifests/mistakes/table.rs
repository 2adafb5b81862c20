//! The mistakes, and what is said about each.

/// With which kubeconfig, which command line, the exit code, and what must be said.
pub(super) type Mistake = (&'static str, &'static str, i32, &'static [&'static str]);

pub(super) const MISTAKES: &[Mistake] = &[
    // The way to the cluster.
    ("nowhere", "keys list", 2, &["failed to find the API server", "nowhere"]),
    (
        "nowhere",
        "workers list",
        2,
        &["failed to find the API server", "nowhere"],
    ),
    ("nowhere", "check", 2, &["failed to find the API server", "nowhere"]),
    ("nowhere", "key", 2, &["failed to find the API server", "nowhere"]),
    ("nonsense", "keys list", 2, &["failed to find the API server"]),
    ("admin", "keys list --context nowhere", 2, &["the context `nowhere`"]),
    (
        "admin",
        "workers release --context nowhere --yes i-0fffffff",
        2,
        &["the context `nowhere`"],
    ),
    (
        "unreachable",
        "keys list",
        1,
        &["failed to list the keys", "onnection refused"],
    ),
    (
        "unreachable",
        "workers list",
        1,
        &["failed to list the Workers", "onnection refused"],
    ),
    ("stranger", "keys list", 1, &["failed to list the keys", "Unauthorized"]),
    // No rights.
    (
        "serve",
        "keys list",
        1,
        &["failed to list the keys", "forbidden", "dynk8s-provisioner-serve"],
    ),
    (
        "serve",
        "keys import good.conf",
        1,
        &["failed to list the keys", "forbidden"],
    ),
    (
        "serve",
        "keys retire burst-1",
        1,
        &["failed to list the keys", "forbidden"],
    ),
    ("serve", "keys export", 1, &["failed to list the keys", "forbidden"]),
    (
        "reconcile",
        "workers list --namespace default",
        1,
        &["failed to list the Workers", "forbidden", "default"],
    ),
    (
        "reconcile",
        "keys import good.conf",
        1,
        &["failed to create Secret `good`", "dynk8s-keys"],
    ),
    // Namespaces and names that are not there.
    (
        "admin",
        "keys import good.conf --namespace nowhere",
        1,
        &["failed to create Secret `good`", "\"nowhere\" not found"],
    ),
    (
        "admin",
        "key --namespace nowhere",
        1,
        &["no key in namespace `nowhere`", "start `serve`"],
    ),
    (
        "admin",
        "keys retire nobody",
        1,
        &["no key `nobody` in namespace `dynk8s-system`", "`keys list`"],
    ),
    (
        "admin",
        "workers release --yes i-0fffffff",
        1,
        &["no Worker `i-0fffffff`", "`workers list`"],
    ),
    (
        "admin",
        "workers release --yes i-0ee00000000000001",
        1,
        &["nothing was released", "i-0ee00000000000001", "--force"],
    ),
    (
        "admin",
        "workers release --force i-0ee00000000000001",
        1,
        &["nothing was released", "--yes"],
    ),
    // Files.
    (
        "admin",
        "keys import nowhere.conf",
        1,
        &["failed to read `nowhere.conf`", "No such file"],
    ),
    (
        "admin",
        "keys import folder",
        1,
        &["failed to read `folder`", "directory"],
    ),
    (
        "admin",
        "keys import binary.conf",
        1,
        &["failed to read `binary.conf`", "UTF-8"],
    ),
    ("admin", "keys import large.conf", 1, &["`large.conf`", "longer than"]),
    (
        "admin",
        "keys import good.conf nowhere.conf",
        1,
        &["failed to read `nowhere.conf`"],
    ),
    (
        "admin",
        "config check --config nowhere.toml",
        2,
        &["failed to read `nowhere.toml`", "No such file"],
    ),
    (
        "admin",
        "config check --config folder",
        2,
        &["failed to read `folder`", "not a regular file"],
    ),
    (
        "admin",
        "config check --config large.toml",
        2,
        &["failed to read `large.toml`", "longer than 1048576 bytes"],
    ),
    (
        "admin",
        "config check --config good.conf",
        2,
        &["failed to understand `good.conf`", "line 2"],
    ),
    (
        "admin",
        "serve --config nowhere.toml",
        2,
        &["failed to read `nowhere.toml`", "No such file"],
    ),
    (
        "admin",
        "reconcile --config unknown.toml",
        2,
        &["failed to understand `unknown.toml`", "line 7", "nome"],
    ),
    (
        "nowhere",
        "reconcile --config right.toml",
        1,
        &["failed to find the API server", "nowhere"],
    ),
    // Words.
    ("admin", "keys import", 2, &["<FILE>"]),
    (
        "admin",
        "keys import --label dynk8s.du5t1n.me/x=y good.conf",
        2,
        &["--label", "the provisioner's own"],
    ),
    ("admin", "workers release worker-1", 2, &["worker-1"]),
    ("admin", "keys steal", 2, &["steal"]),
];
