"""A user's model, from a file or a framework to encrypted answers::

    model = palladion.Model.from_onnx("model.onnx", calibrate=x_train)
    print(model.report())                        # quantisation of each layer
    print(model.evaluate(x_test, y_test))        # float, integer, with simulated noise
    program = model.compile(batch=8)
    print(program.facts)                         # security, keys, noise, failure
    print(program.costs())                       # seconds, memory
    client = program.client()
    keys = client.keys()                         # public: for the server
    y = client.decrypt(program.run(keys, client.encrypt(x_test[:8])))
    y.classes

Names are scikit-learn's and ONNX's where they exist: ``predict``, ``classes``, outputs by
their names in the model.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from concurrent.futures import Executor
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import numpy as np
import numpy.typing as npt

from palladion.deployment import DEFAULT_QUERIES, CompiledModel, Profile
from palladion.errors import DataError, NetworkError, UsageError
from palladion.hybrid import HIDDEN_INPUTS, LINK, HybridModel, Link
from palladion.measure.inspected import inspect_spread
from palladion.nn.convert import check_export as converted
from palladion.nn.datasets.tabular import check_columns, columns_of
from palladion.nn.ends.interface import Interface, array_of
from palladion.nn.ends.prediction import Prediction
from palladion.nn.integers.network import IntNetwork
from palladion.nn.quality.layers_report import LayersReport
from palladion.nn.quality.scores import Scores, scores
from palladion.support import files
from palladion.support.text import times

if TYPE_CHECKING:  # slow imports, not always needed
    import onnx

    from palladion.nn.floats.graph import Graph
    from palladion.nn.quantisation import Quantised

Array = npt.NDArray[Any]

MODES: Final = {
    "encrypted": {"words", "hide_model", "queries", "profile"},
    "hybrid": {"link", "reveal_accumulators", "inputs_per_client"},
}
"""Modes of :meth:`Model.compile`, and their options."""

CALIBRATION: Final = 512
"""Number of inputs from which scales are chosen. More inputs hardly change them."""


class Model:
    """A quantised model: exact integers, which an encrypted run computes.

    Made by :meth:`from_onnx`, :meth:`from_torch`, :meth:`from_sklearn` or :meth:`load`.
    """

    def __init__(
        self, network: IntNetwork, graph: Graph | None = None, quantised: Quantised | None = None
    ) -> None:
        self.network = network
        """The integer network: every layer, weight and table."""
        self._graph, self._quantised = graph, quantised

    @classmethod
    def from_onnx(
        cls,
        model: str | os.PathLike[str] | bytes | onnx.ModelProto,
        calibrate: npt.ArrayLike | None = None,
        *,
        outputs: str | Collection[str] | None = None,
        pixels: tuple[float | Sequence[float], float | Sequence[float]] | None = None,
        **settings: Any,
    ) -> Model:
        """Quantise an ONNX model: a file, its bytes, or a ``ModelProto``.

        Parameters
        ----------
        calibrate
            Inputs of the model, of shape (N, ...): some hundred real ones, of which 512 are used. A
            model with its own quantisation (QONNX, QDQ) needs none.
        outputs
            Names of the wanted outputs. Default: all.
        pixels
            Mean and deviation, one for all channels or one for each, if the model takes pictures.
            The model gets ``(p / 255 - mean) / std`` for a pixel ``p`` of 0 to 255. Then pictures
            can be encrypted directly.
        settings
            Fields of :class:`palladion.nn.quantisation.Settings`, such as ``weights=6``.

        Raises
        ------
        NetworkError
            If the model has an unsupported part. The message names it.
        DataError
            If the inputs do not fit the model.
        """
        from palladion.nn.datasets.calibration import Normalisation, of_pictures
        from palladion.nn.importer import from_model, load
        from palladion.nn.importer.onnx_file import as_proto
        from palladion.nn.quantisation import Settings, quantise

        wanted = [outputs] if isinstance(outputs, str) else outputs
        if isinstance(model, str | os.PathLike):
            graph = load(Path(model), outputs=wanted)
        else:
            graph = from_model(as_proto(model), outputs=wanted)
        known = [entry.name for entry in fields(Settings)]
        strange = [name for name in settings if name not in known]
        if strange:
            raise UsageError(f"no setting of quantisation is called {strange[0]}, there are "
                             f"{', '.join(known)}")  # fmt: skip
        chosen = Settings(**settings)
        data = None if calibrate is None else spread(calibration_of(calibrate), CALIBRATION)
        found = quantise(graph, data, chosen)
        if pixels is not None:
            told = Normalisation(*(tuple(np.ravel(part).tolist()) for part in pixels))
            found = replace(found, network=of_pictures(found.network, told))
        return cls(found.network, graph, found)

    @classmethod
    def from_torch(
        cls, module: Any, calibrate: npt.ArrayLike, *, opset: int = 18, **options: Any
    ) -> Model:
        """Quantise a ``torch.nn.Module`` (extra ``torch``); ``options`` as :meth:`from_onnx`.

        It is exported by ``torch.onnx.export`` in evaluation mode, with the first calibration
        inputs as its example and the first axis open. The export is compared with the module on
        the calibration data. A difference is a :class:`NetworkError` with its size.
        """
        import io

        try:
            import torch
        except ModuleNotFoundError as error:
            raise UsageError(f"from_torch needs {error.name}: pip install torch") from error
        if not isinstance(module, torch.nn.Module):
            raise UsageError(f"a module of type {type(module).__name__}, expected a "
                             "torch.nn.Module")  # fmt: skip
        data = calibration_of(calibrate)
        example = torch.from_numpy(np.ascontiguousarray(data[:1], dtype=np.float32))
        was_training = module.training
        target = io.BytesIO()
        try:
            module.eval()
            torch.onnx.export(
                module, (example,), target, opset_version=opset, dynamo=False,
                input_names=["input"], output_names=["output"], dynamic_axes={"input": {0: "N"}},
            )  # fmt: skip
        except Exception as error:
            raise NetworkError(f"torch could not export the module: {error}") from error
        finally:
            module.train(was_training)
        found = cls.from_onnx(target.getvalue(), data, **options)
        assert found._graph is not None, "from_onnx has the graph"
        try:
            module.eval()
            converted.check_module(module, found._graph, data)
        finally:
            module.train(was_training)
        return found

    @classmethod
    def from_sklearn(cls, estimator: Any, calibrate: npt.ArrayLike, **options: Any) -> Model:
        """Quantise a fitted estimator or pipeline of scikit-learn (extra ``sklearn``).

        It may be a multilayer perceptron, a logistic or linear model, a tree, a forest or boosted
        trees, with scalers before it. Boosted trees of XGBoost and LightGBM need onnxmltools.
        ``options`` are the options of :meth:`from_onnx`. The outputs are the outputs of
        scikit-learn: labels and probabilities. The export is compared with the estimator on the
        calibration data. A difference is a :class:`NetworkError` with its size.
        """
        from palladion.nn.convert.scikit_learn import exported

        precise = calibration_of(calibrate)
        data = precise.astype(np.float32)
        names = tuple(str(name) for name in getattr(estimator, "feature_names_in_", ()))
        check_columns(columns_of(calibrate), names, "calibration data")
        made = exported(estimator, data[:1])
        found = cls.from_onnx(made, data, **options)
        assert found._graph is not None, "from_onnx has the graph"
        converted.check_estimator(estimator, found._graph, data, precise)
        return found._with_columns(names)

    def _with_columns(self, names: tuple[str, ...]) -> Model:
        """The model with names of its columns, by which tables are checked."""
        if not names:
            return self

        def named(interface: Interface) -> Interface:
            return replace(interface, takes=replace(interface.takes, columns=names))

        network = replace(self.network, interface=named(self.network.boundary.interface))
        graph = self._graph and replace(self._graph, interface=named(self._graph.ends))
        return type(self)(network, graph, self._quantised)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model that :meth:`save` wrote."""
        return cls(IntNetwork.load(Path(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the integer network as JSON. It does not contain the model in floats."""
        files.write(Path(path), self.network.to_json().encode())

    def report(self) -> LayersReport:
        """The quantisation of each layer, and its warnings. It can be printed."""
        parts = (self._graph, self._quantised)
        notes = tuple(note for part in parts if part is not None for note in part.notes)
        return LayersReport.of(self.network, self._quantised, notes)

    def predict(self, x: npt.ArrayLike, *, noise: bool = False, seed: int = 0) -> Prediction:
        """The result of an encrypted run for inputs of the model, computed in the clear.

        With ``noise``, the rounding noise of an encrypted run is simulated as well.
        """
        network = self.network
        found = network.evaluate(network.inputs(x), network.sigmas() if noise else None, seed)
        return Prediction.of(network.boundary, found.logits)

    def evaluate(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        seed: int = 0,
        executor: Executor | None = None,
        threads: int | None = None,
    ) -> Scores:
        """Compare the float model, the integers, and the integers with simulated noise.

        ``y`` are classes of the model, or real numbers. Without ``y``, the table shows how far the
        integers are from the float model. With an executor of :mod:`concurrent.futures` all inputs
        also run encrypted in its processes, each with ``threads`` threads or all cores. Take one
        whose processes are spawned, or :class:`palladion.measure.on_ray.RayExecutor`.
        """
        floats = None
        if self._graph is not None:
            floats = Prediction.of_outputs(self._graph.ends, self._graph.outputs(array_of(x)))
        elif y is None:
            raise DataError("a model that was loaded has no floats to compare with: give labels y, "
                            "or make it anew with from_onnx")  # fmt: skip
        rows = {
            "float": floats,
            "integer": self.predict(x),
            "with noise": self.predict(x, noise=True, seed=seed),
            "encrypted": None if executor is None else self._encrypted(x, executor, threads),
        }
        return scores({name: found for name, found in rows.items() if found is not None}, y)

    def _encrypted(self, x: npt.ArrayLike, executor: Executor, threads: int | None) -> Prediction:
        """Answers of encrypted runs in the processes of an executor."""
        boundary = self.network.boundary
        ran = inspect_spread(
            self.network, self.compile(), boundary.inputs(x), executor, threads=threads
        )
        return Prediction.of(boundary, ran.logits)

    @overload
    def compile(
        self,
        batch: int = 1,
        *,
        mode: Literal["encrypted"] = "encrypted",
        words: int | None = None,
        hide_model: bool = False,
        queries: int = DEFAULT_QUERIES,
        profile: Profile | None = None,
    ) -> CompiledModel: ...

    @overload
    def compile(
        self,
        *,
        mode: Literal["hybrid"],
        link: Link = LINK,
        reveal_accumulators: bool = False,
        inputs_per_client: int = HIDDEN_INPUTS,
    ) -> HybridModel: ...

    def compile(
        self,
        batch: int | None = None,
        *,
        mode: Literal["encrypted", "hybrid"] = "encrypted",
        **options: Any,
    ) -> CompiledModel | HybridModel:
        """Compile to a program over ciphertexts for ``batch`` inputs in one run, 1 by default.

        Parameters
        ----------
        mode
            ``"encrypted"``: the server computes alone. ``"hybrid"``: client and server compute
            together, in seconds and with exact answers; see :mod:`palladion.hybrid`.
        words
            Bits of the words that every modulus must fit, 32 to 64, for machines of such words.
            With less than 49 keys are larger, and runs on a CPU slower.
        hide_model
            An answer shows its outputs and nothing else of the network, except by the noise of the
            outputs: from the noise a client can check a guess of all weights. With ``hide_model`` a
            flood hides the noise. Runs are somewhat slower.
        queries
            With ``hide_model``: the number of answers, 1 to 2**40, over which the noise is hidden.
            Nobody can tell these answers from answers without the noise, with an advantage above
            2**-40.
        link, reveal_accumulators, inputs_per_client
            Options of the mode ``"hybrid"``: see :meth:`palladion.HybridModel.of_network`. That
            mode takes none of the other options.

        Raises
        ------
        NetworkError
            If the network cannot be evaluated under encryption, or not with such moduli, or not
            with floods.
        UsageError
            If ``batch`` inputs do not fit, if ``words`` is out of range, if ``queries`` is
            out of range, or if an option belongs to the other mode.
        """
        if mode not in MODES:
            raise UsageError(f"the mode {mode!r}, expected one of {', '.join(MODES)}")
        strange = sorted(set(options) - MODES[mode])
        if mode == "hybrid" and batch is not None:
            strange.insert(0, "batch")
        if strange:
            known = ", ".join(sorted(MODES[mode]))
            raise UsageError(f"{strange[0]} is no option of the mode {mode}, which takes {known}")
        if mode == "hybrid":
            return HybridModel.of_network(self.network, **options)
        return CompiledModel.of_network(self.network, 1 if batch is None else batch, **options)


def calibration_of(given: npt.ArrayLike) -> Array:
    """Calibration data as an array of numbers."""
    data = array_of(given, "calibration data")
    if data.dtype.kind not in "fiub" or data.ndim < 2 or not len(data):
        raise DataError(f"calibration data of type {data.dtype} and shape {times(data.shape)}, "
                        "expected real numbers of shape (N, ...), as the model takes them: some "
                        "hundred inputs")  # fmt: skip
    return data


def spread(data: Array, count: int) -> Array:
    """At most ``count`` inputs, spread over all the data, which may be sorted by class."""
    if len(data) <= count:
        return data
    chosen: Array = data[np.linspace(0, len(data) - 1, count).astype(int)]
    return chosen
