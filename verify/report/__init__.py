"""Pages: records come in, the HTML page, the PDF and the site go out; evidence alone is read."""
