"""Where tokens are written down: in files that nobody else can read, and in no command line."""

import stat

from fewpoint.web.keys import find_key, keep_key, write_door


def test_a_token_is_found_by_the_port_of_this_machine_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = keep_key(8123, "secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert find_key("http://127.0.0.1:8123") == "secret" == find_key("http://localhost:8123/")
    assert find_key("http://127.0.0.1:8124") is None
    assert find_key("http://elsewhere.example:8123") is None
    assert keep_key(8123, "newer") == path and find_key("http://127.0.0.1:8123") == "newer"
    path.write_text("{")
    assert find_key("http://127.0.0.1:8123") is None


def test_the_browser_is_given_a_file_that_leads_to_the_page():
    door = write_door("http://127.0.0.1:8760/?token=secret")
    try:
        assert "token=secret" in door.read_text() and stat.S_IMODE(door.stat().st_mode) == 0o600
    finally:
        door.unlink()
