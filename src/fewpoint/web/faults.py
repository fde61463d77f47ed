"""What a visitor did wrong, as HTTP says it."""

from fewpoint.errors import FewpointError, InputError, OutputError, RunConflictError


class MissingError(InputError):
    """There is no such project, run, frame or export."""


class StaleError(InputError):
    """The project has changed since the visitor looked."""


class TooLargeError(InputError):
    """More than may be sent."""


class BusyError(InputError):
    """More is asked for at once than can be done."""


class GoneError(InputError):
    """The session was ended, or there never was one."""


class FullError(InputError):
    """No further session can be begun now."""


class UnansweredError(InputError):
    """No mask was found in time, or nothing is left that could find one."""


STATUS: tuple[tuple[type[FewpointError], int], ...] = (
    (MissingError, 404),
    (StaleError, 409),
    (TooLargeError, 413),
    (GoneError, 410),
    (BusyError, 429),
    (FullError, 503),
    (UnansweredError, 504),
    (RunConflictError, 409),
    (OutputError, 507),
    (FewpointError, 422),
)


def status_of(error: FewpointError) -> int:
    """
    >>> status_of(MissingError("no run 3")), status_of(InputError("no point"))
    (404, 422)
    """
    return next(status for kind, status in STATUS if isinstance(error, kind))
