//! Tells the linker that Node's own symbols come with Node.

fn main() {
    napi_build::setup();
}
