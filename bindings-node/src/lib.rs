//! Binding.
