"""Print the gap between the two leading eigenvalues of a random symmetric matrix."""

import sys

import numpy as np

if __name__ == "__main__":
    draws = np.random.default_rng(int(sys.argv[1])).normal(size=(20, 20))
    values = np.sort(np.abs(np.linalg.eigvalsh(draws + draws.T)))
    print(values[-1] - values[-2])
