"""Hidden tests of the task bm25-eager."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

weighing = pytest.mark.interface("lexical.bm25.idf")
saturating = pytest.mark.interface("lexical.bm25.saturation")
indexing = pytest.mark.interface("lexical.bm25.build")
scoring = pytest.mark.interface("lexical.bm25.score")
ranking = pytest.mark.interface("lexical.bm25.top")

VARIANTS = ("lucene", "robertson", "atire", "bm25l", "bm25+")
each_variant = pytest.mark.parametrize("variant", VARIANTS)

# What is promised of the IDF, and as much again.
ACCURATE = 2e-9

# The rest is a few operations on numbers of one sign. The difference from the score of a term that does not occur may
# cancel some digits, but not more than two at the parameters used here.
CLOSE = 1e-8


def parameters(rng, variant):
    return {"variant": variant, "k1": rng.uniform(0.5, 2.0), "b": rng.uniform(0.3, 0.9), "delta": rng.uniform(0.3, 1.0)}


def weight(df, total, variant):
    """IDF of one term, as the paper has it."""
    if df == 0:
        return 0.0
    odds = (total - df + 0.5) / (df + 0.5)
    return {
        "lucene": math.log(1.0 + odds),
        "robertson": max(math.log(odds), 0.0),
        "atire": math.log(total / df),
        "bm25l": math.log((total + 1.0) / (df + 0.5)),
        "bm25+": math.log((total + 1.0) / df),
    }[variant]


def part(tf, relative, variant, k1, b, delta):
    """T of one term in one document."""
    norm = 1.0 - b + b * relative
    if variant == "bm25l":
        shifted = tf / norm + delta
        return (k1 + 1.0) * shifted / (k1 + shifted)
    share = tf / (tf + k1 * norm)
    return {"lucene": share, "robertson": share, "atire": (k1 + 1.0) * share, "bm25+": (k1 + 1.0) * share + delta}[
        variant
    ]


def collection(rng, documents=9, size=12):
    """Documents of different lengths. The first and the last term are in none, the second one in all but the empty one."""
    found = [rng.integers(2, size - 1, rng.integers(2, 7)).tolist() for _ in range(documents)]
    found = [rng.permutation([*document, 1, *document[:2]]).tolist() for document in found]
    found[rng.integers(documents)] = []
    return found


def dense(documents, size, variant, k1, b, delta):
    """S of all documents and terms, and S0 of all terms."""
    total, mean = len(documents), sum(map(len, documents)) / len(documents)
    scores, without = np.zeros((total, size)), np.zeros(size)
    for term in range(size):
        factor = weight(sum(term in document for document in documents), total, variant)
        without[term] = factor * part(0, 1.0, variant, k1, b, delta)
        for number, document in enumerate(documents):
            tf = document.count(term)
            scores[number, term] = (
                factor * part(tf, len(document) / mean, variant, k1, b, delta) if tf else without[term]
            )
    return scores, without


def fields(index):
    return [index.data, index.indices, index.indptr, index.nonoccurrence, index.documents]


def compressed(side, stored, without):
    """The index of a matrix all of whose elements that are not 0 are stored."""
    terms, owners = np.nonzero(stored.T)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(stored, axis=0))])
    return side.lexical.index.Index(stored[owners, terms], owners, indptr, without, len(stored))


# idf


@weighing
@each_variant
def test_the_weights_of_terms(candidate, rng, variant):
    total = rng.integers(50, 99).item()
    df = rng.permutation(np.concatenate([[0, 1, total, total - 1, total // 2], rng.integers(1, total, 7)])).reshape(
        3, 4
    )
    settings = candidate.lexical.settings.Settings(variant)
    expected = np.array([[weight(each, total, variant) for each in row] for row in df.tolist()])
    for given in (df.astype(np.uint8), df.astype(np.float32), df.tolist()):
        found = candidate.lexical.bm25.idf(given, total, settings)
        assert_equivalent(found, expected, rtol=ACCURATE, atol=1e-13, check_dtype=True)  # ln(1) may miss 0 by rounding
    assert np.shape(candidate.lexical.bm25.idf(3, total, settings)) == ()
    assert_equivalent(candidate.lexical.bm25.idf([0, 0], 0, settings), np.zeros(2), check_dtype=True)


@weighing
@each_variant
def test_small_weights_in_large_collections(candidate, rng, variant):
    """In nearly all documents and, where the IDF of Robertson is small, in nearly half of them.

    A logarithm of a quotient that was rounded is right for some numbers by chance, hence many.
    """
    settings = candidate.lexical.settings.Settings(variant)
    for total in rng.integers(5 * 10**8, 10**9, 40, endpoint=True).tolist():
        df = np.concatenate([total - np.arange(1, 9), total // 2 - np.arange(1, 9), rng.integers(1, total, 4)])
        excess = {
            "lucene": (total - df + 0.5) / (df + 0.5),
            "robertson": np.maximum((total - 2 * df) / (df + 0.5), 0.0),
            "atire": (total - df) / df,
            "bm25l": (total - df + 0.5) / (df + 0.5),
            "bm25+": (total + 1 - df) / df,
        }[variant]
        np.testing.assert_allclose(candidate.lexical.bm25.idf(df, total, settings), np.log1p(excess), rtol=ACCURATE)


@weighing
def test_document_frequencies_that_are_refused(candidate, rng):
    total = rng.integers(3, 9).item()
    for variant in VARIANTS:
        settings = candidate.lexical.settings.Settings(variant)
        for bad in (-1, total + 1, [1, total + 1], [[-2], [1]]):
            with pytest.raises(ValueError):  # noqa: PT011
                candidate.lexical.bm25.idf(bad, total, settings)
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.lexical.bm25.idf(1, 0, settings)
        assert candidate.lexical.bm25.idf([0, 1, total], total, settings).shape == (3,)


@weighing
def test_frequencies_are_not_modified(candidate, reference, rng):
    df = rng.integers(0, 30, 8).astype(np.float64)
    df[0] = 0.0
    for variant in VARIANTS:
        found = assert_unmodified(candidate.lexical.bm25.idf, df, 30, candidate.lexical.settings.Settings(variant))
        expected = reference.lexical.bm25.idf(df, 30, reference.lexical.settings.Settings(variant))
        assert_equivalent(found, expected, rtol=CLOSE, atol=1e-13)


# saturation


@saturating
@each_variant
def test_the_part_that_depends_on_the_document(candidate, rng, variant):
    for _ in range(3):
        given = parameters(rng, variant)
        settings = candidate.lexical.settings.Settings(**given)
        tf, relative = rng.integers(0, 6, (4, 1)), rng.uniform(0.2, 3.0, 5)
        expected = np.array([[part(count, each, **given) for each in relative] for count in tf[:, 0]])
        for counts in (tf, tf.astype(np.float32), tf.astype(np.uint8).tolist()):
            found = candidate.lexical.bm25.saturation(counts, relative, settings)
            assert_equivalent(found, expected, rtol=CLOSE, check_dtype=True)
    parts_of = rng.uniform(0.1, 0.9, 5)  # counts need not be whole
    found = candidate.lexical.bm25.saturation(parts_of, relative, settings)
    expected = np.array([part(count, each, **given) for count, each in zip(parts_of, relative, strict=True)])
    assert_equivalent(found, expected, rtol=CLOSE, check_dtype=True)
    single = candidate.lexical.bm25.saturation(2, 1.5, settings)
    assert np.shape(single) == ()
    np.testing.assert_allclose(single, part(2, 1.5, **given), rtol=CLOSE)
    lengths = np.array([0.1, 0.7], dtype=np.float32)
    found = candidate.lexical.bm25.saturation(1, lengths, settings)
    assert_equivalent(found, np.array([part(1, float(each), **given) for each in lengths]), rtol=CLOSE)
    assert found.dtype == np.float64


@saturating
@each_variant
def test_terms_that_do_not_occur(candidate, rng, variant):
    """Also where the formulas divide nothing by nothing."""
    delta = rng.uniform(0.2, 1.0)
    for k1, b, lower in ((0.0, 1.0, delta), (0.0, 0.5, delta), (1.2, 1.0, delta), (0.0, 1.0, 0.0), (1.2, 0.5, 0.0)):
        settings = candidate.lexical.settings.Settings(variant, k1, b, lower)
        found = candidate.lexical.bm25.saturation([0, 0, 3], [0.0, 2.0, 1.0], settings)
        bound = (k1 + 1.0) * lower / (k1 + lower) if lower else 0.0
        expected = {"bm25l": bound, "bm25+": lower}.get(variant, 0.0)
        np.testing.assert_allclose(found, [expected, expected, part(3, 1.0, variant, k1, b, lower)], rtol=CLOSE)


@saturating
def test_counts_and_lengths_are_not_modified(candidate, reference, rng):
    tf, relative = rng.integers(0, 3, (3, 4)), rng.uniform(0.0, 2.0, (3, 4))
    for variant in VARIANTS:
        settings = candidate.lexical.settings.Settings(variant)
        found = assert_unmodified(candidate.lexical.bm25.saturation, tf, relative, settings)
        expected = reference.lexical.bm25.saturation(tf, relative, reference.lexical.settings.Settings(variant))
        assert_equivalent(found, expected, rtol=CLOSE)


# build


@indexing
@each_variant
def test_the_index_holds_the_scores_of_all_pairs(candidate, rng, variant):
    documents, given = collection(rng), parameters(rng, variant)
    scores, without = dense(documents, 12, **given)
    pairs = [(term, number) for term in range(12) for number in range(9) if term in documents[number]]
    terms, owners = np.array(pairs).T
    expected = [
        scores[owners, terms] - without[terms],
        owners,
        np.searchsorted(terms, np.arange(13)),
        without,
        9,
    ]
    settings = candidate.lexical.settings.Settings(**given)
    for these in (documents, [np.array(document, dtype=np.int32) for document in documents]):
        index = candidate.lexical.bm25.build(these, 12, settings)
        assert_equivalent(fields(index), expected, rtol=CLOSE, atol=1e-13, check_dtype=True)


@indexing
@pytest.mark.parametrize("variant", ["lucene", "bm25l"])
def test_one_term_in_the_whole_collection(candidate, rng, variant):
    given, number = parameters(rng, variant), rng.integers(5).item()
    documents = [[2] if each == number else [] for each in range(5)]
    scores, without = dense(documents, 4, **given)
    index = candidate.lexical.bm25.build(documents, 4, candidate.lexical.settings.Settings(**given))
    expected = [[scores[number, 2] - without[2]], [number], [0, 0, 0, 1, 1], without, 5]
    for found, right in zip(fields(index), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=CLOSE)


@indexing
def test_scores_of_zero_are_stored(candidate, rng):
    """A term in most documents, or in all of them, has no weight in some variants."""
    term = rng.integers(1, 4).item()
    documents = [[term], [term, 0], [term, term], [0, term], [term]]
    for variant in ("robertson", "atire"):
        index = candidate.lexical.bm25.build(documents, 5, candidate.lexical.settings.Settings(variant))
        np.testing.assert_array_equal(index.indptr, [0, 2, *[2] * (term - 1), *[7] * (5 - term)])
        np.testing.assert_array_equal(index.indices, [1, 3, 0, 1, 2, 3, 4])
        np.testing.assert_allclose(index.data[2:], np.zeros(5), atol=1e-13)
        assert np.all(index.data[:2] > 0.1)


@indexing
@pytest.mark.parametrize("variant", ["atire", "bm25l"])
def test_collections_without_terms(candidate, rng, variant):
    settings = candidate.lexical.settings.Settings(variant)
    nothing = np.zeros(0), np.zeros(0, dtype=np.int64)
    for documents, size in (([], 3), ([[], []], 3), ([[]], 0), ([], 0), ([np.zeros(0)], 2)):
        index = candidate.lexical.bm25.build(documents, size, settings)
        expected = [*nothing, np.zeros(size + 1, dtype=np.int64), np.zeros(size), len(documents)]
        assert_equivalent(fields(index), expected, check_dtype=True)


@indexing
def test_terms_that_are_refused(candidate, rng):
    settings = candidate.lexical.settings.Settings()
    size = rng.integers(3, 9).item()
    for bad in (-1, size, size + 5):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.lexical.bm25.build([[0], [1, bad]], size, settings)
    index = candidate.lexical.bm25.build([[0], [1, size - 1]], size, settings)
    assert index.indptr[-1] == 3


@indexing
def test_documents_are_not_modified(candidate, reference, rng):
    lists = [document for document in collection(rng) if document]
    for documents in (lists, [np.array(document) for document in lists]):
        settings = [side.lexical.settings.Settings("bm25l") for side in (candidate, reference)]
        found = assert_unmodified(candidate.lexical.bm25.build, documents, 12, settings[0])
        expected = reference.lexical.bm25.build(documents, 12, settings[1])
        assert_equivalent(fields(found), fields(expected), rtol=CLOSE, atol=1e-13)


@indexing
def test_terms_of_small_types(candidate, reference, rng):
    """The product of a term and the number of documents does not fit in eight bits."""
    documents = collection(rng, documents=30)
    expected = fields(reference.lexical.bm25.build(documents, 12, reference.lexical.settings.Settings()))
    for kind in (np.uint8, np.int8):
        given = [np.array(document, dtype=kind) for document in documents]
        found = candidate.lexical.bm25.build(given, 12, candidate.lexical.settings.Settings())
        assert_equivalent(fields(found), expected, rtol=CLOSE, atol=1e-13, check_dtype=True)


# score


@scoring
@pytest.mark.parametrize("variant", ["atire", "bm25l", "bm25+"])
def test_scores_are_sums_over_the_query(candidate, rng, variant):
    """Repeated and unknown terms, terms in no document, no terms."""
    documents = collection(rng)
    scores, without = dense(documents, 12, **parameters(rng, variant))
    index = compressed(candidate, scores - without, without)
    for query in (rng.integers(0, 12, 5), np.array([4, 4, 1, 4]), np.array([0, 7, 11]), np.zeros(0, dtype=int)):
        expected = scores[:, query].sum(axis=1)
        unknown = [12, -1, 99, -12]
        for given in (query, rng.permutation([*query.tolist(), *unknown]).tolist()):
            found = candidate.lexical.bm25.score(index, given)
            assert_equivalent(found, expected, rtol=CLOSE, atol=1e-13, check_dtype=True)
    index = compressed(candidate, np.zeros((0, 12)), np.zeros(12))
    assert_equivalent(candidate.lexical.bm25.score(index, [2, 5, 2]), np.zeros(0), check_dtype=True)


@scoring
def test_the_index_is_not_modified(candidate, rng):
    documents = collection(rng)
    scores, without = dense(documents, 12, **parameters(rng, "bm25+"))
    stored = np.where(scores == without, 0.0, scores - without)
    index = compressed(candidate, stored, without)
    before = [np.array(each) for each in fields(index)]
    query = np.array([1, 5, 5, 1])
    first = assert_unmodified(candidate.lexical.bm25.score, index, query)
    for found in (first, assert_unmodified(candidate.lexical.bm25.score, index, query.tolist())):
        assert_equivalent(found, scores[:, query].sum(axis=1), rtol=CLOSE)
    for now, then in zip(fields(index), before, strict=True):
        np.testing.assert_array_equal(now, then)


@scoring
def test_the_driver_searches_as_that_of_the_authors(candidate, reference, rng):
    words = [f"w{number}" for number in range(15)]
    texts = [" ".join(rng.choice(words, rng.integers(1, 12))) for _ in range(8)]
    texts += ["", texts[0].upper()]
    query = " ".join([*rng.choice(words, 3), "unknown", *texts[0].split()[:2]])
    for variant in ("lucene", "bm25l", "bm25+"):
        found = []
        for side in (candidate, reference):
            settings = side.lexical.settings.Settings(variant)
            found.append(side.lexical.search.Collection(texts, settings).search(query, 10))
        assert_equivalent(dict(found[0]), dict(found[1]), rtol=CLOSE)


# top


@ranking
def test_the_best_documents_in_order(candidate, rng):
    scores = rng.choice([-1.5, 0.0, 0.25, 2.0, 3.5], 60)
    close = 1.0 + 1e-12 * rng.permutation(60)
    for these in (scores, close):
        order = np.array(sorted(range(60), key=lambda number: (-these[number], number)))
        for k in (0, 1, 7, 20, 60, 99):
            found = candidate.lexical.bm25.top(these, k)
            assert_equivalent(found, (order[:k], these[order[:k]]), rtol=0.0, atol=0.0, check_dtype=True)


@ranking
def test_the_best_among_some_documents(candidate, rng):
    scores = rng.choice([0.0, -0.5, -2.0], 40)
    allowed = rng.uniform(size=40) < 0.5
    allowed[[3, 8]] = True, False
    order = [each for each in np.argsort(-scores, kind="stable").tolist() if allowed[each]]
    for k in (2, 9, 40):
        for mask in (allowed, allowed.tolist()):
            found, values = candidate.lexical.bm25.top(scores, k, mask)
            np.testing.assert_array_equal(found, order[:k])
            np.testing.assert_array_equal(values, scores[order[:k]])
    found = candidate.lexical.bm25.top(scores, 5, np.zeros(40, dtype=bool))
    assert_equivalent(found, (np.zeros(0, dtype=np.int64), np.zeros(0)), check_dtype=True)


@ranking
def test_types_of_scores_and_numbers_that_are_refused(candidate, rng):
    run = candidate.lexical.bm25.top
    order = rng.permutation(6)
    for given in ((10 * order).astype(np.uint8), (10 * order).tolist(), (10 * order).astype(np.float32)):
        best = np.argsort(-order)[:4]
        assert_equivalent(run(given, 4), (best, 10.0 * order[best]), check_dtype=True)
    for mask in (None, []):
        assert_equivalent(run([], 3, mask), (np.zeros(0, dtype=np.int64), np.zeros(0)), check_dtype=True)
    for k in (-1, -7):
        for given in ([1.0, 2.0], []):
            with pytest.raises(ValueError):  # noqa: PT011
                run(given, k)


@ranking
def test_scores_and_masks_are_not_modified(candidate, reference, rng):
    scores, allowed = rng.normal(size=20), rng.uniform(size=20) < 0.6
    allowed[0] = False
    found = assert_unmodified(candidate.lexical.bm25.top, scores, 9, allowed)
    assert_equivalent(found, reference.lexical.bm25.top(scores, 9, allowed), rtol=0.0, atol=0.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
