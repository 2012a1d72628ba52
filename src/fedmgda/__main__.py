"""`python -m fedmgda`."""

from fedmgda.cli import main

if __name__ == "__main__":
    main()
