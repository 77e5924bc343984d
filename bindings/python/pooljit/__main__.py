"""python -m pooljit: the command `pooljit` (docs/cli.md), a program that lies beside this file."""
import os
import sys


def main():
    """Becomes the command, with the arguments of this process."""
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pooljit")
    if not os.access(command, os.X_OK):
        sys.exit(f"pooljit: {command} is not there: this build has no command")
    os.execv(command, ["pooljit", *sys.argv[1:]])


if __name__ == "__main__":
    main()
