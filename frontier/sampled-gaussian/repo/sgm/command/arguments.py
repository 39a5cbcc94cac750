"""Arguments."""

import argparse


def parser():
    """The parser, with a command each."""
    top = argparse.ArgumentParser(prog="sgm")
    commands = top.add_subparsers(dest="command", required=True)
    spent = commands.add_parser("spent")
    spent.add_argument("ledger")
    spent.add_argument("--delta", type=float, default=1e-5)
    steps = commands.add_parser("steps")
    noise = commands.add_parser("noise")
    form = commands.add_parser("bound")
    for each in (steps, noise, form):
        each.add_argument("--rate", type=float, required=True)
    for each in (steps, form):
        each.add_argument("--sigma", type=float, required=True)
    for each in (steps, noise):
        each.add_argument("--epsilon", type=float, required=True)
        each.add_argument("--delta", type=float, default=1e-5)
    noise.add_argument("--steps", type=int, required=True)
    return top


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
