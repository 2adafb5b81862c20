//! Whether what must be reached can be reached, and what must not be cannot.

use super::Finding;
use crate::commands::check::facts::{Probe, Public, Seen};

pub(crate) fn server(probe: &Seen<Probe>) -> Finding {
    const CHECK: &str = "api server";
    let probe = match probe {
        Ok(probe) => probe,
        Err(why) => return Finding::unseen(CHECK, why),
    };
    match probe {
        Probe::Answers => Finding::ok(
            CHECK,
            "it answers at `cluster.server`, with a certificate of the cluster's CA",
        ),
        Probe::Untrusted(why) => Finding::failed(
            CHECK,
            format!("the certificate at `cluster.server` is not one that a node would accept: {why}"),
            "name the API server in `cluster.server` as its certificate does, or add the name to the certificate \
             (`apiServer.certSANs` of kubeadm)",
        ),
        Probe::Unreachable(why) => Finding::warning(
            CHECK,
            format!("`cluster.server` cannot be reached from here: {why}"),
            "nothing to do if only the tunnel and the LAN lead there; run `check` on the LAN to be sure",
        ),
    }
}

pub(crate) fn sts(region: &str, probe: &Probe) -> Finding {
    const CHECK: &str = "sts";
    match probe {
        Probe::Answers => Finding::ok(CHECK, format!("the endpoint of `{region}` answers")),
        Probe::Untrusted(why) | Probe::Unreachable(why) => Finding::failed(
            CHECK,
            format!("the endpoint of `{region}` does not answer here: {why}"),
            "`serve` asks it about every first claim: let its pods reach port 443 of it, without a proxy that ends TLS",
        ),
    }
}

pub(crate) fn public(public: &Public) -> Vec<Finding> {
    const CHECK: &str = "public url";
    let url = &public.url;
    let trust = "SNS and agents need a publicly trusted certificate there, and an ingress that leads to the Service \
                 `dynk8s-provisioner`";
    match &public.reached {
        Probe::Answers if public.is_ours && public.exposed.is_empty() => {
            vec![Finding::ok(
                CHECK,
                format!("`{url}` leads to `serve`, and to nothing that is the cluster's own"),
            )]
        }
        Probe::Answers => {
            let stranger = (!public.is_ours).then(|| {
                let found = format!("`{url}` is answered by something else than `serve`");
                Finding::failed(
                    CHECK,
                    found,
                    "let the ingress hand on `/sns` and `/v1/` as they are, path and body",
                )
            });
            let exposed = (!public.exposed.is_empty()).then(|| {
                let found = format!("`{url}` shows {} to the internet", public.exposed.join(", "));
                Finding::failed(
                    CHECK,
                    found,
                    "let the ingress lead to the port of `listen`, never to `health_listen`",
                )
            });
            stranger.into_iter().chain(exposed).collect()
        }
        Probe::Untrusted(why) => {
            vec![Finding::failed(
                CHECK,
                format!("the certificate of `{url}` is not trusted: {why}"),
                trust,
            )]
        }
        Probe::Unreachable(why) => {
            vec![Finding::failed(
                CHECK,
                format!("`{url}` cannot be reached from here: {why}"),
                trust,
            )]
        }
    }
}
