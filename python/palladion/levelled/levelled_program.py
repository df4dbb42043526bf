"""Networks of linear layers and polynomials, for thousands of inputs in one run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from palladion import ckks
from palladion.circuit import Circuit
from palladion.errors import FormatError, NetworkError, SecurityError, UsageError
from palladion.levelled import affine_stages as staged
from palladion.levelled import storage, writing
from palladion.levelled.levelled_client import LevelledClient
from palladion.levelled.queries import LevelledAnswer, LevelledQuery, joined
from palladion.levelled.terms import LevelledTerms
from palladion.nn.ends.interface import array_of
from palladion.nn.ends.prediction import Prediction
from palladion.schemes.keys import EvaluationKeys
from palladion.support import files, memory
from palladion.support.seconds import threads

if TYPE_CHECKING:  # slow imports, not always needed
    import onnx

    from palladion.nn.floats.graph import Graph

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

LOG_N: Final = range(12, 17)
SCALE_BITS: Final = range(45, 35, -1)
"""Bits of a level, the most precise first. The first log_n that has one of them is taken."""

LEAST_BITS: Final = 8.0
"""Least precision of a program's outputs."""
LESS: Final = "run it on a machine with more memory, or take a network of fewer values"
JUDGED: Final = 16
"""Calibration inputs by which that is judged."""


class LevelledModel:
    """A network whose functions are polynomials, in floating point.

    An encrypted run has no tables and no bootstrapping. Each slot of a ciphertext belongs to one
    input of the network, and a ciphertext to one value of all inputs. Results are those of the
    network in floating point, with an error that :meth:`LevelledProgram.precision` predicts.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        """The float graph of the model."""

    @classmethod
    def from_onnx(cls, model: str | os.PathLike[str] | bytes | onnx.ModelProto) -> LevelledModel:
        """Read an ONNX model: a file, its bytes, or a ``ModelProto``.

        Raises
        ------
        NetworkError
            If the model has an unsupported part. The message names it.
        """
        from palladion.nn.importer import from_model, load
        from palladion.nn.importer.onnx_file import as_proto

        if isinstance(model, str | os.PathLike):
            return cls(load(Path(model)))
        return cls(from_model(as_proto(model)))

    def with_squares(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        epochs: int = 10,
        seed: int = 0,
        progress: Callable[[int, int, float], None] | None = None,
    ) -> LevelledModel:
        """The model with squares in the place of ReLUs, trained from its own weights.

        Needs the extra ``train``.

        Parameters
        ----------
        x, y
            Inputs of the model, of shape (N, ...), and their classes.
        progress
            Called with the steps done, all steps, and the mean loss.

        Raises
        ------
        NetworkError
            If the model has no ReLU, or a node that cannot be trained.
        DataError
            If the inputs are too few, or the labels are no classes of the network.
        """
        from palladion.nn.training import Settings, with_squares

        graph = self.graph
        given = array_of(x)
        images, empty = (graph.arranged(part) for part in (given, np.zeros_like(given[:1])))
        labels = np.asarray(y).astype(np.int64)
        settings = Settings(epochs=epochs, seed=seed)
        blank = empty.reshape(graph.input.shape[0], -1)[:, 0]
        return LevelledModel(with_squares(graph, images, labels, settings, blank, progress))

    def predict(self, x: npt.ArrayLike) -> Prediction:
        """The outputs for inputs of the model, in floating point."""
        ends = self.graph.ends
        return Prediction.of_outputs(ends, self.graph.outputs(array_of(x)))

    def compile(self, calibrate: npt.ArrayLike, batch: int = 4096) -> LevelledProgram:
        """Compile to a program for at most ``batch`` inputs in one run.

        Parameters
        ----------
        calibrate
            Inputs of the model, of shape (N, ...), whose extremes are the range of each channel.
            Inputs beyond them are clipped, with a warning.

        Raises
        ------
        DataError
            If the inputs are no array.
        NetworkError
            If a part of the network is neither linear nor a polynomial, if the inputs have another
            shape, if the network has more levels than a secure ring has, or if the outputs would
            have a precision of less than 8 bits.
        UsageError
            If ``batch`` is not at least 1.
        """
        if batch < 1:
            raise UsageError(f"a batch of {batch}, expected at least 1")
        graph = self.graph
        values = graph.input.evaluate(graph.arranged(array_of(calibrate)).astype(np.float64))
        low, high = (np.broadcast_to(ends[:, None, None], graph.input.shape).ravel()
                     for ends in (values.min((0, 2, 3)), values.max((0, 2, 3))))  # fmt: skip
        stages = staged.of_graph(graph, low, high)
        log_n, scale_bits = ring_for(stages.depth)
        terms = LevelledTerms(
            name=graph.name, interface=graph.ends, shape=graph.input.shape,
            mean=graph.input.mean, std=graph.input.std, low=low, high=high,
            used=tuple(sorted(writing.read(stages))), scale=stages.scale,
            fixed=writing.fixed_outputs(stages), log_n=log_n, depth=stages.depth,
            scale_bits=scale_bits, batch=batch, program=identity(stages),
        )  # fmt: skip
        if not terms.open_outputs:
            raise NetworkError("no output depends on an input, so that there is nothing to "
                               "compute")  # fmt: skip
        program = LevelledProgram(terms, stages)
        bits = program.precision(array_of(calibrate)[:JUDGED][:batch]).bits
        if bits < LEAST_BITS:
            raise NetworkError(f"the outputs would have {bits:.1f} bits of precision, expected at "
                               f"least {LEAST_BITS}: values in the worst case are far larger than "
                               "usual ones; normalise values before polynomials, or give "
                               "calibration data of a smaller range")  # fmt: skip
        return program


def read(params: ckks.Params, data: npt.NDArray[np.uint8]) -> ckks.Ciphertext:
    """A ciphertext of a query."""
    return ckks.Ciphertext.from_bytes(params, data.tobytes())


def ring_for(depth: int) -> tuple[int, int]:
    """log2 of the ring degree, and bits of a level, for a number of levels."""
    for log_n in LOG_N:
        for bits in SCALE_BITS:
            try:
                ckks.Params.for_depth(log_n, depth, bits)
            except (SecurityError, UsageError):
                continue
            return log_n, bits
    raise NetworkError(f"the network takes {depth} levels, and no ring of up to 2^{LOG_N[-1]} "
                       "coefficients has as many at 128 bits of security: `palladion compile` "
                       "has no limit of depth")  # fmt: skip


class LevelledProgram:
    """A compiled network, for the server: it has the weights. A client needs its :attr:`terms`."""

    def __init__(self, terms: LevelledTerms, stages: staged.Stages) -> None:
        self.terms = terms
        self.stages = stages

    @cached_property
    def circuit(self) -> Circuit:
        """The circuit of one ciphertext for each value."""
        return writing.write(self.stages, self.terms.params, self.terms.name)

    @cached_property
    def memory_bytes(self) -> int:
        """A bound of the memory of a run, without that of the query and the process."""
        return writing.memory_bytes(self.stages, self.terms.params)

    def client(self, secret: ckks.SecretKey | None = None) -> LevelledClient:
        """A client with a secret, by default a fresh one."""
        return LevelledClient(self.terms, secret)

    def predict(self, x: npt.ArrayLike) -> Prediction:
        """The outputs for inputs of the model, computed in the clear from the program's weights."""
        return self.terms.prediction(self.stages.evaluate(self.terms.variables(x)))

    def precision(self, x: npt.ArrayLike) -> LevelledPrecision:
        """The predicted errors of the outputs for inputs of the model, at most as many as a
        ciphertext takes. No key is needed. It takes some hundredths of a second for each input.
        """
        terms = self.terms
        variables = terms.variables(x)[: terms.slots]
        slots = 1 << (len(variables) - 1).bit_length()
        small = writing.write(self.stages, terms.params, terms.name, slots)
        padded = np.pad(variables, [(0, slots - len(variables)), (0, 0)])
        predicted = small.predict({writing.input_name(i): padded[:, i] for i in terms.used})
        errors = np.zeros((len(variables), len(terms.scale)))
        for index in terms.open_outputs:
            own = predicted[writing.output_name(index)].errors[: len(variables)]
            errors[:, index] = own * terms.scale[index]
        return LevelledPrecision(errors, self.stages.evaluate(variables))

    def run(self, keys: EvaluationKeys | bytes, query: LevelledQuery | bytes) -> LevelledAnswer:
        """Run the program on ciphertexts: the server's half.

        Raises
        ------
        FormatError
            If the query or the keys are damaged, or of another program.
        MissingKeyError, UsageError
            As :meth:`palladion.circuit.Circuit.run`.
        BudgetError
            If the run needs more memory than is left.
        """
        terms = self.terms
        params = terms.params
        if isinstance(keys, bytes):
            keys = EvaluationKeys.from_bytes(params, keys)
        if isinstance(query, bytes):
            query = LevelledQuery.from_bytes(terms, query)
        else:
            query.check(terms)
        names = [writing.input_name(i) for i in terms.used]
        what = f"a run of {terms.name}"
        with (
            memory.reserved(what, self.memory_bytes, LESS),
            ThreadPoolExecutor(threads()) as pool,
        ):
            blocks = (
                dict(zip(names, pool.map(partial(read, params), block), strict=True))
                for block in query.ciphertexts
            )
            results = self.circuit.run_each(blocks, keys)
        outputs = [writing.output_name(i) for i in terms.open_outputs]
        made = (block[name].to_bytes() for block in results for name in outputs)
        array = joined(made, (len(query.ciphertexts), len(outputs)))
        return LevelledAnswer(query.program, query.query, query.count, array)

    def to_bytes(self) -> bytes:
        """The program as bytes."""
        arrays = {**self.terms.arrays(), **arrays_of(self.stages)}
        return storage.to_bytes(storage.PROGRAM, self.terms.facts(), arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> LevelledProgram:
        """Read a program. Raises ``FormatError`` if it is damaged."""
        facts, arrays = storage.from_bytes(storage.PROGRAM, data, LevelledTerms.ARRAYS)
        terms = LevelledTerms.of(facts, arrays)
        return cls(terms, stages_of(terms, arrays))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program, and beside it the client's file, with the ending ``.client``."""
        files.write(Path(path), self.to_bytes())
        self.terms.save(Path(f"{os.fspath(path)}.client"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LevelledProgram:
        """Read a program that :meth:`save` wrote."""
        return files.parsed(Path(path), cls.from_bytes, storage.PROGRAM)


@dataclass(frozen=True, eq=False)
class LevelledPrecision:
    """Predicted errors of outputs, in the model's units."""

    errors: Floats
    """Standard deviations, of shape (N, outputs)."""
    outputs: Floats
    """The outputs without errors."""

    @property
    def bits(self) -> float:
        """log2 of the largest output over the largest error."""
        return float(np.log2(np.abs(self.outputs).max() / self.errors.max()))


def arrays_of(stages: staged.Stages) -> dict[str, Array]:
    """The stages as arrays of a program's file."""
    arrays: dict[str, Array] = {}
    for number, stage in enumerate(stages.stages):
        arrays[f"stage{number}.weights"] = stage.weights
        arrays[f"stage{number}.bias"] = stage.bias
        if stage.polynomials is not None:
            arrays[f"stage{number}.polynomials"] = stage.polynomials
    return arrays


def identity(stages: staged.Stages) -> str:
    """The identity of a program: 32 hexadecimal digits of a hash of its weights."""
    digest = hashlib.sha256()
    for name, array in arrays_of(stages).items():
        digest.update(f"{name} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()[:32]


def stages_of(terms: LevelledTerms, arrays: Mapping[str, Array]) -> staged.Stages:
    """The stages of a program's file."""
    count = len([name for name in arrays if name.endswith(".weights")])
    stages: list[staged.Stage] = []
    variables = int(np.prod(terms.shape))
    inputs = variables
    try:
        for number in range(count):
            weights, bias = arrays[f"stage{number}.weights"], arrays[f"stage{number}.bias"]
            own = arrays.get(f"stage{number}.polynomials")
            last = number + 1 == count
            if weights.shape != (len(bias), variables) or bias.ndim != 1 or (own is None) != last:
                raise ValueError(f"weights of shape {weights.shape} in stage {number}")
            if own is not None and (own.ndim != 2 or len(own) != len(bias)):
                raise ValueError(f"polynomials of shape {own.shape} in stage {number}")
            stages.append(staged.Stage(weights, bias, own))
            variables += len(bias)
        if not stages or len(stages[-1].bias) != len(terms.scale):
            raise ValueError(f"{count} stages for {len(terms.scale)} outputs")
    except (KeyError, ValueError) as error:
        raise FormatError(f"a program whose stages do not fit together: {error}") from error
    return staged.Stages(inputs, tuple(stages), terms.scale)
