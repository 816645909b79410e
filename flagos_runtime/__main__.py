"""Run the command line with ``python -m flagos_runtime``."""

from flagos_runtime.cli import main

if __name__ == "__main__":
    main()
