//! `cargo run -p xtask -- codegen` writes every generated file, `-- bench` measures whole programs.

use anyhow::{Context, bail};

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("codegen") => write(),
        Some("bench") => xtask::bench::run(),
        _ => bail!("usage: cargo run -p xtask -- codegen|bench"),
    }
}

fn write() -> anyhow::Result<()> {
    for file in xtask::generate()? {
        let path = xtask::root().join(&file.path);
        let folder = path.parent().context("a generated file has a folder")?;
        std::fs::create_dir_all(folder)?;
        std::fs::write(&path, file.content)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
