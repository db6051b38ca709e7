//! `amplihack-hooks`: what hosts start at each event. It reads one JSON document and answers it.
#![no_main]

use amplihack_utils::env::Env;

amplihack_utils::bare_main!(serve);

fn serve() -> u8 {
    amplihack_hooks::guard::serve(std::env::args_os().skip(1), &Env::from_process())
}
