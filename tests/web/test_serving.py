"""What starting a server leaves on the machine."""

import stat

from fewpoint.web.serving import write_door


def test_the_browser_is_given_a_file_that_leads_to_the_page():
    door = write_door("http://127.0.0.1:8760/?token=secret")
    try:
        assert "token=secret" in door.read_text() and stat.S_IMODE(door.stat().st_mode) == 0o600
    finally:
        door.unlink()
