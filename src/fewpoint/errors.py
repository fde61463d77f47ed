"""Every error a caller can cause.

FewpointError
├── InputError            a file, folder, point or image that cannot be used
├── SettingsError         a setting that does not exist or makes no sense
├── OutputError           the run folder cannot be written
│   └── RunConflictError  the run folder belongs to another run
├── DeviceError           the requested device is not available
└── CancelledError        the caller wanted no more of it

Each message says what must hold, what was given and what to do, in one line.
"""


class FewpointError(Exception):
    """The base of all errors raised on purpose by this package."""


class InputError(FewpointError):
    """A file, folder, point or image that cannot be used."""


class SettingsError(FewpointError):
    """A setting that does not exist or makes no sense."""


class OutputError(FewpointError):
    """The run folder cannot be written."""


class RunConflictError(OutputError):
    """The run folder belongs to another run, or another process is writing it."""


class DeviceError(FewpointError):
    """The requested compute device is not available."""


class CancelledError(FewpointError):
    """The caller cancelled a run; one with a folder can be continued by the same call."""
