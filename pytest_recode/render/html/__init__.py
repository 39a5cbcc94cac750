"""The HTML report of runs: values for its pages, the templates that show them, and its figures.

Used by `pytest-recode html` and `pytest-recode plot`. Every text of a record is hostile: only `page.render` makes HTML, by templates that
escape; no function here builds markup of texts.
"""
