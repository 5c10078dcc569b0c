//! `cargo run -p xtask -- codegen` writes every generated file, `-- bench` measures whole programs, and `-- bench engine` the
//! policy engine.

use anyhow::{Context, bail};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["codegen"] => write(),
        ["bench"] => xtask::bench::run(),
        ["bench", "engine"] => xtask::bench::engine::run(),
        _ => bail!("usage: cargo run -p xtask -- codegen|bench|bench engine"),
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
