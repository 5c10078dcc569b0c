//! Tables as kubectl prints them: upper-case titles, columns three blanks apart, no lines.

use super::escaped;

/// A table in the making.
#[derive(Debug)]
pub(crate) struct Table {
    titles: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

// === impl Table ===

impl Table {
    /// A table with these columns.
    pub(crate) fn new(titles: &[&'static str]) -> Self {
        Self { titles: titles.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; an empty cell shows as `<none>`.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        let cell = |cell: String| {
            if cell.is_empty() { "<none>".to_owned() } else { escaped(&cell).replace('\n', " ") }
        };
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// Whether there is no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text; without titles for scripts that ask for none.
    pub(crate) fn text(&self, titles: bool) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let title = if titles { self.titles[column].len() } else { 0 };
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(title)
        };
        let widths: Vec<usize> = (0..self.titles.len()).map(width).collect();
        let mut text = String::new();
        if titles {
            push_line(&mut text, self.titles.iter().copied(), &widths);
        }
        for row in &self.rows {
            push_line(&mut text, row.iter().map(String::as_str), &widths);
        }
        text
    }
}

fn push_line<'a>(text: &mut String, cells: impl Iterator<Item = &'a str>, widths: &[usize]) {
    let cells: Vec<String> =
        cells.zip(widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
    text.push_str(cells.join("   ").trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests;
