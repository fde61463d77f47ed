"""How much the clients of a server may take, and for how long."""

from dataclasses import dataclass

from fewpoint.errors import SettingsError


@dataclass(frozen=True)
class Limits:
    """most_sessions: at once. preset: how what is marked is learnt.

    A session ends if nothing is marked for idle_s, or if nothing is heard, not even a sign of life, for alive_s.
    """

    most_sessions: int = 4
    idle_s: float = 1800.0
    alive_s: float = 60.0
    preset: str = "auto"

    def __post_init__(self) -> None:
        if self.most_sessions < 1 or self.idle_s <= 0 or self.alive_s <= 0:
            raise SettingsError("a server must allow one session at least, for longer than 0 s")
