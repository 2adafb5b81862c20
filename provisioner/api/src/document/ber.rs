//! Objects of ASN.1 in the Basic Encoding Rules: the library takes them apart, and here is refused what it lets pass.
//!
//! A length may be indefinite, and the object then ends with two zeros
//! ([X.690](https://www.itu.int/rec/T-REC-X.690), 8.1.3.6). DER, which has definite lengths only, is BER as well.

use asn1_rs::{Any, FromBer as _, Length};

use super::Malformed;

pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const NULL: u8 = 0x05;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const SEGMENTED_OCTET_STRING: u8 = 0x24;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
/// Tag 0 whose meaning its place gives: an explicit one, or an implicit one of what is constructed.
pub(super) const CONTEXT_0: u8 = 0xa0;

const END_OF_CONTENTS: [u8; 2] = [0, 0];

/// One object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'a> {
    /// Class, form and tag in one byte.
    identifier: u8,
    /// What is in it.
    pub(super) content: &'a [u8],
    /// The whole of it as it was found.
    pub(super) raw: &'a [u8],
    is_definite: bool,
}

/// Objects that follow one another to the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Objects<'a>(&'a [u8]);

impl<'a> Objects<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The next object, whatever it is.
    pub(super) fn any(&mut self) -> Result<Object<'a>, Malformed> {
        let (rest, any) = Any::from_ber(self.0).map_err(|_| Malformed("an object is cut off, or nested too deep"))?;
        let raw = &self.0[..self.0.len() - rest.len()];
        let is_definite = matches!(any.header.length(), Length::Definite(_));
        // The library takes any tag 0 of no length for the end.
        if !is_definite && !raw.ends_with(&END_OF_CONTENTS) {
            return Err(Malformed("an object does not end as it should"));
        }
        // The tags in use are all of one byte.
        let identifier = *raw.first().ok_or(Malformed("an object is missing"))?;
        self.0 = rest;
        Ok(Object {
            identifier,
            content: any.data,
            raw,
            is_definite,
        })
    }

    /// The next object, which must be of this kind.
    pub(super) fn next(&mut self, identifier: u8) -> Result<Object<'a>, Malformed> {
        let object = self.any()?;
        if object.identifier == identifier {
            Ok(object)
        } else {
            Err(Malformed("an object is of another kind than its place asks for"))
        }
    }

    /// The next object, if it is of this kind.
    pub(super) fn next_if(&mut self, identifier: u8) -> Result<Option<Object<'a>>, Malformed> {
        if self.0.first() == Some(&identifier) {
            self.any().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Nothing may be left.
    pub(super) fn end(self) -> Result<(), Malformed> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(Malformed("something follows where the end should be"))
        }
    }
}

impl<'a> Object<'a> {
    pub(super) fn is(&self, identifier: u8) -> bool {
        self.identifier == identifier
    }

    /// What is in it, as objects.
    pub(super) fn inside(&self) -> Objects<'a> {
        Objects(self.content)
    }

    /// The one object in it, which must be of this kind.
    pub(super) fn only(&self, identifier: u8) -> Result<Object<'a>, Malformed> {
        let mut inside = self.inside();
        let object = inside.next(identifier)?;
        inside.end()?;
        Ok(object)
    }

    /// The same, if its length is given.
    pub(super) fn definite(self) -> Result<Self, Malformed> {
        if self.is_definite {
            Ok(self)
        } else {
            Err(Malformed("an object has no length where DER is asked for"))
        }
    }
}
