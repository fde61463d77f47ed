"""The one place that turns what a job says about its settings into settings; free of torch."""

from dataclasses import replace
from typing import Any

from fewpoint.core.job import Changes, Job
from fewpoint.core.settings import override
from fewpoint.errors import SettingsError
from fewpoint.methods.registry import PRESETS, choose_preset, find_settings, preset

AUTO = "auto"


def resolve_settings(job: Job, device_kind: str = "cpu", refined: Any = None) -> Any:
    """The settings of a job's method or preset with its changes applied in order; None for a method without any.

    device_kind: what the preset auto depends on, see depends_on_device. refined: settings of the run that the job
    refines, used unless the job names a preset.
    """
    if job.method is not None:
        return change_settings(job.method, find_settings(job.method), job.changes)
    if refined is not None and job.preset in (None, AUTO):
        return change_settings("", refined, job.changes)
    return change_settings("", preset(job.preset or AUTO, device_kind), job.changes)


def refuse_unknown_changes(job: Job) -> None:
    """SettingsError for changes that make no sense, told before a device is looked for; torch is not needed.

    Presets that a project or a row may name instead count, too, unless the job names its own.
    """
    if job.refine is not None:
        return
    if job.method is not None or job.preset not in (None, AUTO):
        resolve_settings(job)
        return
    faults = []
    for name in PRESETS:
        try:
            resolve_settings(replace(job, preset=name))
        except SettingsError as error:
            faults.append(error)
    if len(faults) == len(PRESETS):
        raise faults[0]


def change_settings(method: str, settings: Any, changes: Changes) -> Any:
    """Settings of a method with changes applied in order; SettingsError for a setting that they do not have."""
    if settings is None:
        if changes:
            raise SettingsError(f"{method} has no settings to change; leave out --set, --config and --no-tracking")
        return None
    for key, value in changes:
        settings = override(settings, key, value)
    return settings


def depends_on_device(job: Job) -> bool:
    """Whether the kind of device decides the settings: those of fewpoint's own method with the preset auto."""
    return job.method is None and job.preset in (None, AUTO) and job.refine is None


def settle_preset(job: Job, device_kind: str) -> Job:
    """The job with the preset that auto stands for on a kind of device, for whoever runs it on another machine."""
    if not depends_on_device(job):
        return job
    return replace(job, preset=choose_preset(AUTO, device_kind))
