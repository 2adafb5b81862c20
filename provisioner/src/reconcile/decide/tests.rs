//! Decisions, case by case, and under crashes, conflicts and old views.

mod doubles;
mod doubts;
mod fixture;
mod journeys;
mod keys;
mod looks;
mod nodes;
mod orphans;
mod releases;
mod scene;
mod serving;
mod shared;
mod simulation;
mod tokens;
mod world;
