"""`tapec completion`: the script that teaches a shell to complete commands, options and targets."""

from __future__ import annotations

import click

from tapec.cli.shared_options import guarded

_VARIABLE = "_TAPEC_COMPLETE"


@click.command(
    short_help="Print a shell's completion script.",
    epilog="""\b
    Examples:
      tapec completion bash >> ~/.bashrc
      tapec completion zsh >> ~/.zshrc
      tapec completion fish > ~/.config/fish/completions/tapec.fish
    """
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@guarded
def completion(shell: str) -> None:
    """Print the script that completes commands, options and TARGET in SHELL."""
    from click.shell_completion import get_completion_class

    context = click.get_current_context()
    found = get_completion_class(shell)
    assert found is not None
    made = found(context.find_root().command, {}, "tapec", _VARIABLE)
    # the class asks the installed shell for its version in `source`, which this machine may not have
    text = made.source_template % made.source_vars()
    if shell == "bash":
        # TARGET has a colon, at which bash would split it
        text += "\nCOMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"
    click.echo(text.strip())
