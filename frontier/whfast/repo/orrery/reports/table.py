"""Tables of text."""


def table(head, rows) -> str:
    """Columns of equal width."""
    lines = [[str(cell) for cell in line] for line in [head, *rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
