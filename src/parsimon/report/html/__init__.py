"""The report as one HTML file that opens offline, with a script of its own and no other files.

`page.py` fills the templates, looks at each drawing before it is let in, and packs the numbers that
the script needs. The page's own files lie here too: `page.html.jinja` and `blocks.html.jinja`,
`style.css` and `dark.css`, and the parts of the script, of which `explorer.js` is the one to read
first.
"""

from parsimon.report.html.page import to_html

__all__ = ["to_html"]
