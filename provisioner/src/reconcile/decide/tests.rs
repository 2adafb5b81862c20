//! Decisions, case by case, and under crashes, conflicts and old views.

mod fixture;
mod journeys;
mod keys;
mod nodes;
mod releases;
mod scene;
mod simulation;
mod tokens;
mod world;
