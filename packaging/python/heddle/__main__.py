"""python -m heddle: the command `heddle`."""
from heddle import _main

if __name__ == "__main__":
    _main()
