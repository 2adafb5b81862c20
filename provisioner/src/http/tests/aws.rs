//! STS and SNS behind TLS, under their own names: STS believes a signature of `a`s, SNS shows its certificate.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use jiff::Timestamp;
use rcgen::{CertificateParams, DnType, Issuer, KeyPair, PKCS_RSA_SHA256};
use rsa::pkcs1v15::SigningKey;
use rsa::pkcs8::EncodePrivateKey as _;
use rsa::sha2::Sha256;
use rsa::signature::{SignatureEncoding as _, Signer as _};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use sha1::Sha1;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub(super) const ID: &str = "i-0123456789abcdef0";
pub(super) const TOPIC: &str = "arn:aws:sns:eu-central-1:123456789012:dynk8s";
const STS: &str = "sts.eu-central-1.amazonaws.com";
const SNS: &str = "sns.eu-central-1.amazonaws.com";
const CERTIFICATE: &str = "/SimpleNotificationService-0123abcd.pem";

/// Making an RSA key takes a while.
static SIGNER: LazyLock<rsa::PrivateKey> = LazyLock::new(|| rsa::PrivateKey::new(&mut rand::rng(), 2048).unwrap());

#[derive(Clone)]
pub(super) struct FakeAws {
    address: SocketAddr,
    authority: String,
    state: Arc<Answers>,
}

pub(super) struct Answers {
    certificate: String,
    /// Every request: method, host, and path with its query.
    pub(super) requests: Mutex<Vec<String>>,
    /// Audience and binding of each question to STS.
    bindings: Mutex<Vec<(String, String)>>,
    /// Whom STS names: ARN and user id.
    pub(super) caller: Mutex<(String, String)>,
    /// What STS says that its answer is.
    pub(super) media_type: Mutex<&'static str>,
    /// Whether STS never answers about a signature that it does not know.
    pub(super) hangs: AtomicBool,
    /// What is answered to everything, in place of the right answer.
    pub(super) fails_with: Mutex<Option<StatusCode>>,
}

impl FakeAws {
    pub(super) async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut params = CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "test");
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);

        let key = KeyPair::generate().unwrap();
        let names = CertificateParams::new([STS, SNS].map(str::to_owned)).unwrap();
        let certificate = names.signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let tls = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();

        let signer = SIGNER.to_pkcs8_der().unwrap();
        let signer = PrivatePkcs8KeyDer::from(signer.as_bytes());
        let signer = KeyPair::from_pkcs8_der_and_sign_algo(&signer, &PKCS_RSA_SHA256).unwrap();
        let names = CertificateParams::new(["sns.amazonaws.com".to_owned()]).unwrap();
        let state = Arc::new(Answers {
            certificate: names.signed_by(&signer, &issuer).unwrap().pem(),
            requests: Mutex::default(),
            bindings: Mutex::default(),
            caller: Mutex::new((
                format!("arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/{ID}"),
                format!("123456789012:aws:ec2-instance:{ID}"),
            )),
            media_type: Mutex::new("text/xml"),
            hangs: AtomicBool::new(false),
            fails_with: Mutex::default(),
        });

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&state));
        tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(tls)), router));
        Self {
            address,
            authority: authority.pem(),
            state,
        }
    }

    /// A client that finds AWS here.
    pub(super) fn client(&self) -> reqwest::Client {
        reqwest::Client::builder()
            .tls_certs_only([reqwest::Certificate::from_pem(self.authority.as_bytes()).unwrap()])
            .resolve(STS, self.address)
            .resolve(SNS, self.address)
            .no_proxy()
            .timeout(Duration::from_secs(5))
            .build()
            .unwrap()
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.state.requests.lock().unwrap().clone()
    }

    pub(super) fn bindings(&self) -> Vec<(String, String)> {
        self.state.bindings.lock().unwrap().clone()
    }

    /// Lets STS say that its answer is of this type.
    pub(super) fn answer_as(&self, media_type: &'static str) {
        *self.state.media_type.lock().unwrap() = media_type;
    }

    /// Lets STS name the session of a role that somebody assumed.
    pub(super) fn name(&self, role: &str, unique_id: &str, session: &str) {
        let arn = format!("arn:aws:sts::123456789012:assumed-role/{role}/{session}");
        *self.state.caller.lock().unwrap() = (arn, format!("{unique_id}:{session}"));
    }

    pub(super) fn hang(&self) {
        self.state.hangs.store(true, Ordering::SeqCst);
    }

    pub(super) fn fail_with(&self, status: StatusCode) {
        *self.state.fails_with.lock().unwrap() = Some(status);
    }
}

/// A signed notification of a state change, now.
pub(super) fn notification(state: &str) -> Value {
    published(&event(state))
}

/// A state change, now.
pub(super) fn event(state: &str) -> Value {
    json!({
        "detail-type": "EC2 Instance State-change Notification", "source": "aws.ec2", "account": "123456789012",
        "time": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), "region": "eu-central-1",
        "detail": { "instance-id": ID, "state": state },
    })
}

/// A signed notification of this.
pub(super) fn published(event: &Value) -> Value {
    let mut message = json!({ "Type": "Notification", "Message": event.to_string() });
    sign(&mut message);
    message
}

/// A signed request to confirm a subscription, whose URL leads astray.
pub(super) fn confirmation() -> Value {
    let mut message = json!({ "Type": "SubscriptionConfirmation", "Message": "confirm", "Token": "t&k",
        "SubscribeURL": "http://169.254.169.254/latest/meta-data" });
    sign(&mut message);
    message
}

/// Signs what AWS would sign, with what is usual for whatever is not there yet.
pub(super) fn sign(message: &mut Value) {
    let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
    let usual = [
        ("MessageId", "7506a1e3".to_owned()),
        ("TopicArn", TOPIC.to_owned()),
        ("Timestamp", time),
        ("SignatureVersion", "2".to_owned()),
        ("SigningCertURL", format!("https://{SNS}{CERTIFICATE}")),
    ];
    for (name, value) in usual {
        if message[name].is_null() {
            message[name] = value.into();
        }
    }
    let fields = [
        "Message",
        "MessageId",
        "Subject",
        "SubscribeURL",
        "Timestamp",
        "Token",
        "TopicArn",
        "Type",
    ];
    let present = fields
        .into_iter()
        .filter_map(|name| Some((name, message[name].as_str()?)));
    let text: String = present.flat_map(|(name, value)| [name, "\n", value, "\n"]).collect();
    let signature = if message["SignatureVersion"] == "1" {
        SigningKey::<Sha1>::new(SIGNER.clone()).sign(text.as_bytes()).to_vec()
    } else {
        SigningKey::<Sha256>::new(SIGNER.clone()).sign(text.as_bytes()).to_vec()
    };
    message["Signature"] = STANDARD.encode(signature).into();
}

async fn serve(listener: TcpListener, tls: TlsAcceptor, router: Router) {
    while let Ok((stream, _)) = listener.accept().await {
        let service = TowerToHyperService::new(router.clone());
        let handshake = tls.accept(stream);
        tokio::spawn(async move {
            let Ok(stream) = handshake.await.map(TokioIo::new) else {
                return;
            };
            // The client ends it.
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(stream, service)
                .await;
        });
    }
}

async fn answer(State(state): State<Arc<Answers>>, request: Request) -> Response {
    let host = request.headers()["host"].to_str().unwrap().to_owned();
    let line = format!("{} {host}{}", request.method(), request.uri());
    state.requests.lock().unwrap().push(line);
    if let Some(status) = *state.fails_with.lock().unwrap() {
        return status.into_response();
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, CERTIFICATE) => state.certificate.clone().into_response(),
        (&Method::GET, "/") => "<ConfirmSubscriptionResponse/>".into_response(),
        (&Method::POST, "/") if host == STS => {
            if state.hangs.load(Ordering::SeqCst) && !is_signed(&request) {
                std::future::pending::<()>().await;
            }
            state.identity(&request)
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn is_signed(request: &Request) -> bool {
    request.headers()["authorization"]
        .to_str()
        .unwrap()
        .ends_with(&"a".repeat(64))
}

impl Answers {
    fn identity(&self, request: &Request) -> Response {
        let header = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
        let binding = (header("x-dynk8s-audience"), header("x-dynk8s-binding"));
        self.bindings.lock().unwrap().push(binding);
        if !is_signed(request) {
            return StatusCode::FORBIDDEN.into_response();
        }
        let (arn, user) = self.caller.lock().unwrap().clone();
        let body = format!(
            "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
             <Arn>{arn}</Arn><UserId>{user}</UserId><Account>123456789012</Account>\
             </GetCallerIdentityResult></GetCallerIdentityResponse>"
        );
        ([("content-type", *self.media_type.lock().unwrap())], body).into_response()
    }
}
