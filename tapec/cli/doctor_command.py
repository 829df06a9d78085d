"""`tapec doctor`: whether tapec can work on this machine, and what makes it slow."""

from __future__ import annotations

import click

from tapec.cli.shared_options import guarded


@click.command(short_help="Say what is wrong or slow on this machine.", epilog="Example: tapec doctor")
@guarded
def doctor() -> None:
    """Print versions, processor, threads, cache and optional libraries, and say what is wrong or slow.

    Each problem comes with what to do about it.  The exit code is 1 if something is wrong; what is slow alone
    leaves it 0.
    """
    from tapec.diagnosis import SLOW, WRONG, Finding, diagnosis

    problems: list[Finding] = []
    for title, findings in diagnosis():
        click.echo(f"{title}")
        width = max((len(finding.name) for finding in findings), default=0)
        for finding in findings:
            mark = f"  [{finding.verdict}]" if finding.verdict else ""
            click.echo(f"  {finding.name:<{width}}  {finding.value}{mark}")
        click.echo()
        problems += [finding for finding in findings if finding.verdict]
    for verdict, heading in ((WRONG, "Wrong"), (SLOW, "Slow")):
        found = [problem for problem in problems if problem.verdict == verdict]
        if not found:
            click.echo(f"Nothing is {verdict}.")
            continue
        click.echo(heading)
        for problem in found:
            click.echo(f"  {problem.name}: {problem.reason}\n    {problem.hint}")
    if any(problem.verdict == WRONG for problem in problems):
        raise click.exceptions.Exit(1)
