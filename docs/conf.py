"""How the documentation is built; nothing here needs the network."""

import re
from importlib import import_module
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from parsimon import __version__

project = "Parsimon"
author = "The Parsimon developers"
copyright = "The Parsimon developers"
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# The class template lists every method with its text; numpydoc need not list them again.
numpydoc_show_class_members = False
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "Parsimon"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sourcelink = False

PACKAGES = (
    "statistician",
    "report.html",
    "report.sections",
    "statistician.families",
    "pareto",
    "kernels",
    "inference",
    "inference.sparse_bayes",
    "gp",
    "rvm",
    "svm",
    "ensembles",
    "features",
    "features.series",
    "phylo",
    "report.figures",
    "roc",
    "evaluation",
    "datasets",
)


def check_reference(app, exception):
    """Fail the build if a public name has no page of its own."""
    if exception is not None:
        return
    pages = Path(app.srcdir) / "reference" / "generated"
    missing = [
        f"parsimon.{package}.{name}"
        for package in PACKAGES
        for name in import_module(f"parsimon.{package}").__all__
        if not (pages / f"parsimon.{package}.{name}.rst").exists()
    ]
    if missing:
        raise SystemExit(f"Public names without a page in docs/reference: {', '.join(missing)}")


def escape_bars(*event):
    """Keep |i - 11| an absolute value: reStructuredText takes it for a substitution."""
    lines = event[-1]
    for number, line in enumerate(lines):
        if "`" not in line and not line.lstrip().startswith((">>>", "...")):
            lines[number] = re.sub(r"(?<!\\)\|(\S[^|]*)\|", r"\|\1\|", line)


FIELD = re.compile(
    r"^(?P<names>\w+(?:, \w+)*)(?: (?P<shape>\([^:]*\)))?: (?P<text>.+)", flags=re.MULTILINE
)


def list_fields(*event):
    """Set a paragraph of fields, "name (shape): text", as numpydoc's attributes."""
    kind, lines = event[1], event[-1]
    if kind != "class":
        return
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    fields = [text for text in paragraphs if _is_fields(text)]
    if not fields:
        return
    others = [text for text in paragraphs if not _is_fields(text)]
    found = FIELD.sub(_attribute, "\n".join(fields))
    lines[:] = "\n\n".join([*others, f"Attributes\n----------\n{found}", ""]).split("\n")


def _is_fields(paragraph):
    lines = paragraph.split("\n")
    return bool(FIELD.fullmatch(lines[0])) and all(
        line.startswith("    ") or FIELD.fullmatch(line) for line in lines
    )


def _attribute(field):
    shape = f" : {field['shape']}" if field["shape"] else ""
    return f"{field['names']}{shape}\n    {field['text']}"


def plain_requests(*event):
    """Say in our words what scikit-learn's routing methods do; their own text links to its site."""
    kind, name, lines = event[1], event[2], event[-1]
    method = name.rpartition(".")[2]
    if kind == "method" and re.fullmatch(r"set_\w+_request|get_metadata_routing", method):
        lines[:] = ["Route metadata such as sample weights; see scikit-learn's user guide."]
    if kind == "method" and method == "set_output":
        lines[:] = ["Return data frames instead of arrays; see scikit-learn's user guide."]


def near_pages(*event):
    """List in the margin the pages near this one: all pages on all pages take minutes to write."""
    context = event[3]
    every = context.get("toctree")
    if every is not None:
        context["toctree"] = lambda **options: every(**{**options, "collapse": True})


def write_formula(writer, node):
    """Write a formula as MathML, which browsers draw themselves; a script would be fetched."""
    writer.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def setup(app):
    """Register what is defined above."""
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("build-finished", check_reference)
    # Before the theme asks for the list.
    app.connect("html-page-context", near_pages, priority=400)
    app.connect("autodoc-process-docstring", list_fields, priority=50)
    app.connect("autodoc-process-docstring", escape_bars, priority=100)
    app.connect("autodoc-process-docstring", plain_requests, priority=900)
