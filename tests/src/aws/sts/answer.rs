//! What STS answers, as XML or, to who asks for it, as JSON.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use uuid::Uuid;

use super::{Failure, Identity};

const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

pub(super) fn render(result: &Result<Identity, Failure>, wants_json: bool) -> Response {
    let id = Uuid::new_v4();
    let (status, text) = match (result, wants_json) {
        (Ok(identity), true) => (StatusCode::OK, identity_json(identity, id)),
        (Ok(identity), false) => (StatusCode::OK, identity_xml(identity, id)),
        (Err(failure), true) => (failure.status, failure_json(failure, id)),
        (Err(failure), false) => (failure.status, failure_xml(failure, id)),
    };
    let kind = if wants_json { "application/json" } else { "text/xml" };
    (
        status,
        [
            (header::CONTENT_TYPE.as_str(), kind.to_owned()),
            ("x-amzn-requestid", id.to_string()),
        ],
        text,
    )
        .into_response()
}

fn identity_json(Identity { arn, user, account }: &Identity, id: Uuid) -> String {
    json!({ "GetCallerIdentityResponse": {
        "GetCallerIdentityResult": { "Account": account, "Arn": arn, "UserId": user },
        "ResponseMetadata": { "RequestId": id.to_string() },
    } })
    .to_string()
}

fn identity_xml(Identity { arn, user, account }: &Identity, id: Uuid) -> String {
    format!(
        "<GetCallerIdentityResponse xmlns=\"{NAMESPACE}\">\n  <GetCallerIdentityResult>\n    <Arn>{arn}</Arn>\n    \
         <UserId>{user}</UserId>\n    <Account>{account}</Account>\n  </GetCallerIdentityResult>\n  <ResponseMetadata>\n    \
         <RequestId>{id}</RequestId>\n  </ResponseMetadata>\n</GetCallerIdentityResponse>\n"
    )
}

fn failure_json(Failure { code, message, .. }: &Failure, id: Uuid) -> String {
    json!({ "Error": { "Code": code, "Message": message, "Type": "Sender" }, "RequestId": id.to_string() }).to_string()
}

fn failure_xml(Failure { code, message, .. }: &Failure, id: Uuid) -> String {
    let message = message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<ErrorResponse xmlns=\"{NAMESPACE}\">\n  <Error>\n    <Type>Sender</Type>\n    <Code>{code}</Code>\n    \
         <Message>{message}</Message>\n  </Error>\n  <RequestId>{id}</RequestId>\n</ErrorResponse>\n"
    )
}
