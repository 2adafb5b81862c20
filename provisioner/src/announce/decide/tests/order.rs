//! The events of a life in every order, once and doubled: the end is always the same.

use test_case::test_case;

use super::{config, event, now, worker};
use crate::announce::decide::{Decision, decide};
use crate::config::Config;
use crate::worker::{Announced, State, Wish, Worker};

/// What is left when these events have come, in this order, each written down as far as it is believed.
fn after(events: &[&Announced], config: &Config) -> Option<Worker> {
    let mut known = None;
    for event in events {
        loop {
            match decide(known.as_ref(), event, config, now()) {
                Decision::Ignore(_) | Decision::Dispute => break,
                Decision::Create(wish) => known = Some(worker(wish, None)),
                Decision::Bury => known.as_mut().unwrap().spec.wished = Wish::Gone,
                Decision::Record => {
                    known.as_mut().unwrap().status.as_mut().unwrap().announced = Some((*event).clone());
                    break;
                }
            }
        }
    }
    known
}

/// Calls `check` with every order of the items.
fn in_every_order<'a>(items: &mut Vec<&'a Announced>, at: usize, check: &mut impl FnMut(&[&'a Announced])) {
    if at == items.len() {
        check(items);
    }
    for next in at..items.len() {
        items.swap(at, next);
        in_every_order(items, at + 1, check);
        items.swap(at, next);
    }
}

#[test_case(&[State::Pending, State::Running]; "it runs")]
#[test_case(&[State::Pending, State::Running, State::Stopping, State::Stopped]; "it stopped")]
#[test_case(&[State::Pending, State::Running, State::Stopping, State::Stopped, State::Pending, State::Running];
    "it was started again")]
#[test_case(&[State::Pending, State::Running, State::ShuttingDown]; "it shuts down")]
#[test_case(&[State::Pending, State::Running, State::ShuttingDown, State::Terminated]; "it ended")]
#[test_case(&[State::Pending, State::Running, State::Stopping, State::Stopped, State::Pending, State::Running,
    State::Terminated]; "it ended after a second start")]
fn the_order_of_arrival_does_not_matter(life: &[State]) {
    let ages = (1..).step_by(20).take(life.len()).collect::<Vec<i64>>();
    let events: Vec<_> = life
        .iter()
        .zip(ages.iter().rev())
        .map(|(&state, &ago)| event(state, ago))
        .collect();
    let last = events.last().unwrap();
    let wish = if last.state == State::Terminated {
        Wish::Gone
    } else {
        Wish::Running
    };
    let config = config();
    let mut check = |order: &[&Announced]| {
        let end = after(order, &config).unwrap();
        assert_eq!(end.spec.wished, wish, "{order:?}");
        assert_eq!(end.status.unwrap().announced.as_ref(), Some(last), "{order:?}");
    };
    let mut once: Vec<_> = events.iter().collect();
    in_every_order(&mut once, 0, &mut check);
    if events.len() <= 4 {
        let mut doubled: Vec<_> = events.iter().chain(&events).collect();
        in_every_order(&mut doubled, 0, &mut check);
    }
}

#[test]
fn within_a_second_the_order_of_a_life_holds() {
    let states = [
        State::Pending,
        State::Running,
        State::Stopping,
        State::Stopped,
        State::ShuttingDown,
    ];
    let (events, config) = (states.map(|it| event(it, 1)), config());
    in_every_order(&mut events.iter().collect(), 0, &mut |order| {
        let end = after(order, &config).unwrap().status.unwrap().announced.unwrap();
        assert_eq!(end.state, State::ShuttingDown, "{order:?}");
    });
}

#[test]
fn a_life_that_is_told_again_later_raises_nothing() {
    let life = [State::Pending, State::Running, State::ShuttingDown, State::Terminated].map(|it| event(it, 7));
    let again = [State::Pending, State::Running, State::Stopping].map(|it| event(it, 0));
    let order: Vec<_> = life.iter().chain(&again).chain(&life).collect();
    assert_eq!(after(&order, &config()).unwrap().spec.wished, Wish::Gone);
}
