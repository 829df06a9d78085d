"""Run the command line as `python -m tapec`."""

from tapec.cli import main

if __name__ == "__main__":
    main(prog_name="tapec")
