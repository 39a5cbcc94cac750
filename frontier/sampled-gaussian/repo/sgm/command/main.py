"""Start of the command line."""

from sgm.command.arguments import parser
from sgm.command.bound import bound
from sgm.command.noise import noise
from sgm.command.spent import spent
from sgm.command.steps import steps

COMMANDS = {"spent": spent, "steps": steps, "noise": noise, "bound": bound}


def main(argv=None):
    """Run a command and print its lines."""
    arguments = parser().parse_args(argv)
    print("\n".join(COMMANDS[arguments.command](arguments)))


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
