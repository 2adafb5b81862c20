//! A machine in the VPC that does by hand what the agent does.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use dynk8s_lab::host::command;
use dynk8s_lab::host::containment::SCRATCH;
use dynk8s_lab::host::namespace::Namespace;
use dynk8s_lab::host::process::Process;
use dynk8s_lab::host::room::Room;
use dynk8s_lab::topology::Topology;
use dynk8s_lab::topology::addresses::{PREMISES_NETWORK, TUNNEL_MTU, VPC_FIRST_INSTANCE};
use dynk8s_lab::topology::gateway::Tunnel;
use dynk8s_lab::topology::user_space;
use dynk8s_lab::topology::vpc::Host;

pub(crate) const MAC: &str = "02:64:ac:1f:00:0a";
const DEVICE: &str = "dynk8s";
const CONNECT: Duration = Duration::from_secs(2);

pub(crate) struct Node {
    room: Room,
    pub(crate) host: Host,
    in_user_space: bool,
}

/// A tunnel that is up until this is dropped.
pub(crate) struct Up<'a> {
    node: &'a Node,
    process: Option<Process>,
}

impl Node {
    pub(crate) fn boot(topology: &Topology) -> anyhow::Result<Self> {
        let host = topology.vpc.host("node-1", MAC, VPC_FIRST_INSTANCE)?;
        Ok(Self {
            room: host.room()?,
            host,
            in_user_space: topology.premises.gateway.is_in_user_space(),
        })
    }

    pub(crate) fn look_up(&self, name: &str) -> anyhow::Result<Option<Ipv4Addr>> {
        look_up(&self.room, name)
    }

    pub(crate) fn bring_up(&self, tunnel: &Tunnel) -> anyhow::Result<Up<'_>> {
        let process = if self.in_user_space {
            let log = Path::new(SCRATCH).join("wireguard-go-of-the-node.log");
            let connects = |socket: &Path| self.room.run(|| user_space::connect(socket))?;
            Some(user_space::carry(DEVICE, &log, &self.room.spawner(), connects)?)
        } else {
            self.host
                .namespace()
                .ip(&format!("link add {DEVICE} type wireguard\n"))?;
            None
        };
        let up = Up { node: self, process };
        let document = tunnel.document();
        // What `wg-quick strip` takes away.
        let quick = |line: &&str| ["Address", "DNS", "MTU"].iter().any(|it| line.starts_with(it));
        let document: Vec<_> = document.lines().filter(|line| !quick(line)).collect();
        let mut wg = Command::new("wg");
        wg.args(["setconf", DEVICE, "/dev/stdin"]);
        self.room.run(|| command::feed(&mut wg, &document.join("\n")))??;
        self.host.namespace().ip(&format!(
            "address add {}/24 dev {DEVICE}\nlink set {DEVICE} mtu {TUNNEL_MTU} up\nroute add {PREMISES_NETWORK} dev {DEVICE}\n",
            tunnel.address
        ))?;
        Ok(up)
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        if self.process.take().is_none() {
            let _ = self.node.host.namespace().ip(&format!("link delete {DEVICE}\n"));
        }
    }
}

/// Asks as any program does, through the C library and /etc/resolv.conf.
pub(crate) fn look_up(room: &Room, name: &str) -> anyhow::Result<Option<Ipv4Addr>> {
    let mut getent = Command::new("getent");
    getent.args(["ahostsv4", name]);
    let output = room.run(|| getent.output())?.context("failed to run `getent`")?;
    // 2 is "not found"; everything else is a failure of ours.
    ensure!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
    let text = String::from_utf8(output.stdout)?;
    text.split_whitespace()
        .next()
        .map(|it| it.parse().context("no address"))
        .transpose()
}

/// The whole answer to a request for `/` made in a namespace.
pub(crate) fn get(namespace: &Namespace, address: Ipv4Addr, port: u16) -> anyhow::Result<String> {
    let target = SocketAddr::from((address, port));
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&target, CONNECT)?;
        stream.set_read_timeout(Some(CONNECT))?;
        stream.write_all(format!("GET / HTTP/1.1\r\nhost: {target}\r\nconnection: close\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    namespace
        .run(ask)?
        .with_context(|| format!("failed to reach {target} from `{}`", namespace.name()))
}
