//! Links the program for fixed addresses: moving its sixteen megabytes at every start costs more than most commands do.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
