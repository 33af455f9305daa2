//! Kubernetes objects that Slipway reads and writes. No I/O.
//!
//! Foreign kinds are slim: they have the fields Slipway uses, and the tests apply every object to a real
//! API server with the real definitions and strict field validation.
