//! What becomes of a claim, case by case.

mod binding;
mod bound;
mod case;
mod material;
