//! Refusals on the wire.

use std::fmt;

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use dynk8s_api::problem::{MEDIA_TYPE, Problem, Reason};

use crate::refusal;

/// `application/problem+json`, and when to ask again.
#[derive(Debug)]
pub(super) struct Refusal {
    problem: Problem,
    retry_after: Option<u32>,
}

impl Refusal {
    /// A refusal in terms of the protocol.
    pub(super) fn new(reason: Reason, title: impl Into<String>) -> Self {
        let retry_after = match reason {
            Reason::NotYet | Reason::NotAnnounced | Reason::Busy => Some(2),
            Reason::Unavailable => Some(5),
            Reason::PoolEmpty => Some(15),
            Reason::NotEligible => Some(60),
            Reason::Malformed | Reason::NotProven | Reason::AnotherKey | Reason::Gone | Reason::AlreadyJoined => None,
        };
        Self {
            problem: Problem::new(reason, title),
            retry_after,
        }
    }

    /// A refusal that the protocol does not know: it has no type, so an agent asks again.
    pub(super) fn plain(status: StatusCode, title: &str) -> Self {
        let problem = Problem {
            type_uri: "about:blank".to_owned(),
            title: title.to_owned(),
            status: status.as_u16(),
        };
        Self {
            problem,
            retry_after: None,
        }
    }

    /// The reason's name, to count by.
    pub(super) fn outcome(&self) -> &'static str {
        self.problem.reason().map_or("other", Reason::slug)
    }

    /// The same with another status.
    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.problem.status = status.as_u16();
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.problem.title, self.problem.type_uri)
    }
}

impl From<refusal::Refusal> for Refusal {
    fn from(refusal: refusal::Refusal) -> Self {
        Self::new(refusal.reason, refusal.told)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self.problem).unwrap_or_default();
        let mut response = (status, [(CONTENT_TYPE, MEDIA_TYPE)], body).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}
