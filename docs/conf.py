"""Sphinx builds the documentation site from the Markdown pages: `tox -e docs`."""

project = "pytest-recode"
author = "the pytest-recode authors"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "pytest-recode"
myst_heading_anchors = 4
exclude_patterns = ["_build", "changes"]
nitpicky = True
