//! Decisions, case by case and under crashes, conflicts and old views.

mod cases;
mod simulation;
mod world;
