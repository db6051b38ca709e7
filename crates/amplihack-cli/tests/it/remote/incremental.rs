//! A machine is sent what it misses: a second start after a commit sends the commit, not the history once more.

use crate::remote::world::{Kind, World};

/// Bytes that do not get shorter.
fn noise(length: usize) -> Vec<u8> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    (0..length)
        .map(|_| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed.to_le_bytes()[3]
        })
        .collect()
}

/// The lengths of what is stored on the machine of `id`, shortest first.
fn stored(world: &World, id: &str) -> Vec<u64> {
    let objects = world.far(id).join("../../objects");
    let mut lengths: Vec<u64> =
        std::fs::read_dir(objects).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
    lengths.sort_unstable();
    lengths
}

fn commit(world: &World, name: &str, bytes: &[u8]) {
    world.sandbox.write(format!("work/{name}"), bytes);
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", name]);
}

#[test]
fn a_second_start_sends_only_what_is_new() {
    World::with(Kind::Local, |world| {
        commit(world, "large", &noise(300_000));
        let first = world.start_one("cp large \"$HOME/first\"");
        world.wait(std::slice::from_ref(&first));
        let whole = stored(world, &first);
        assert!(whole.iter().any(|length| *length > 300_000), "{whole:?}");

        commit(world, "small", b"one line\n");
        let second = world.start_one("cat large small >\"$HOME/second\"");
        world.wait(std::slice::from_ref(&second));
        let both = stored(world, &second);
        assert_eq!(both.len(), whole.len() + 1, "{both:?}");
        assert!(both[0] < 2_000, "{both:?}");
        let arrived = std::fs::read(world.home(&second).join("second")).unwrap();
        assert_eq!(arrived, [noise(300_000), b"one line\n".to_vec()].concat());

        // What is not here any more is sent anew, whole.
        std::fs::remove_dir_all(world.far(&second).join("../../objects")).unwrap();
        let third = world.start_one("cp small \"$HOME/third\"");
        let ended = world.wait(std::slice::from_ref(&third));
        assert_eq!(ended[0]["status"], "completed", "{ended:?}");
    });
}
