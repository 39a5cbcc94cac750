"""Hidden tests of the task token-automata."""

import functools
import itertools

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

composing = pytest.mark.interface("constrain.tokens.token_edges")
measuring = pytest.mark.interface("constrain.tokens.tokens_to_end")
masking = pytest.mark.interface("constrain.tokens.allowed")
counting = pytest.mark.interface("constrain.tokens.tokenizations")

NONE = -1


def language(rng, size=6, alphabet="abc"):
    """Arguments of a random automaton in which some states are traps and some read any character."""
    edges = tuple({c: int(rng.integers(size)) for c in alphabet if rng.uniform() < 0.6} for _ in range(size))
    other = tuple(int(rng.integers(size)) if rng.uniform() < 0.2 else NONE for _ in range(size))
    accepting = frozenset(rng.permutation(size)[:2].tolist())
    return edges, other, int(rng.integers(size)), accepting


def words(rng, count=14, alphabet="abcd"):
    """Arguments of a random vocabulary: eos somewhere, an empty text, a text that occurs twice, many of one character."""
    texts = ["".join(rng.choice(list(alphabet), rng.integers(1, 4))) for _ in range(count - 6)]
    texts += [*alphabet, "", texts[0], "ab"]
    texts = [texts[place] for place in rng.permutation(len(texts))]
    return tuple(texts), int(rng.integers(len(texts)))


def walk(given, state, text):
    """The state after a text."""
    edges, other, _, _ = given
    for character in text:
        if state != NONE:
            state = edges[state].get(character, other[state])
    return state


def composed(given, tokens, eos):
    """The definition of the composition."""
    size = len(given[0])
    edges = np.full((size + 1, len(tokens)), NONE, dtype=np.int64)
    for state, token in itertools.product(range(size), range(len(tokens))):
        if token == eos:
            edges[state, token] = size if state in given[3] else NONE
        elif tokens[token]:
            edges[state, token] = walk(given, state, tokens[token])
    return edges


def nearest(edges):
    """The least number of tokens to the last state, by lowering estimates until nothing changes."""
    far = 10**6
    found = [far] * (len(edges) - 1) + [0]
    for _ in edges:
        for state, row in enumerate(edges):
            found[state] = min([found[state], *(found[target] + 1 for target in row if target != NONE)])
    return np.array([each if each < far else -1 for each in found])


def automaton(side, edges, start=0, remaining=None):
    edges = np.array(edges, dtype=np.int64)
    remaining = nearest(edges.tolist()) if remaining is None else np.array(remaining)
    return side.constrain.automaton.TokenAutomaton(edges, remaining, start)


# token_edges


@composing
def test_edges_are_those_of_the_composition(candidate, rng):
    for _ in range(3):
        given, (tokens, eos) = language(rng), words(rng)
        dfa = candidate.constrain.dfa.DFA(*given)
        found = candidate.constrain.tokens.token_edges(dfa, candidate.constrain.vocabulary.Vocabulary(tokens, eos))
        assert_equivalent(found, composed(given, tokens, eos), check_dtype=True)


@composing
def test_a_token_is_read_to_its_end_or_not_at_all(candidate, rng):
    """The last step of a token, or the first, leads to no state; the states on the way accept."""
    letters = [chr(each) for each in rng.permutation(np.arange(97, 123))[:4]]
    a, b, c, d = letters
    dfa = candidate.constrain.dfa.DFA(({a: 1}, {b: 2}, {c: 0}), (NONE,) * 3, 0, frozenset({1, 2}))
    tokens = (a, a + b, a + b + c, a + b + c + a, a + b + d, d + a, b + c, "", d)
    found = candidate.constrain.tokens.token_edges(dfa, candidate.constrain.vocabulary.Vocabulary(tokens, 8))
    expected = np.full((4, 9), NONE)
    expected[0, :4] = [1, 2, 0, 1]
    expected[1, [6, 8]] = [0, 3]
    expected[2, 8] = 3
    np.testing.assert_array_equal(found, expected)


@composing
def test_the_text_of_the_end_token_plays_no_part(candidate, rng):
    letter = chr(rng.integers(97, 123))
    for text in (letter, "", "</s>"):
        dfa = candidate.constrain.dfa.DFA(({letter: 1}, {letter: 0}), (1, NONE), 0, frozenset({1}))
        vocabulary = candidate.constrain.vocabulary.Vocabulary((letter, text, letter), 1)
        found = candidate.constrain.tokens.token_edges(dfa, vocabulary)
        np.testing.assert_array_equal(found, [[1, NONE, 1], [0, 2, 0], [NONE, NONE, NONE]])
    nothing = candidate.constrain.dfa.DFA(({letter: 0},), (NONE,), 0, frozenset())
    vocabulary = candidate.constrain.vocabulary.Vocabulary((letter, ""), 1)
    found = candidate.constrain.tokens.token_edges(nothing, vocabulary)
    assert_equivalent(found, np.array([[0, NONE], [NONE, NONE]]), check_dtype=True)


@composing
def test_characters_are_code_points(candidate, rng):
    """Letters with combining marks, letters beyond 16 bits, and white space."""
    characters = rng.permutation(["e", "\u0301", "\U0001f600", "\n", " ", "\u00e9"]).tolist()
    size = len(characters)
    edges = (*({character: place + 1} for place, character in enumerate(characters)), {})
    dfa = candidate.constrain.dfa.DFA(edges, (NONE,) * (size + 1), 0, frozenset({size}))
    places = [(first, last) for first in range(size) for last in range(first + 1, size + 1)]
    tokens = (*("".join(characters[first:last]) for first, last in places), "<eos>")
    vocabulary = candidate.constrain.vocabulary.Vocabulary(tokens, len(places))
    found = candidate.constrain.tokens.token_edges(dfa, vocabulary)
    for token, (first, last) in enumerate(places):
        expected = np.full(size + 2, NONE)
        expected[first] = last
        np.testing.assert_array_equal(found[:, token], expected)


@composing
def test_text_in_quotes_is_that_of_the_authors(candidate, reference, rng):
    """Characters that the automaton does not list; tokens that cross the quotation marks."""
    tokens = ['"', '\\"', '"a', 'b"', '\\\\"', "x\\", "\u00fc", "\n", '""', '"\\""', "", "</s>"]
    tokens = tuple(tokens[place] for place in rng.permutation(12))
    found = []
    for side in (candidate, reference):
        vocabulary = side.constrain.vocabulary.Vocabulary(tokens, tokens.index("</s>"))
        found.append(side.constrain.tokens.token_edges(side.constrain.dfa.quoted(), vocabulary))
    assert_equivalent(found[0], found[1], check_dtype=True)


# tokens_to_end


@measuring
def test_the_least_number_of_tokens(candidate, rng):
    for density in (0.1, 0.2, 0.5):
        edges = np.where(rng.uniform(size=(12, 5)) < density, rng.integers(0, 12, (12, 5)), NONE)
        edges[-1] = NONE
        expected = nearest(edges.tolist())
        for given in (edges, edges.tolist()):
            assert_equivalent(candidate.constrain.tokens.tokens_to_end(given), expected, check_dtype=True)


@measuring
def test_a_long_way_a_short_cut_a_cycle_and_a_trap(candidate, rng):
    size = rng.integers(20, 30).item()
    edges = np.full((size + 3, 2), NONE)
    edges[:size, 0] = np.arange(1, size + 1)  # size is a state whose second token leads to the end
    edges[size] = [0, size + 2]
    edges[size + 1] = size + 1
    expected = np.array([*range(size + 1, 0, -1), -1, 0])
    found = candidate.constrain.tokens.tokens_to_end(edges)
    assert_equivalent(found, expected, check_dtype=True)
    cut = rng.integers(1, size - 2).item()
    edges[cut, 1] = size
    expected[: cut + 1] = cut + 2 - np.arange(cut + 1)
    np.testing.assert_array_equal(candidate.constrain.tokens.tokens_to_end(edges), expected)


@measuring
def test_a_way_of_characters_without_tokens(candidate, reference, rng):
    """The automaton accepts one text, and the vocabulary lacks one of its letters in the right place."""
    first, second, third = rng.permutation(["p", "q", "r"]).tolist()
    for tokens, expected in (
        ((first, first + second, third, "$"), [3, -1, 2, 1, 0]),
        ((first, second + first, third, "$"), [-1, -1, 2, 1, 0]),
        ((second, second + third, first, "$"), [3, 2, -1, 1, 0]),
        ((first + second + third, "$"), [2, -1, -1, 1, 0]),
    ):
        vocabulary = reference.constrain.vocabulary.Vocabulary(tokens, len(tokens) - 1)
        dfa = reference.constrain.dfa.from_texts([first + second + third])
        edges = reference.constrain.tokens.token_edges(dfa, vocabulary)
        np.testing.assert_array_equal(candidate.constrain.tokens.tokens_to_end(edges), expected)


@measuring
def test_edges_are_not_modified(candidate, rng):
    edges = composed(language(rng), *words(rng))
    found = assert_unmodified(candidate.constrain.tokens.tokens_to_end, edges)
    np.testing.assert_array_equal(found, nearest(edges.tolist()))
    np.testing.assert_array_equal(candidate.constrain.tokens.tokens_to_end([[NONE, NONE]]), [0])


# allowed


@masking
def test_a_token_is_allowed_if_the_end_can_follow_in_time(candidate, rng):
    """Against the search of all continuations."""
    edges = composed(language(rng, size=7), *words(rng))
    edges[0, 0], edges[1, 0], edges[2] = 2, 0, NONE  # a trap, and a way into it
    given = edges.tolist()

    @functools.cache
    def ends(state, budget):
        return budget >= 0 and (
            state == 7 or any(target != NONE and ends(target, budget - 1) for target in set(given[state]))
        )

    tokens = automaton(candidate, edges)
    for budget in (0, 1, 2, 3, 4):
        expected = [[target != NONE and ends(target, budget - 1) for target in row] for row in given]
        found = candidate.constrain.tokens.allowed(tokens, np.arange(8), budget)
        assert_equivalent(found, np.array(expected), check_dtype=True)
    expected = [[target != NONE and ends(target, 8) for target in row] for row in given]  # 8 states: no way is longer
    assert_equivalent(candidate.constrain.tokens.allowed(tokens, np.arange(8)), np.array(expected), check_dtype=True)


@masking
def test_shapes_of_states_and_budgets(candidate, rng):
    run = candidate.constrain.tokens.allowed
    chain = automaton(candidate, [[1, NONE, 3], [2, 0, NONE], [3, 2, 1], [NONE, 4, 3], [NONE] * 3])
    rows = run(chain, np.arange(5))
    states = rng.integers(0, 5, (2, 3))
    assert_equivalent(run(chain, states), rows[states], check_dtype=True)
    assert_equivalent(run(chain, states.tolist(), 100), rows[states], check_dtype=True)
    assert_equivalent(run(chain, 2), rows[2], check_dtype=True)
    assert run(chain, np.zeros((0, 4), dtype=int), 3).shape == (0, 4, 3)
    assert_equivalent(run(chain, []), np.zeros((0, 3), dtype=bool), check_dtype=True)
    budgets = rng.integers(0, 5, 3)
    expected = [[run(chain, state, budget) for state, budget in zip(row, budgets, strict=True)] for row in states]
    for given in (budgets, budgets.tolist(), budgets[None]):
        assert_equivalent(run(chain, states, given), np.array(expected), check_dtype=True)
    columns = np.array([[0], [2]])
    expected = [[run(chain, state, budget) for state in row] for row, (budget,) in zip(states, columns, strict=True)]
    assert_equivalent(run(chain, states, columns), np.array(expected), check_dtype=True)


@masking
def test_little_or_no_budget(candidate, rng):
    order = rng.permutation(3)
    chain = automaton(candidate, np.array([[1, 2, NONE], [3, 2, 1], [2, 2, NONE], [NONE] * 3])[:, order])
    run = candidate.constrain.tokens.allowed
    np.testing.assert_array_equal(run(chain, [0, 1, 2, 3], 1), [[False] * 3, order == 0, [False] * 3, [False] * 3])
    np.testing.assert_array_equal(run(chain, [0, 1], 2), [order == 0, order != 1])
    for budget in (0, -1, -5, [0, -1, -2, -3]):
        assert not run(chain, [0, 1, 2, 3], budget).any()
    np.testing.assert_array_equal(run(chain, [0, 1, 2, 3]), [order == 0, order != 1, [False] * 3, [False] * 3])


@masking
def test_states_that_are_refused(candidate, rng):
    run = candidate.constrain.tokens.allowed
    chain = automaton(candidate, [[1, 0], [2, NONE], [NONE, NONE]])
    for states in (3, NONE, [0, 1, 3], [[0, 1], [2, -2]], rng.integers(3, 9)):
        with pytest.raises(ValueError):  # noqa: PT011
            run(chain, states)
    np.testing.assert_array_equal(run(chain, [0, 1, 2]), [[True, True], [True, False], [False, False]])


@masking
def test_the_numbers_of_the_automaton_are_used_as_they_are(candidate, rng):
    """Tokens that still need more than they would: as if the caller wanted a reserve."""
    reserve = rng.integers(3, 9).item()
    chain = automaton(candidate, [[1, 2, NONE], [3, 2, 1], [3, 2, 0], [NONE] * 3], remaining=[-1, 1, reserve, 0])
    found = candidate.constrain.tokens.allowed(chain, [0, 1, 2], reserve)
    np.testing.assert_array_equal(found, [[True, False, False], [True, False, True], [True, False, False]])
    found = candidate.constrain.tokens.allowed(chain, [0, 1, 2], reserve + 1)
    np.testing.assert_array_equal(found, [[True, True, False], [True, True, True], [True, True, False]])


@masking
def test_the_decoder_ends_in_time(candidate, reference, rng):
    """Whatever the logits are, the text is in the language and within the budget."""
    texts = ["".join(rng.choice(list("ab"), rng.integers(3, 8))) for _ in range(5)]
    tokens = ("a", "b", "ab", "ba", "aa", "bbb", "</s>", "")
    scores = rng.normal(size=(12, 8))
    scores[:, 6] = -5.0
    for budget in (8, 9):
        found = []
        for side in (candidate, reference):
            edges = reference.constrain.tokens.token_edges(
                reference.constrain.dfa.from_texts(texts), reference.constrain.vocabulary.Vocabulary(tokens, 6)
            )
            vocabulary = side.constrain.vocabulary.Vocabulary(tokens, 6)
            found.append(
                side.constrain.decoder.decode(lambda step: scores[step], automaton(side, edges), vocabulary, budget)
            )
        assert found[0] == found[1]
        assert "".join(tokens[token] for token in found[0][:-1]) in texts
        assert len(found[0]) <= budget


@masking
def test_states_and_automata_are_not_modified(candidate, rng):
    edges = composed(language(rng), *words(rng))
    edges[2] = NONE
    tokens = automaton(candidate, edges)
    states, budgets = rng.integers(0, 7, 9), rng.integers(0, 4, 9)
    found = assert_unmodified(candidate.constrain.tokens.allowed, tokens, states, budgets)
    assert found.shape == (9, edges.shape[1])
    np.testing.assert_array_equal(tokens.edges, edges)
    np.testing.assert_array_equal(tokens.remaining, nearest(edges.tolist()))


# tokenizations


@counting
def test_tokenizations_are_those_of_an_enumeration(candidate, rng):
    given, (tokens, eos) = language(rng, alphabet="ab"), words(rng, alphabet="ab")
    vocabulary = candidate.constrain.vocabulary.Vocabulary(tokens, eos)
    for start in range(6):
        composition = automaton(candidate, composed(given, tokens, eos), start)
        expected = {"".join(text): 0 for size in range(5) for text in itertools.product("ab", repeat=size)}
        stack = [""]
        while stack:
            text = stack.pop()
            expected[text] += walk(given, start, text) in given[3]
            for token, piece in enumerate(tokens):
                if token != eos and piece and len(text + piece) <= 4 and walk(given, start, text + piece) != NONE:
                    stack.append(text + piece)
        texts = rng.permutation(sorted(expected))[:6].tolist()
        for text in [*texts, max(expected, key=expected.get)]:
            found = candidate.constrain.tokens.tokenizations(composition, vocabulary, text)
            assert (type(found), found) == (int, expected[text])


@counting
def test_numbers_beyond_64_bits(candidate, rng):
    """With tokens of one and of two letters, the numbers of Fibonacci; with two tokens of one letter, powers of two."""
    letter, length = chr(rng.integers(97, 123)), rng.integers(250, 300).item()
    run, vocabulary = candidate.constrain.tokens.tokenizations, candidate.constrain.vocabulary.Vocabulary
    composition = automaton(candidate, [[0, 0, 1], [NONE] * 3])
    before, current = 1, 1
    for _ in range(length - 1):
        before, current = current, before + current
    assert run(composition, vocabulary((letter, letter * 2, "$"), 2), letter * length) == current
    assert run(composition, vocabulary((letter, letter, "$"), 2), letter * length) == 2**length


@counting
def test_texts_that_are_not_accepted_and_the_empty_text(candidate, rng):
    a, b = rng.permutation(["x", "y"]).tolist()
    run = candidate.constrain.tokens.tokenizations
    vocabulary = candidate.constrain.vocabulary.Vocabulary((a, a + b, b, ""), 3)
    one = automaton(candidate, [[1, 2, NONE, NONE], [NONE, NONE, 2, NONE], [NONE, NONE, NONE, 3], [NONE] * 4])
    texts = ["", a, a + b, a + b + b, b, a + a, a + b + "z", "z"]
    assert [run(one, vocabulary, text) for text in texts] == [0, 0, 2, 0, 0, 0, 0, 0]
    empty = automaton(candidate, [[0, 0, 0, 1], [NONE] * 4])
    assert [run(empty, vocabulary, text) for text in texts] == [1, 1, 2, 2, 1, 1, 0, 0]
    nothing = automaton(candidate, [[0, 0, 0, NONE], [NONE] * 4])
    assert [run(nothing, vocabulary, text) for text in texts] == [0] * 8


@counting
def test_the_end_token_is_no_part_of_a_tokenization(candidate, rng):
    """Though its text is that of a letter, and the end would lead on."""
    letter, count = chr(rng.integers(97, 123)), rng.integers(2, 6).item()
    vocabulary = candidate.constrain.vocabulary.Vocabulary((letter, letter), 1)
    composition = automaton(candidate, [[0, 1], [NONE, NONE]])
    run = candidate.constrain.tokens.tokenizations
    assert run(composition, vocabulary, letter * count) == 1
    assert run(composition, vocabulary, letter * count + "!") == 0
    start = automaton(candidate, [[NONE, NONE], [1, 2], [NONE, NONE]], start=1)
    assert run(start, vocabulary, letter * count) == 1


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
