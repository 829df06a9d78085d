"""Commands run in this process, and what they must say."""

from click.testing import CliRunner, Result

from tapec.cli import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def succeeds(*arguments: str) -> str:
    """What a command prints that must succeed and keep stderr empty."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def refused(*arguments: str) -> str:
    """The message of a command that must fail on wrong input, on stderr alone and without a traceback."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr
