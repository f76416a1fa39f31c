"""``python -m remembrancer`` is the command ``remembrancer``."""

from remembrancer.cli import main

if __name__ == "__main__":
    main()
