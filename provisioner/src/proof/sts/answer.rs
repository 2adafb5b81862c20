//! The XML that STS answers, read strictly: exactly the documented elements, each once.

use roxmltree::{Document, Node};

const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// Whom STS names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub arn: String,
    pub user_id: String,
    pub account: String,
}

/// The caller in a `GetCallerIdentityResponse`. A document type is refused by the parser.
pub(super) fn read(body: &[u8]) -> Option<Caller> {
    let document = Document::parse(std::str::from_utf8(body).ok()?).ok()?;
    let root = document.root_element();
    if !is(root, "GetCallerIdentityResponse") {
        return None;
    }
    let known = |it: &Node<'_, '_>| is(*it, "GetCallerIdentityResult") || is(*it, "ResponseMetadata");
    if !root.children().filter(Node::is_element).all(|it| known(&it)) {
        return None;
    }
    let result = only_child(root, "GetCallerIdentityResult")?;
    if result.children().filter(Node::is_element).count() != 3 {
        return None;
    }
    Some(Caller {
        arn: text(only_child(result, "Arn")?)?,
        user_id: text(only_child(result, "UserId")?)?,
        account: text(only_child(result, "Account")?)?,
    })
}

/// The code of an `ErrorResponse`, for a person to read.
pub(super) fn error_code(body: &[u8]) -> Option<String> {
    let document = Document::parse(std::str::from_utf8(body).ok()?).ok()?;
    let code = text(only_child(only_child(document.root_element(), "Error")?, "Code")?)?;
    let plain = code.len() <= 64 && code.bytes().all(|it| it.is_ascii_alphanumeric());
    plain.then_some(code)
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.has_tag_name((NAMESPACE, name))
}

fn only_child<'a, 'input>(parent: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    let mut children = parent.children().filter(|it| is(*it, name));
    let child = children.next()?;
    children.next().is_none().then_some(child)
}

/// The text of an element that holds nothing but one text.
fn text(node: Node<'_, '_>) -> Option<String> {
    let mut children = node.children();
    let text = children.next().filter(Node::is_text)?.text()?;
    (children.next().is_none() && node.attributes().len() == 0).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Caller, error_code, read};

    const ANSWER: &str = r#"<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <GetCallerIdentityResult>
    <Arn>arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef0</Arn>
    <UserId>123456789012:aws:ec2-instance:i-0123456789abcdef0</UserId>
    <Account>123456789012</Account>
  </GetCallerIdentityResult>
  <ResponseMetadata>
    <RequestId>01234567-89ab-cdef-0123-456789abcdef</RequestId>
  </ResponseMetadata>
</GetCallerIdentityResponse>"#;

    #[test]
    fn reads_what_is_documented() {
        let caller = Caller {
            arn: "arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef0".to_owned(),
            user_id: "123456789012:aws:ec2-instance:i-0123456789abcdef0".to_owned(),
            account: "123456789012".to_owned(),
        };
        assert_eq!(read(ANSWER.as_bytes()), Some(caller));
    }

    #[test_case("<GetCallerIdentityResponse", "<AssumeRoleResponse"; "does not close")]
    #[test_case("GetCallerIdentityResponse", "AssumeRoleResponse"; "another answer")]
    #[test_case("https://sts.amazonaws.com/doc/2011-06-15/", "https://evil.example/"; "another namespace")]
    #[test_case("  <ResponseMetadata>", "  <GetCallerIdentityResult><Arn>a</Arn><UserId>b</UserId><Account>c</Account></GetCallerIdentityResult><ResponseMetadata>"; "two results")]
    #[test_case("    <UserId>", "    <Arn>arn:aws:sts::999999999999:x</Arn><UserId>"; "two names")]
    #[test_case("    <Account>123456789012</Account>\n", ""; "no account")]
    #[test_case("    <Account>", "    <Other/><Account>"; "something else in the result")]
    #[test_case("  <ResponseMetadata>", "  <Other/><ResponseMetadata>"; "something else in the answer")]
    #[test_case("<Account>123456789012", "<Account>1234<!-- -->56789012"; "a comment in a text")]
    #[test_case("<Account>", "<Account x=\"y\">"; "an attribute")]
    #[test_case("<GetCallerIdentityResponse ", "<!DOCTYPE x [<!ENTITY e \"1\">]><GetCallerIdentityResponse "; "a document type")]
    #[test_case("</GetCallerIdentityResponse>", "</GetCallerIdentityResponse>{}"; "something behind")]
    fn refuses(right: &str, wrong: &str) {
        assert!(ANSWER.contains(right));
        assert_eq!(read(ANSWER.replace(right, wrong).as_bytes()), None);
    }

    #[test_case(b""; "empty")]
    #[test_case(b"{\"GetCallerIdentityResponse\":{}}"; "json")]
    #[test_case(b"\xff\xfe"; "not text")]
    fn refuses_what_is_no_xml(body: &[u8]) {
        assert_eq!(read(body), None);
    }

    #[test]
    fn names_the_code_of_an_error() {
        let error = r#"<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>SignatureDoesNotMatch</Code><Message>m</Message></Error></ErrorResponse>"#;
        assert_eq!(error_code(error.as_bytes()).as_deref(), Some("SignatureDoesNotMatch"));
        assert_eq!(error_code(error.replace("DoesNot", " does not ").as_bytes()), None);
    }
}
