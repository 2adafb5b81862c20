use std::net::IpAddr;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use test_case::test_case;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

const INSTANCE: &str = "i-0123456789abcdef0";
const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// A certificate authority, and its certificate in PEM.
fn authority() -> (Issuer<'static, KeyPair>, String) {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, "kubernetes");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap().pem();
    (Issuer::new(parameters, key), certificate)
}

fn identity(issuer: &Issuer<'static, KeyPair>, name: &str, address: &str) -> ServerConfig {
    let mut parameters = CertificateParams::default();
    parameters.subject_alt_names = vec![
        SanType::DnsName(name.try_into().unwrap()),
        SanType::IpAddress(address.parse().unwrap()),
    ];
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.signed_by(&key, issuer).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let builder = server().with_no_client_auth();
    builder.with_single_cert(vec![certificate.der().clone()], key).unwrap()
}

fn server() -> rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier> {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    builder.with_safe_default_protocol_versions().unwrap()
}

/// Listens with this configuration until it is dropped with the runtime.
async fn kubelet(config: ServerConfig) -> SocketAddr {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = acceptor.accept(stream).await;
        }
    });
    at
}

async fn sight(authorities: &str, at: SocketAddr) -> Sight {
    let trust = Arc::new(trusting(authorities).unwrap());
    look(trust, &INSTANCE.parse().unwrap(), at).await
}

#[tokio::test]
async fn the_clusters_certificate_for_name_and_address_is_right() {
    let (issuer, certificate) = authority();
    let at = kubelet(identity(&issuer, INSTANCE, "127.0.0.1")).await;
    assert_eq!(sight(&certificate, at).await, Sight::Right);
}

#[tokio::test]
async fn one_of_two_authorities_suffices() {
    let (issuer, certificate) = authority();
    let (_, other) = authority();
    let at = kubelet(identity(&issuer, INSTANCE, "127.0.0.1")).await;
    assert_eq!(sight(&format!("{other}{certificate}"), at).await, Sight::Right);
}

#[test_case("i-0123456789abcdef1", "127.0.0.1"; "another name")]
#[test_case(INSTANCE, "10.98.0.3"; "another address")]
#[tokio::test]
async fn a_certificate_for_others_is_wrong(name: &str, address: &str) {
    let (issuer, certificate) = authority();
    let at = kubelet(identity(&issuer, name, address)).await;
    let expected = Sight::WrongCertificate("it is for other names".to_owned());
    assert_eq!(sight(&certificate, at).await, expected);
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_wrong() {
    let (issuer, _) = authority();
    let (_, certificate) = authority();
    let at = kubelet(identity(&issuer, INSTANCE, "127.0.0.1")).await;
    assert!(matches!(sight(&certificate, at).await, Sight::WrongCertificate(_)));
}

#[tokio::test]
async fn whoever_does_not_speak_tls_is_silent() {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let (_, certificate) = authority();
    assert!(matches!(sight(&certificate, at).await, Sight::Silence(_)));
}

#[tokio::test]
async fn a_closed_port_is_silent() {
    let at = TcpListener::bind((HERE, 0)).await.unwrap().local_addr().unwrap();
    let (_, certificate) = authority();
    assert!(matches!(sight(&certificate, at).await, Sight::Silence(_)));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever() {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let (_, certificate) = authority();
    let seen = sight(&certificate, listener.local_addr().unwrap()).await;
    assert_eq!(seen, Sight::Silence("nothing within 5s".to_owned()));
}

#[test_case(AlertDescription::InternalError; "as a kubelet says it")]
#[test_case(AlertDescription::UnrecognisedName; "in other words")]
fn a_kubelet_may_have_no_certificate_yet(alert: AlertDescription) {
    let error = io::Error::new(io::ErrorKind::InvalidData, Error::AlertReceived(alert));
    assert_eq!(sight_of(&error), Sight::NoCertificate);
}
