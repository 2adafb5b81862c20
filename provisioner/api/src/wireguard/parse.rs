//! Reading a wg-quick document, strictly and with line numbers.

use super::fault::{Error, Fault};
use super::keys::printable;
use super::{Document, bounds, interface, peer};

/// Where a line stands.
enum Section {
    None,
    Interface,
    Peer,
}

/// A document that is being read.
struct Draft {
    section: Section,
    interface: interface::Draft,
    peers: Vec<peer::Draft>,
}

impl Document {
    /// Reads a document.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > bounds::LENGTH {
            let fault = Fault::TooLong;
            return Err(Error { line: 1, fault });
        }
        let mut draft = Draft {
            section: Section::None,
            interface: interface::Draft::default(),
            peers: Vec::new(),
        };
        let mut last = 1;
        // An editor's mark of the encoding is no text.
        for (number, line) in (1..).zip(text.strip_prefix('\u{feff}').unwrap_or(text).lines()) {
            last = number;
            draft
                .read(number, line)
                .map_err(|fault| Error { line: number, fault })?;
        }
        draft.finish(last)
    }
}

impl Draft {
    fn read(&mut self, number: usize, line: &str) -> Result<(), Fault> {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            return Ok(());
        }
        if line.starts_with('[') {
            return self.begin(number, line);
        }
        let (key, value) = line.split_once('=').ok_or(Fault::NoAssignment)?;
        let (key, value) = (key.trim(), value.trim());
        match (&self.section, self.peers.last_mut()) {
            (Section::Interface, _) => self.interface.set(key, value),
            (Section::Peer, Some(peer)) => peer.set(key, value),
            _ => Err(Fault::NoSection(printable(key))),
        }
    }

    fn begin(&mut self, number: usize, line: &str) -> Result<(), Fault> {
        self.section = match line.to_ascii_lowercase().as_str() {
            "[interface]" if self.interface.seen => return Err(Fault::Repeated("[Interface]")),
            "[interface]" => {
                self.interface.seen = true;
                Section::Interface
            }
            "[peer]" if self.peers.len() == bounds::PEERS => {
                let limit = bounds::PEERS;
                return Err(Fault::TooMany { what: "[Peer]", limit });
            }
            "[peer]" => {
                self.peers.push(peer::Draft::begin(number));
                Section::Peer
            }
            _ => return Err(Fault::UnknownSection),
        };
        Ok(())
    }

    /// The whole document; what is missing is missing at the last line.
    fn finish(self, last: usize) -> Result<Document, Error> {
        let mut peers = Vec::with_capacity(self.peers.len());
        for peer in self.peers {
            let peer = peer.finish(&peers)?;
            peers.push(peer);
        }
        let missing = |what| Error {
            line: last,
            fault: Fault::Missing(what),
        };
        let interface = self.interface.finish().map_err(missing)?;
        if peers.is_empty() {
            return Err(missing("[Peer]"));
        }
        Ok(Document { interface, peers })
    }
}
