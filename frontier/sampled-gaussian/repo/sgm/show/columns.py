"""Columns of text."""


def columns(rows):
    """Lines with aligned columns."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
