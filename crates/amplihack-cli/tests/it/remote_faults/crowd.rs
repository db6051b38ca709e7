//! Many clients at once on one state file.

use std::sync::atomic::{AtomicBool, Ordering};

use amplihack_remote::SessionStatus;
use amplihack_remote::state::RemoteState;
use amplihack_testkit::long;

use super::scene::{Kind, Scene, roomy};

/// No machine has more than it holds, and no session more than one slot, at this instant.
fn assert_sound(state: &RemoteState) {
    assert_eq!(state.find_disagreements(), [""; 0], "{state:#?}");
}

#[test]
fn twenty_clients_lose_no_session_and_no_machine_has_too_many() {
    let Some(scene) = Scene::new(Kind::Local, roomy()) else { return };
    let (clients, rounds) = if long() { (20, 50) } else { (20, 2) };
    // The file is there before anybody looks at it.
    scene.run(&["start", "--host", "local", "quick"]).assert_code(0);
    let over = AtomicBool::new(false);
    let (mut started, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let observer = scope.spawn(|| {
            let (mut looks, mut sessions) = (0_u32, 0);
            while !over.load(Ordering::Relaxed) {
                let state = scene.state();
                assert_sound(&state);
                assert!(state.sessions.len() >= sessions, "a session was lost");
                (sessions, looks) = (state.sessions.len(), looks + 1);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            looks
        });
        let crowd: Vec<_> = (0..clients)
            .map(|client| {
                let scene = &scene;
                scope.spawn(move || {
                    let mut counts = (0, 0);
                    for round in 0..rounds {
                        let output = scene.starting(&[&format!("hold {client} {round}")]).wait();
                        let row = output.json()["sessions"][0].clone();
                        let Some(id) = row["session"]["session_id"].as_str() else {
                            // All four slots are taken.
                            assert_eq!(row["error"]["kind"], "provisioning", "{output}");
                            counts.1 += 1;
                            continue;
                        };
                        counts.0 += 1;
                        scene.run(&["kill", id]).assert_code(0);
                    }
                    counts
                })
            })
            .collect();
        for client in crowd {
            let counts: (u32, u32) = client.join().unwrap();
            (started, refused) = (started + counts.0, refused + counts.1);
        }
        over.store(true, Ordering::Relaxed);
        assert!(observer.join().unwrap() > 10);
    });
    let state = scene.state();
    assert_sound(&state);
    assert_eq!(started + refused, clients * rounds);
    assert!(started > 0, "nobody got a slot");
    assert_eq!(state.sessions.len(), usize::try_from(started + refused + 1).unwrap());
    let killed =
        state.sessions.values().filter(|record| record.session.status == SessionStatus::Killed).count();
    assert_eq!(killed, usize::try_from(started).unwrap());
    assert!(scene.ran().values().all(|times| *times == 1), "{:?}", scene.ran());
    scene.assert_no_secret_left();
}
