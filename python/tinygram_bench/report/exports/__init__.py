"""Results for other programs: summaries as CSV, tables as Markdown, histograms as an HDR log."""
