//! What SNS answers: the certificate of its signer, and `ConfirmSubscription`.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use uuid::Uuid;

use super::Sns;

const BODY_LIMIT: usize = 64 * 1024;
const NAMESPACE: &str = "http://sns.amazonaws.com/doc/2010-03-31/";

pub(super) fn routes(sns: Sns) -> Router {
    Router::new().fallback(answer).with_state(sns)
}

async fn answer(State(sns): State<Sns>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if parts.method == Method::GET && parts.uri.path() != "/" {
        return sns.certificate(parts.uri.path());
    }
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    let parameters = [query, &body]
        .into_iter()
        .flat_map(|text| url::form_urlencoded::parse(text).into_owned())
        .collect();
    sns.call(&parameters)
}

impl Sns {
    fn certificate(&self, path: &str) -> Response {
        if let Some(replacement) = self.policy().certificate_answer.clone() {
            return replacement.into_response();
        }
        if path.trim_start_matches('/') != self.inner.certificate_name {
            return StatusCode::NOT_FOUND.into_response();
        }
        (
            [(header::CONTENT_TYPE, "application/x-pem-file")],
            self.inner.certificate.clone(),
        )
            .into_response()
    }

    fn call(&self, parameters: &BTreeMap<String, String>) -> Response {
        let parameter = |name: &str| parameters.get(name).map(String::as_str).unwrap_or_default();
        match parameter("Action") {
            "ConfirmSubscription" => self.confirm(parameter("TopicArn"), parameter("Token")),
            action => failure(
                StatusCode::BAD_REQUEST,
                "InvalidAction",
                &format!("Could not find operation {action}"),
            ),
        }
    }

    fn confirm(&self, topic: &str, token: &str) -> Response {
        if topic != self.topic() {
            return failure(StatusCode::NOT_FOUND, "NotFound", "Topic does not exist");
        }
        let mut subscriptions = self.subscriptions();
        let Some(subscription) = subscriptions.iter_mut().find(|it| it.token == token) else {
            return failure(StatusCode::BAD_REQUEST, "InvalidParameter", "Invalid token");
        };
        subscription.confirmed = true;
        self.inner.confirmations.push(subscription.endpoint.to_string());
        confirmation(&subscription.arn)
    }
}

fn confirmation(arn: &str) -> Response {
    let id = Uuid::new_v4();
    let text = format!(
        "<ConfirmSubscriptionResponse xmlns=\"{NAMESPACE}\">\n  <ConfirmSubscriptionResult>\n    \
         <SubscriptionArn>{arn}</SubscriptionArn>\n  </ConfirmSubscriptionResult>\n  <ResponseMetadata>\n    \
         <RequestId>{id}</RequestId>\n  </ResponseMetadata>\n</ConfirmSubscriptionResponse>\n"
    );
    xml(StatusCode::OK, text)
}

fn failure(status: StatusCode, code: &str, message: &str) -> Response {
    let id = Uuid::new_v4();
    let text = format!(
        "<ErrorResponse xmlns=\"{NAMESPACE}\">\n  <Error>\n    <Type>Sender</Type>\n    <Code>{code}</Code>\n    \
         <Message>{message}</Message>\n  </Error>\n  <RequestId>{id}</RequestId>\n</ErrorResponse>\n"
    );
    xml(status, text)
}

fn xml(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/xml")], text).into_response()
}
