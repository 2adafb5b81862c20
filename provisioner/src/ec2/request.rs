//! Questions in the Query API, signed with Signature Version 4.

use std::time::SystemTime;

use anyhow::Context as _;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use dynk8s_api::partition::Partition;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder};
use url::form_urlencoded::Serializer;

const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

/// The services that are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    AutoScaling,
    Ec2,
    Sns,
    Sts,
}

impl Service {
    /// As host names and signatures have it.
    fn name(self) -> &'static str {
        match self {
            Self::AutoScaling => "autoscaling",
            Self::Ec2 => "ec2",
            Self::Sns => "sns",
            Self::Sts => "sts",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::AutoScaling => "2011-01-01",
            Self::Ec2 => "2016-11-15",
            Self::Sns => "2010-03-31",
            Self::Sts => "2011-06-15",
        }
    }

    pub(super) fn host(self, region: &str) -> String {
        let suffix = Partition::of_region(region).dns_suffix();
        format!("{}.{region}.{suffix}", self.name())
    }
}

/// One question.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) service: Service,
    pub(super) action: &'static str,
    pub(super) parameters: Vec<(String, String)>,
}

impl Question {
    pub(super) fn signed(
        &self,
        client: &Client,
        region: &str,
        credentials: &Credentials,
        now: SystemTime,
    ) -> anyhow::Result<RequestBuilder> {
        let url = format!("https://{}/", self.service.host(region));
        let body = self.body();
        let identity = credentials.clone().into();
        let parameters = SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name(self.service.name())
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .context("failed to gather what signs")?
            .into();
        let headers = [("content-type", FORM)].into_iter();
        let request = SignableRequest::new("POST", &url, headers, SignableBody::Bytes(body.as_bytes()))?;
        // What the signer says may quote the credentials, which may be of any form.
        let signed =
            sign(request, &parameters).map_err(|_| anyhow::anyhow!("the credentials are of no form that can sign"))?;
        let mut request = client.post(url).header(CONTENT_TYPE, FORM).body(body);
        for (name, value) in signed.into_parts().0.headers() {
            let mut value = HeaderValue::from_str(value).context("failed to write a header")?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        Ok(request)
    }

    fn body(&self) -> String {
        let mut form = Serializer::new(String::new());
        form.append_pair("Action", self.action)
            .append_pair("Version", self.service.version())
            .extend_pairs(&self.parameters);
        form.finish()
    }
}
