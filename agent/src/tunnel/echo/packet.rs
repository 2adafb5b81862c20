//! The packets of an echo, as a raw socket takes and gives them.

use std::net::IpAddr;

const HEADER: usize = 8;
const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;

/// Types of `icmp(7)` and RFC 4443: the request, and what answers it.
const V4: (u8, u8) = (8, 0);
const V6: (u8, u8) = (128, 129);

/// A request in a packet of `size` bytes in all. The sequence number is that size, so that an answer tells it.
pub(super) fn echo_request(target: IpAddr, identity: u16, size: u16) -> Vec<u8> {
    let (kind, below) = match target {
        IpAddr::V4(_) => (V4.0, V4_HEADER),
        IpAddr::V6(_) => (V6.0, V6_HEADER),
    };
    let mut packet = vec![0; usize::from(size).saturating_sub(below).max(HEADER)];
    packet[0] = kind;
    packet[4..6].copy_from_slice(&identity.to_be_bytes());
    packet[6..8].copy_from_slice(&size.to_be_bytes());
    // For version 6 the kernel does it.
    if target.is_ipv4() {
        let sum = checksum(&packet);
        packet[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

/// The size that an answer to our request tells; `None` for whatever else is heard.
pub(super) fn echo_reply(target: IpAddr, identity: u16, heard: &[u8]) -> Option<u16> {
    let (kind, message) = match target {
        // For version 4, and for it alone, the socket gives the IP header too.
        IpAddr::V4(_) => (V4.1, heard.get(4 * usize::from(heard.first()? & 15)..)?),
        IpAddr::V6(_) => (V6.1, heard),
    };
    let word = |at: usize| Some(u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]));
    (*message.first()? == kind && word(4)? == identity).then(|| word(6))?
}

/// The checksum of RFC 1071.
fn checksum(packet: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in packet.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use test_case::test_case;

    use super::{checksum, echo_reply, echo_request};

    const TARGET: &str = "192.168.10.1";
    const TARGET_V6: &str = "fd00::1";

    fn target(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test_case(TARGET, 1400; "version 4")]
    #[test_case(TARGET_V6, 1380; "version 6")]
    fn has_the_size_that_it_was_told(address: &str, length: usize) {
        assert_eq!(echo_request(target(address), 7, 1420).len(), length);
    }

    #[test]
    fn sums_to_nothing() {
        assert_eq!(checksum(&echo_request(target(TARGET), 0xabcd, 777)), 0);
    }

    #[test]
    fn hears_its_own_answers_and_no_others() {
        let mut answer = [vec![0x45; 20], echo_request(target(TARGET), 7, 1420)].concat();
        assert_eq!(echo_reply(target(TARGET), 7, &answer), None, "the request itself");
        answer[20] = 0;
        assert_eq!(echo_reply(target(TARGET), 7, &answer), Some(1420));
        assert_eq!(echo_reply(target(TARGET), 8, &answer), None, "somebody else's");
        let mut answer = echo_request(target(TARGET_V6), 7, 1420);
        answer[0] = 129;
        assert_eq!(echo_reply(target(TARGET_V6), 7, &answer), Some(1420));
    }

    #[test_case(&[]; "nothing")]
    #[test_case(&[0x45]; "a byte")]
    #[test_case(&[0x4f; 20]; "a header without its options")]
    #[test_case(&[0x45, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]; "a message cut short")]
    fn hears_nothing_in_what_is_no_answer(heard: &[u8]) {
        assert_eq!(echo_reply(target(TARGET), 0, heard), None);
    }
}
