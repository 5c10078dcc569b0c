//! The weaknesses of the reference (`enforcer.md` 10), as far as the controller could have them: none of these tests
//! holds for it.
mod mesh;
mod monitor;
mod names;
mod promotion;
mod queue;
