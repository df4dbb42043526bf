"""Executors of a compiled network: the CPU's own kernels, a GPU's, or JAX on a CPU, GPU or TPU.

A target prepares a program once. The prepared program serves any number of queries::

    run = program.prepare(palladion.Target("xla", device="gpu"))
    answers = [run(keys, query) for query in queries]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from palladion import _native
from palladion.errors import UsageError
from palladion.runs import Answer, Progress, RunReport
from palladion.support import events, records
from palladion.xla.kernels.kernel_sets import kernel_set

if TYPE_CHECKING:  # slow to import, and not needed on the CPU
    import jax

    from palladion.waves.program_run import Prepared as OfWaves
    from palladion.waves.program_run import Run
    from palladion.xla.mesh.mesh_run import MeshRun

Save: TypeAlias = Callable[[bytes], object]
"""The callback that takes the bytes of a checkpoint."""

Replay: TypeAlias = Callable[
    [_native.EvaluationKeys, _native.Query, Progress | None], tuple[bytes, str]
]
"""Executes a trace: the bytes of the answer, and the digest of the answer before it was hidden."""

NAMES: Final = ("cpu", "cuda", "xla")
DEVICES: Final = ("cpu", "gpu", "tpu")


class Prepared(Protocol):
    """A program on a target, ready for queries."""

    def __call__(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
        save: Save | None = None,
    ) -> Answer:
        """Run the program on a query: see :meth:`palladion.CompiledModel.run`."""


@dataclass(frozen=True)
class Target:
    """The executor of a program or a trace.

    Raises
    ------
    UsageError
        If there is no such target, kind of device or set of kernels, or if one of these is asked of
        another target than ``xla``, which has no choice.
    """

    name: str = "cpu"
    """``cpu`` or ``cuda``, the kernels of this package for a CPU or a GPU of NVIDIA, or ``xla``,
    JAX."""
    device: str | None = None
    """Kind of the device of ``xla``: ``cpu``, ``gpu`` or ``tpu``; ``None`` for JAX's choice."""
    devices: int | None = None
    """Number of devices of ``xla`` that share the limbs; ``None`` for one that has all."""
    kernels: str | None = None
    """Set of kernels of ``xla``: see :data:`palladion.xla.kernels.kernel_sets.KERNEL_SETS`.
    ``None`` for those that ``palladion xla tune`` kept, or the device's defaults."""

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise UsageError(f"the target {self.name!r}, expected one of {', '.join(NAMES)}")
        if self.name != "xla" and (self.device, self.devices) != (None, None):
            raise UsageError(
                f"a device of the target {self.name}, which has no choice: take the target xla"
            )
        if self.kernels is not None:
            if self.name != "xla":
                raise UsageError(
                    f"the kernels {self.kernels} of the target {self.name}, which has no choice: "
                    "take the target xla"
                )
            kernel_set(self.kernels)
        if self.device not in (None, *DEVICES):
            raise UsageError(f"the device {self.device!r}, expected one of {', '.join(DEVICES)}")
        if self.devices is not None and self.devices < 1:
            raise UsageError(f"{self.devices} devices, expected at least 1")

    @classmethod
    def of(cls, target: str | Target) -> Target:
        """A target, or that of a name."""
        return target if isinstance(target, Target) else cls(target)

    def place(self) -> str:
        """Where the target computes, in a word or two: ``cpu``, ``gpu``, ``8 devices``.

        Raises
        ------
        UsageError
            If this machine has no such device, or fewer.
        """
        if self.name == "cpu":
            return "cpu"
        if self.name == "cuda":
            from palladion.cuda.gpu import cupy

            cupy()
            return "gpu"
        if self.devices is None:
            return str(self._device().platform)
        from palladion import xla

        xla.enable()
        from palladion.xla.device import several_devices

        several_devices(self.devices, self.device)
        return f"{self.devices} devices"

    def prepare(
        self, program: _native.Program, checkpoint: bytes | None = None, *, saving: bool = False
    ) -> Prepared:
        """Bring a program to the target, from a checkpoint if there is one.

        With ``saving`` its runs can save checkpoints.

        Raises
        ------
        BudgetError
            If a device has too little memory.
        UsageError
            If this machine has no such device, a modulus of the program does not fit the device,
            or several devices are asked for checkpoints.
        """
        if self.name == "cpu":
            return OnCpu(program, checkpoint)
        if self.name == "cuda":
            from palladion.cuda.gpu_run import prepare_run as prepare_on_gpu

            return OnDevice(prepare_on_gpu(program, checkpoint, saving=saving))
        if self.devices is None:
            device = self._device()
            from palladion.xla.run import prepare_run

            run = prepare_run(program, device, checkpoint, saving=saving, kernels=self.kernels)
            return OnDevice(run)
        if saving or checkpoint is not None:
            raise UsageError("a checkpoint is for one device, and several share these limbs")
        self.place()
        from palladion.xla.mesh.mesh_run import MeshRun

        return OnDevices(MeshRun.of(program, self.devices, self.device, kernels=self.kernels))

    def prepare_trace(self, trace: _native.Trace) -> Replay:
        """Bring the trace of a program to the target.

        Raises
        ------
        UsageError
            As :meth:`prepare`, and for several devices.
        """
        if self.name == "cpu":
            return trace.replay
        if self.devices is not None:
            raise UsageError("a trace is executed on one device, and several are asked for")
        waves = _native.Waves.of_trace(trace)
        prepared: OfWaves
        if self.name == "cuda":
            from palladion.cuda.gpu_run import Prepared as OnGpu

            prepared = OnGpu.of(waves, "the replay")
        else:
            device = self._device()
            from palladion.xla.run import Prepared as OnXla

            prepared = OnXla.of(waves, "the replay", device, self.kernels)

        def replay(
            keys: _native.EvaluationKeys, query: _native.Query, progress: Progress | None = None
        ) -> tuple[bytes, str]:
            outside = _native.WavesOutside.of_trace(trace, keys, query)
            prepared.execute(outside, progress, keys=keys)
            answer, digest = outside.answer()
            return answer.to_bytes(), digest

        return replay

    def _device(self) -> jax.Device:
        """The device of ``xla``."""
        from palladion import xla

        xla.enable()
        from palladion.xla.device import chosen_device

        return chosen_device(self.device)


CPU: Final = Target()
"""The kernels of this package."""


@dataclass(frozen=True)
class Logged:
    """A program on a target, whose runs are logged: ``palladion.support.events``."""

    prepared: Prepared
    program_id: str

    def __call__(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
        save: Save | None = None,
    ) -> Answer:
        """As :class:`Prepared`."""

        def ids() -> dict[str, str]:
            return {"program": self.program_id, "key": query.key, "query": query.hash().hex()}

        with events.work("run", ids) as work:
            return self.prepared(keys, query, work.heard(progress), save)


@dataclass(frozen=True)
class OnCpu:
    """A program on the CPU's own kernels."""

    program: _native.Program
    checkpoint: bytes | None

    def __call__(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
        save: Save | None = None,
    ) -> Answer:
        """As :class:`Prepared`."""
        answer, report = self.program.run(keys, query, progress, self.checkpoint, save)
        return Answer(answer, records.read(RunReport, report))


@dataclass(frozen=True)
class OnDevice:
    """A program on a GPU, or on a device of JAX."""

    run: Run

    def __call__(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
        save: Save | None = None,
    ) -> Answer:
        """As :class:`Prepared`."""
        answer, report = self.run.run(keys, query, progress, save)
        return Answer(answer, records.read(RunReport, report))


@dataclass(frozen=True)
class OnDevices:
    """A program on several devices of JAX, which share its limbs."""

    run: MeshRun

    def __call__(
        self,
        keys: _native.EvaluationKeys,
        query: _native.Query,
        progress: Progress | None = None,
        save: Save | None = None,
    ) -> Answer:
        """As :class:`Prepared`. It saves no checkpoint."""
        (answer,), report = self.run.run(keys, [query], progress)
        (digest,) = report.pop("raw_digests")
        return Answer(answer, records.read(RunReport, {**report, "raw_digest": digest}))
