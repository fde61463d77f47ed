"""What CI may not overlook."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BROWSER = Path(__file__).parent / "web" / "browser" / "test_page.py"
WITHOUT_CHROMIUM = "there is no Chromium on this machine; apt-get install chromium"


@pytest.mark.parametrize(
    ("ci", "code", "told"),
    [("true", 1, f"must not be skipped in CI: {WITHOUT_CHROMIUM}"), ("false", 0, f": {WITHOUT_CHROMIUM}")],
)
def test_a_test_of_the_page_without_a_browser_fails_in_ci_and_is_skipped_elsewhere(ci, code, told, tmp_path):
    test = f"{BROWSER}::test_the_help_lists_every_key_that_does_something"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test]
    environment = os.environ | {"CI": ci, "PATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert any(line.endswith(told) for line in done.stdout.splitlines()), done.stdout
