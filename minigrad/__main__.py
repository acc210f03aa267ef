"""Run the commands where the script is not on the PATH: python -m minigrad grade ..."""

from minigrad.cli import main

if __name__ == "__main__":
    main()
