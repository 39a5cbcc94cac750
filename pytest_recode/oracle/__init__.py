"""The oracle: hidden tests in one sandbox, the candidate in another, the judge between them."""
