"""A model for two parties at a service."""

from __future__ import annotations

import numpy.typing as npt

from palladion.errors import IO, PalladionError, StoppedError
from palladion.hybrid import HybridAnswer, HybridClient, check_count, identity_for_one_use
from palladion.nn.ends.boundary import Boundary
from palladion.nn.ends.prediction import Prediction
from palladion.nn.integers.linear_maps import Ints
from palladion.remote.loopback import Loopback
from palladion.remote.session import ServiceError, Session
from palladion.runs import Progress
from palladion.support.records import Json


class RemoteHybridModel:
    """A version of a model for two parties. Each prediction is a session of its own, and uses up
    inputs that the service allows: ``docs/hybrid.md``."""

    def __init__(self, session: Session, name: str, facts: Json) -> None:
        self.name = name
        self.version = str(facts["version"])
        self.program_hash = str(facts["program_hash"])
        """Hash of the program's public part. A session with another one is refused."""
        self.certificate_hash = str(facts["certificate_hash"])
        """Hash of the certificate of sessions. Another server is refused."""
        self.inputs_left = int(facts["inputs_left"])
        """Inputs that the service still allowed when this object was made."""
        self.boundary = Boundary.of_description(
            facts["boundary"], int(facts["boundary"]["classes"])
        )
        """Conversion between the model's arrays and the network's integers."""
        self._session = session
        self._path = f"/v2/models/{name}/versions/{self.version}/session"

    def predict(self, x: npt.ArrayLike, *, progress: Progress | None = None) -> Prediction:
        """The model's outputs for inputs of shape (N, ...), in one session. They are checked before
        it begins.

        Raises
        ------
        NetworkError
            If the inputs do not fit the model.
        ServiceError
            If the service refuses, or the session breaks. Inputs of a broken session stay counted.
        StoppedError
            If ``progress`` returned False.
        UsageError
            If they are too many for a session.
        """
        return self.predict_integers(self.boundary.inputs(x), progress=progress)

    def predict_integers(self, inputs: Ints, *, progress: Progress | None = None) -> Prediction:
        """As :meth:`predict`, for rows of the network's integers."""
        return self.query_integers(inputs, progress=progress).prediction

    def query_integers(self, inputs: Ints, *, progress: Progress | None = None) -> HybridAnswer:
        """As :meth:`predict_integers`, with the report of the session's seconds, bytes and
        rounds."""
        check_count(len(inputs))

        def tell(step: str, done: float, total: float) -> None:
            if progress is not None and progress(step, done, total) is False:
                raise StoppedError(f"the session with {self.name} was stopped: ask again")

        tell("open a session", 0.0, 1.0)
        with identity_for_one_use() as identity:
            wish = {"inputs": str(len(inputs)), "client": identity.certificate_hash}
            with (
                self._session.websocket(self._path, wish) as connection,
                Loopback(connection) as loopback,
            ):
                try:
                    client = HybridClient.connect(
                        loopback.address,
                        self.certificate_hash,
                        program=self.program_hash,
                        identity=identity.path,
                    )
                    answer = client.query_integers(inputs, tell)
                except StoppedError:
                    raise
                except PalladionError as error:
                    raise self._reason(loopback, error) from error
                loopback.wait()
        return answer

    def _reason(self, loopback: Loopback, error: PalladionError) -> PalladionError:
        """The service's own reason for the end of a session, or what is known here."""
        if loopback.problem is not None:
            return loopback.problem
        if loopback.has_ended:
            words = (f"the connection to {self._session.url} broke during the session, and its "
                     "inputs may stay counted: ask again")  # fmt: skip
            return ServiceError(words, status=None, kind=IO, retry=True)
        return error
