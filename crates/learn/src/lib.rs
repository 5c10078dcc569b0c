//! Observations to edges, evidence and proposals: pure, no I/O.
