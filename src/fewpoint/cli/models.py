"""`fewpoint models`: pretrained models, for those who want their help; nothing is downloaded unless asked for."""

from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.outputs import AsJson, print_json

app = typer.Typer(help="Pretrained models that refine masks: list, add, fetch or check them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the model, see models list.")]
Files = Annotated[list[Path], typer.Argument(help="A file of a known model, the package that holds it, or your own.")]
Like = Annotated[str, typer.Option("--like", help="The known model that your own works like.")]
OwnName = Annotated[str, typer.Option("--name", help="Name of your own model.")]


@app.command("list")
def list_command(as_json: AsJson = False) -> None:
    """Show the known models: whether they are installed, their source and licence."""
    from fewpoint.witness import store

    models = store.list_models().values()
    if as_json:
        print_json("models", {"models": [_describe(model) for model in models]})
        return
    for model in models:
        here = "installed" if store.is_installed(model) else f"not installed: {store.remedy_for(model)}"
        print(f"{model.name}  {here}\n  {model.summary}\n  licence: {model.licence}")
        if model.package is not None:
            print(f"  from: {model.package.url} ({model.package.size / 1e6:.0f} MB)")
        for file in model.files:
            print(f"  {file.name}  sha256 {file.sha256}")
    print(f"\nkept in {store.models_folder()} ({store.FOLDER_VARIABLE} moves it)")


@app.command("add")
def add_command(files: Files, like: Like = "", name: OwnName = "") -> None:
    """Add a model from files: one of a known model, its package, or your own with --like and --name."""
    from fewpoint.errors import InputError
    from fewpoint.witness import store

    if bool(like) != bool(name):
        raise InputError("--like and --name go together; give both for a model of your own, and neither else")
    if like:
        print(store.add_own(tuple(files), like, name))
        return
    for file in files:
        print(store.add(file))


@app.command("fetch")
def fetch_command(name: Name) -> None:
    """Download a model and check its hash."""
    from fewpoint.witness import store

    print(store.fetch(name))


@app.command("check")
def check_command() -> None:
    """Check the hash of every installed file; fails if one differs."""
    from fewpoint.errors import InputError
    from fewpoint.witness import store

    wrong = []
    for model in store.list_models().values():
        checks = store.check_model(model)
        if all(not each.file.is_file() for each in checks):
            continue
        for each in checks:
            print(f"{model.name}: {each.file} {each.problem or 'ok'}")
        wrong += [f"{each.file} {each.problem}" for each in checks if each.problem]
    if wrong:
        raise InputError(f"{'; '.join(wrong)}; fetch or add it again")


def _describe(model) -> dict:
    from fewpoint.witness import store

    return {
        "name": model.name,
        "kind": str(model.kind),
        "installed": store.is_installed(model),
        "summary": model.summary,
        "licence": model.licence,
        "url": None if model.package is None else model.package.url,
        "files": {file.name: file.sha256 for file in model.files},
    }
