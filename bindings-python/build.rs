//! Tells the crate what PyO3 is built for: `Py_GIL_DISABLED` is set for free-threaded Python.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
