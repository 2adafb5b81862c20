//! One question of DNS, and whether something is its answer (RFC 1035): only that a server answers by either way matters.

const HEADER: usize = 12;
const ANSWERS: u8 = 0x80;
const NO_ERROR: u8 = 0;
const NO_SUCH_NAME: u8 = 3;

/// The question for the address of the API server's Service.
pub(super) fn question(domain: &str, id: u16) -> Vec<u8> {
    let mut packet = id.to_be_bytes().to_vec();
    // Recursion is desired, and there is one question.
    packet.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    let name = ["kubernetes", "default", "svc"].into_iter().chain(domain.split('.'));
    for label in name.filter(|it| !it.is_empty()) {
        let label = &label.as_bytes()[..label.len().min(63)];
        packet.push(u8::try_from(label.len()).unwrap_or(63));
        packet.extend(label);
    }
    // The name's end, type A, class IN.
    packet.extend([0, 0, 1, 0, 1]);
    packet
}

/// A server that does not know the name answers as well; one that says that it cannot answer does not.
pub(super) fn answers(packet: &[u8], id: u16) -> bool {
    let code = |it: &u8| matches!(it & 0x0f, NO_ERROR | NO_SUCH_NAME);
    packet.len() >= HEADER
        && packet.starts_with(&id.to_be_bytes())
        && packet[2] & ANSWERS != 0
        && packet.get(3).is_some_and(code)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{answers, question};

    #[test]
    fn asks_for_the_api_servers_service() {
        let expected = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\
            \x0akubernetes\x07default\x03svc\x07cluster\x05local\x00\x00\x01\x00\x01";
        assert_eq!(question("cluster.local", 0x1234), expected);
        assert_eq!(question("cluster.local.", 0x1234), expected);
    }

    #[test_case(b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0", true; "an answer")]
    #[test_case(b"\x12\x34\x81\x83\0\x01\0\0\0\0\0\0", true; "no such name")]
    #[test_case(b"\x12\x34\x81\x82\0\x01\0\0\0\0\0\0", false; "a server that failed")]
    #[test_case(b"\x12\x34\x81\x85\0\x01\0\0\0\0\0\0", false; "a server that refuses")]
    #[test_case(b"\x12\x35\x81\x80\0\x01\0\x01\0\0\0\0", false; "the answer to another question")]
    #[test_case(b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0", false; "the question itself")]
    #[test_case(b"\x12\x34\x81", false; "less than a header")]
    #[test_case(b"", false; "nothing")]
    fn knows_an_answer(packet: &[u8], expected: bool) {
        assert_eq!(answers(packet, 0x1234), expected);
    }
}
