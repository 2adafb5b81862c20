//! Secrets in a text that was not meant to hold any: an error that quotes a file, a line of some other program's log.

/// What stands in their place.
const HIDDEN: &str = "[secret]";

/// The shortest text in Base64 that is taken for a key or for a credential of AWS.
const SHORTEST: usize = 40;

/// The length of a WireGuard key without its padding.
const KEY: usize = 43;

/// The text without bootstrap tokens' second halves, and without what looks like a key or a credential in Base64.
pub(super) fn hide(text: &str) -> String {
    hide_keys(&hide_tokens(text))
}

/// `abcdef.0123456789abcdef`
fn hide_tokens(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dot) = rest.find('.') {
        let (before, after) = (&rest[..dot], &rest[dot + 1..]);
        told.push_str(&rest[..=dot]);
        rest = after;
        if word(before.bytes().rev()) == 6 && word(after.bytes()) == 16 && !goes_on(&after[16..]) {
            told.push_str(HIDDEN);
            rest = &after[16..];
        }
    }
    told + rest
}

/// How many lowercase letters and digits there are before the word ends; none if it is no word of these alone.
fn word(mut bytes: impl Iterator<Item = u8> + Clone) -> usize {
    let of_token = |it: &u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    let length = bytes.clone().take_while(of_token).count();
    let next = bytes.nth(length);
    if next.is_some_and(|it| it.is_ascii_alphanumeric() || it == b'-') {
        0
    } else {
        length
    }
}

/// Whether it is the middle of a domain's name.
fn goes_on(rest: &str) -> bool {
    let mut bytes = rest.bytes();
    bytes.next() == Some(b'.') && bytes.next().is_some_and(|it| it.is_ascii_alphanumeric())
}

fn hide_keys(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let run = rest.bytes().take_while(|it| is_base64(*it)).count();
        let padding = rest[run..].bytes().take_while(|it| *it == b'=').count().min(2);
        let secret = is_secret(&rest.as_bytes()[..run], padding);
        let end = match run {
            0 => rest.chars().next().map_or(0, char::len_utf8),
            _ if secret => run + padding,
            _ => run,
        };
        told.push_str(if secret { HIDDEN } else { &rest[..end] });
        rest = &rest[end..];
    }
    told
}

/// With either of the two alphabets.
fn is_base64(it: u8) -> bool {
    it.is_ascii_alphanumeric() || b"+/-_".contains(&it)
}

/// Paths, names and sums in hexadecimal digits mix no cases; a key all but always does.
fn is_secret(run: &[u8], padding: usize) -> bool {
    let has = |kind: fn(&u8) -> bool| run.iter().any(kind);
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    (run.len() == KEY && padding == 1) || (run.len() >= SHORTEST && mixed)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::hide;

    const KEY: &str = "oK56DE9Ue9zK76rAc8pBl6opph+1v36lm7cXXsQKrQM=";

    #[test_case("abcdef.0123456789abcdef", "abcdef.[secret]"; "a token")]
    #[test_case("token \"abcdef.0123456789abcdef\" is invalid", "token \"abcdef.[secret]\" is invalid"; "a token in quotes")]
    #[test_case("--token=abcdef.0123456789abcdef.", "--token=abcdef.[secret]."; "a token before a full stop")]
    #[test_case("a.b abcdef.0123456789abcdef, ghijkl.0123456789abcdef", "a.b abcdef.[secret], ghijkl.[secret]"; "two tokens")]
    #[test_case("aws_secret=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret=[secret]"; "a secret key of AWS")]
    #[test_case("Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMyJ9abcd.x", "Bearer [secret].x"; "a part of a JWT")]
    #[test_case("ü abcdef.0123456789abcdef ü", "ü abcdef.[secret] ü"; "among other letters")]
    fn are_hidden(text: &str, told: &str) {
        assert_eq!(hide(text), told);
    }

    #[test_case(KEY; "a key")]
    #[test_case("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA="; "a key of one case")]
    fn a_wireguard_key_is_hidden(key: &str) {
        assert_eq!(
            hide(&format!("PrivateKey = {key}, line 2")),
            "PrivateKey = [secret], line 2"
        );
        assert_eq!(hide(&format!("PrivateKey={key}")), "PrivateKey=[secret]");
    }

    #[test_case("join: failed to reach `api.onprem.example:6443`: timed out after 30s")]
    #[test_case("failed to read /var/lib/kubelet/pki/kubelet-client-current.pem, line 2")]
    #[test_case("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")]
    #[test_case("the Node `i-0123456789abcdef0` of aws:///eu-central-1a/i-0123456789abcdef0 is NotReady")]
    #[test_case("vpn.onprem.examplecompany12.net did not answer"; "a name that has a token's form")]
    #[test_case("a = b == c... ====")]
    #[test_case("")]
    fn nothing_else_is(text: &str) {
        assert_eq!(hide(text), text);
    }
}
