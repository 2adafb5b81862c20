//! What becomes of a claim, case by case.

mod binding;
mod bound;
pub(crate) mod case;
mod material;
