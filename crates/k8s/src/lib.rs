//! Cluster index, rendering of proposals as objects, and their lifecycle: pure, no I/O.
