//! Whether the admission policies hold for this account: what RBAC cannot keep from it, only they do. They are found by the
//! account's name, so an account that was given another one, or a cluster without them, would let it do more than anybody meant.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, Error};
use tokio::time::sleep;
use tracing::error;

/// Nobody's name. It is only asked whether it could be made.
const NAME: &str = "dynk8s-is-this-refused";

/// The API server learns of policies by a watch, perhaps after we have been started.
const PAUSE: Duration = Duration::from_secs(5);
const ATTEMPTS: u32 = 3;

/// They may be removed later.
const EVERY: Duration = Duration::from_hours(1);

/// What a question to the API server has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Holds,
    Open,
    Unknown,
}

/// Asks from time to time whether this account could make a Secret in the namespace that a policy keeps from it, and tells
/// loudly if it could.
pub async fn watch(client: Client, namespace: &str) {
    let secrets: Api<Secret> = Api::namespaced(client, namespace);
    loop {
        if is_open(&secrets).await {
            error!(
                namespace,
                "no admission policy holds for this account, so whoever takes it over can make any Secret in the namespace; \
                 apply the manifests of this release, leave its accounts their names, and let `dynk8s-provisioner check` say what \
                 else differs"
            );
        }
        sleep(EVERY).await;
    }
}

async fn is_open(secrets: &Api<Secret>) -> bool {
    let mut times = 0;
    while times < ATTEMPTS {
        match ask(secrets).await {
            Shown::Holds => return false,
            Shown::Open => times += 1,
            Shown::Unknown => {}
        }
        sleep(PAUSE).await;
    }
    true
}

async fn ask(secrets: &Api<Secret>) -> Shown {
    let trial = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(NAME.to_owned()),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    };
    shown(&secrets.create(&trial, &secret).await)
}

/// Admission comes before the question whether there is one of that name.
fn shown<T>(answer: &Result<T, Error>) -> Shown {
    match answer {
        Ok(_) => Shown::Open,
        Err(Error::Api(status)) if status.code == 409 => Shown::Open,
        Err(Error::Api(status)) if matches!(status.code, 403 | 422) => Shown::Holds,
        Err(_) => Shown::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use kube::Error;
    use kube::core::Status;
    use test_case::test_case;

    use super::{Shown, shown};

    #[test_case(422, Shown::Holds; "a policy denies it")]
    #[test_case(403, Shown::Holds; "there is no right to it at all")]
    #[test_case(409, Shown::Open; "somebody has made one")]
    #[test_case(500, Shown::Unknown; "the server is ill")]
    #[test_case(429, Shown::Unknown; "the server is busy")]
    fn only_a_refusal_shows_that_they_hold(code: u16, expected: Shown) {
        let status = Status {
            code,
            ..Status::failure("no", "No")
        };
        assert_eq!(shown::<()>(&Err(Error::Api(Box::new(status)))), expected);
        assert_eq!(shown(&Ok(())), Shown::Open);
    }
}
