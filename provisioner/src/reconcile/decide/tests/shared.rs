//! What many copies of the world have in common until one of them changes it.

use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// Cheap to copy; the first change to a copy makes it its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared<T>(Rc<T>);

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Rc::new(value))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Rc::make_mut(&mut self.0)
    }
}
