//! Who asks, as the ingress tells it: told to whoever reads the log, and believed for nothing.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument as _, info_span};

use super::Shared;

/// Has every line of the log that is written meanwhile tell the caller's address, where the ingress tells it.
pub(super) async fn within_span(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let config = shared.claims.config.get();
    let field = config.caller_header.as_ref();
    match field.and_then(|it| address(request.headers(), it)) {
        Some(caller) => next.run(request).instrument(info_span!("call", %caller)).await,
        None => next.run(request).await,
    }
}

/// The last address of the last such field: those before it are what the caller himself has sent.
fn address(headers: &HeaderMap, field: &HeaderName) -> Option<IpAddr> {
    let last = headers.get_all(field).iter().next_back()?.to_str().ok()?;
    let (_, address) = last.rsplit_once(',').unwrap_or(("", last));
    let address = address.trim();
    let bare = address.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    bare.unwrap_or(address).parse().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue};
    use test_case::test_case;

    use super::address;

    #[test_case(&["192.0.2.1"], Some("192.0.2.1"); "an address")]
    #[test_case(&["192.0.2.9, 192.0.2.1"], Some("192.0.2.1"); "behind what the caller has sent")]
    #[test_case(&["192.0.2.9", "192.0.2.1"], Some("192.0.2.1"); "in a field of its own")]
    #[test_case(&["2001:db8::1"], Some("2001:db8::1"); "of IPv6")]
    #[test_case(&["[2001:db8::1]"], Some("2001:db8::1"); "in brackets")]
    #[test_case(&[], None; "no field")]
    #[test_case(&[""], None; "an empty one")]
    #[test_case(&["192.0.2.1,"], None; "nothing behind the comma")]
    #[test_case(&["unknown"], None; "a word")]
    #[test_case(&["192.0.2.1 outcome=served"], None; "an address and more")]
    #[test_case(&["192.0.2.1", "\u{e9}"], None; "no text")]
    fn the_ingress_tells_the_caller(values: &[&str], expected: Option<&str>) {
        let field = HeaderName::from_static("x-forwarded-for");
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(&field, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers.append("x-real-ip", HeaderValue::from_static("198.51.100.1"));
        assert_eq!(address(&headers, &field), expected.map(|it| it.parse().unwrap()));
    }
}
