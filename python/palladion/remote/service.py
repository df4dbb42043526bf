"""A service as its clients see it."""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final

import numpy as np
import numpy.typing as npt

from palladion import _native
from palladion.client import Client
from palladion.errors import INTERNAL, KINDS, DataError, UsageError
from palladion.key_files import KeyFile
from palladion.nn.ends.boundary import Boundary
from palladion.nn.ends.prediction import Prediction
from palladion.nn.integers.linear_maps import Ints
from palladion.remote.home import Home
from palladion.remote.hybrid_model import RemoteHybridModel
from palladion.remote.receipt import Receipt
from palladion.remote.session import ServiceError, Session
from palladion.remote.uploading import upload
from palladion.runs import Progress
from palladion.secret import Secret
from palladion.support.records import Json

POLL: Final = 20.0
"""Seconds for which a request waits for the end of a job."""

POLL_WITH_PROGRESS: Final = 1.0
"""The same where someone looks at the progress."""


def connect(
    url: str,
    token: str,
    *,
    secret: Secret | None = None,
    passphrase: str | None = None,
    home: str | os.PathLike[str] | None = None,
    patience: float = 120.0,
) -> Service:
    """Connect to a service::

        service = palladion.connect("https://fhe.example.org", token)
        prediction = service.predict(x)

    Parameters
    ----------
    url
        Address of the service.
    token
        A token, which the operator of the service issued.
    secret
        The secret; by default one that is kept for this service in ``home``, and made at the first
        time.
    passphrase
        Seals the secret that is kept.
    home
        Folder for the secret, and for keys that are not uploaded yet; by default
        ``PALLADION_HOME``, or the system's folder for a user's data.
    patience
        Seconds for which a request is sent again while the service is away or busy.

    Raises
    ------
    DataError
        If the secret cannot be read or written.
    SealError
        If the passphrase does not open it.
    UsageError
        If a package is missing.
    """
    return Service(url, token, secret=secret, passphrase=passphrase, home=home, patience=patience)


class Service:
    """A service that runs models on encrypted inputs: see :func:`palladion.connect`."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        secret: Secret | None = None,
        passphrase: str | None = None,
        home: str | os.PathLike[str] | None = None,
        patience: float = 120.0,
    ) -> None:
        self._session = Session(url, token, patience=patience)
        self._home = Home(None if home is None else Path(home))
        self.secret = secret or self._home.secret(self._session.url, passphrase)
        """The secret. It never leaves this process."""
        self._models: dict[tuple[str, ...], RemoteModel] = {}

    def models(self) -> dict[str, list[str]]:
        """The versions of each model.

        Raises
        ------
        ServiceError
            If the service refuses, or cannot be reached.
        """
        models = self._session.json("GET", "/v2/models")["models"]
        return {str(model["name"]): [*map(str, model["versions"])] for model in models}

    def model(
        self,
        name: str | None = None,
        version: str | None = None,
        *,
        client_digest: str | None = None,
    ) -> RemoteModel:
        """A model of the service: by default the only one, in the version that the service chooses.

        ``client_digest`` is the SHA-256 of the client's file, where it was told by other means: a
        service with another one is refused.

        Raises
        ------
        DataError
            If the client's file has another digest.
        ServiceError
            If the service refuses, or cannot be reached.
        UsageError
            If there are several models, and none is named.
        """
        chosen = self.choose(name, version)
        name, facts = chosen.name, chosen.facts
        if chosen.has_two_parties:
            raise UsageError(f"{name} is a model for two parties, without keys and jobs: use "
                             "`predict`, or `hybrid_model`")  # fmt: skip
        digest = str(facts["client_digest"])
        known = (name, str(facts["version"]), digest)
        if client_digest not in (None, digest):
            raise DataError(f"the client's file of {name} at {self._session.url} has the SHA-256 "
                            f"{digest[:12]}…, expected {str(client_digest)[:12]}…")  # fmt: skip
        if known not in self._models:
            self._models[known] = RemoteModel(self._session, self._home, self.secret, name, facts)
        return self._models[known]

    def hybrid_model(
        self,
        name: str | None = None,
        version: str | None = None,
        *,
        program_hash: str | None = None,
        certificate_hash: str | None = None,
    ) -> RemoteHybridModel:
        """A model for two parties: by default the only one, in the version that the service
        chooses.

        ``program_hash`` and ``certificate_hash`` are those of the program and of the certificate of
        sessions, where they were told by other means: a service with others is refused.

        Raises
        ------
        DataError
            If the service has others.
        ServiceError
            If the service refuses, or cannot be reached.
        UsageError
            If the model has no sessions; if there are several models, and none is named.
        """
        chosen = self.choose(name, version)
        if not chosen.has_two_parties:
            raise UsageError(f"{chosen.name} runs on encrypted queries, and has no sessions: use "
                             "`predict`, or `model`")  # fmt: skip
        for what, expected in (
            ("program_hash", program_hash), ("certificate_hash", certificate_hash),
        ):  # fmt: skip
            received = str(chosen.facts[what])
            if expected not in (None, received):
                words = f"the {what.replace('_', ' ')} of {chosen.name} at {self._session.url}"
                raise DataError(f"{words} is {received}, expected {expected}")
        return RemoteHybridModel(self._session, chosen.name, chosen.facts)

    def predict(
        self,
        x: npt.ArrayLike,
        model: str | None = None,
        *,
        version: str | None = None,
        progress: Progress | None = None,
    ) -> Prediction:
        """The outputs of a model for inputs that the service does not see.

        A model that runs on encrypted queries gets them encrypted, and the answers are decrypted
        here. Keys are made and uploaded when it needs them for the first time. A model for two
        parties is asked in a session. Raises as :meth:`model`, :meth:`RemoteModel.predict` and
        :meth:`RemoteHybridModel.predict`.
        """
        chosen = self.choose(model, version)
        if chosen.has_two_parties:
            sessions = self.hybrid_model(chosen.name, chosen.version)
            return sessions.predict(x, progress=progress)
        return self.model(chosen.name, chosen.version).predict(x, progress=progress)

    def keys(self) -> list[Json]:
        """The files of evaluation keys that the service has of this tenant: ``digest``, ``key_id``,
        ``profile_id``, ``bytes``, ``created`` and ``expires``. Raises as :meth:`models`."""
        return [*self._session.json("GET", "/v2/keys")["keys"]]

    def delete_keys(self, digest: str) -> None:
        """Delete a file of evaluation keys from the service. Raises as :meth:`models`."""
        self._session.send("DELETE", f"/v2/keys/{digest}")

    def jobs(self) -> list[Json]:
        """The last jobs of this tenant, the newest first. Raises as :meth:`models`."""
        return [*self._session.json("GET", "/v2/jobs")["jobs"]]

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def choose(self, name: str | None = None, version: str | None = None) -> Chosen:
        """The version that a name and a version mean at the service now: by default the only model,
        in the version that the service chooses. Raises as :meth:`model`."""
        name = self._only_model() if name is None else name
        path = f"/v2/models/{name}" + ("" if version is None else f"/versions/{version}")
        facts = self._session.json("GET", path)["parameters"]
        return Chosen(name, str(facts["version"]), facts)

    def _only_model(self) -> str:
        models = self.models()
        if len(models) != 1:
            raise UsageError(f"the service has {len(models)} models, {', '.join(models)}: name one")
        return next(iter(models))


@dataclass(frozen=True)
class Chosen:
    """A version of a model, as the service describes it."""

    name: str
    version: str
    facts: Json

    @property
    def has_two_parties(self) -> bool:
        """Whether it is asked in sessions."""
        return self.facts.get("protocol") == "hybrid"


class RemoteModel:
    """A version of a model at a service."""

    def __init__(
        self, session: Session, home: Home, secret: Secret, name: str, facts: Json
    ) -> None:
        self.name = name
        self.version = str(facts["version"])
        self.predicted_seconds = float(facts["predicted_seconds"])
        """Of a run on a worker of the service."""
        self._session = session
        self._home = home
        self._path = f"/v2/models/{name}/versions/{self.version}"
        self.client = Client.of(self._terms(str(facts["client_digest"])), secret)
        """Encrypts and decrypts for this version."""
        self._keys_are_there = False

    @property
    def boundary(self) -> Boundary:
        """Conversion between the model's arrays and the network's integers."""
        return self.client.boundary

    def predict(self, x: npt.ArrayLike, *, progress: Progress | None = None) -> Prediction:
        """Encrypt inputs, of shape (N, ...), have them run, and decrypt the answers. More inputs
        than the batch become several jobs.

        Raises
        ------
        NetworkError
            If the inputs do not fit the model.
        ServiceError
            If the service refuses, or stays away.
        """
        return self.predict_integers(self.client.boundary.inputs(x), progress=progress)

    def predict_integers(self, inputs: Ints, *, progress: Progress | None = None) -> Prediction:
        """As :meth:`predict`, for rows of the network's integers."""
        batch = self.client.facts.batch
        self.upload_keys(progress)
        jobs = [self._submit(self.client.encrypt_integers(inputs[at : at + batch]))
                for at in range(0, len(inputs), batch)]  # fmt: skip
        answers = [job.result(progress) for job in jobs]
        integers = np.concatenate(
            [prediction.integers for prediction in answers if prediction.integers is not None]
        )
        margins = [
            prediction.margin_bits for prediction in answers if prediction.margin_bits is not None
        ]
        return Prediction.of(self.client.boundary, integers, min(margins, default=None))

    def submit(self, x: npt.ArrayLike, *, progress: Progress | None = None) -> RemoteJob:
        """Encrypt inputs, at most a batch of them, and submit them. Raises as :meth:`predict`."""
        query = self.client.encrypt(x)
        self.upload_keys(progress)
        return self._submit(query)

    def upload_keys(self, progress: Progress | None = None) -> None:
        """Make and upload the evaluation keys that the service lacks. An upload that broke goes on.

        Raises
        ------
        BudgetError
            If making them needs more memory than is left.
        ServiceError
            If the service refuses, or stays away.
        """
        if self._keys_are_there:
            return
        cover = self._session.json("GET", f"{self._path}/keys/{self.client.key_id}")
        file = self._home.keys(self.client.secret, self.client.terms.program_id)
        if cover["missing_keys"]:
            if not file.exists():
                self._make_keys(file, cover["held"], progress)
            upload(self._session, file, progress)
        self._home.forget(file)
        self._keys_are_there = True

    def _make_keys(self, file: Path, held: list[Json], progress: Progress | None) -> None:
        key_id = self.client.key_id
        have = [KeyFile(key_id, str(part["profile"]), None, None, 0) for part in held]
        if progress is not None:
            progress("make keys", 0.0, 1.0)
        self.client.write_keys(file, have=have)
        if progress is not None:
            progress("make keys", 1.0, 1.0)

    def _submit(self, query: _native.Query) -> RemoteJob:
        sent: Json = {
            "content": query.to_bytes(),
            "headers": {
                "idempotency-key": secrets.token_hex(16),
                "content-type": "application/octet-stream",
            },
        }
        job = self._session.json("POST", f"{self._path}/jobs", **sent)
        return RemoteJob(self._session, self.client, query, job)

    def _terms(self, digest: str) -> _native.Terms:
        data = self._session.send("GET", f"{self._path}/client").content
        if (received := hashlib.sha256(data).hexdigest()) != digest:
            raise DataError(f"the client's file of {self.name} came with the SHA-256 "
                            f"{received[:12]}…, expected {digest[:12]}…")  # fmt: skip
        return _native.Terms.from_bytes(data)


@dataclass
class RemoteJob:
    """A query that a service runs."""

    _session: Session
    _client: Client
    _query: _native.Query
    state: Json
    """The state that the service told last: ``id``, ``state``, ``done`` and more."""

    @property
    def id(self) -> str:
        """Identity of the job."""
        return str(self.state["id"])

    @property
    def ended(self) -> bool:
        """Whether it has ended, as far as it is known here."""
        return self.state["state"] not in ("queued", "running")

    def wait(self, progress: Progress | None = None) -> None:
        """Wait until it has ended. If ``progress`` returns False, it is cancelled.

        Raises
        ------
        ServiceError
            If the service stays away.
        """
        poll = POLL if progress is None else POLL_WITH_PROGRESS
        while not self.ended:
            self.state = self._session.json("GET", f"/v2/jobs/{self.id}", params={"wait": poll})
            if progress is not None:
                step = self.state["step"] or str(self.state["state"])
                if progress(step, float(self.state["done"]), 1.0) is False:
                    self.cancel()

    def cancel(self) -> None:
        """Cancel it. Raises as :meth:`wait`."""
        self.state = self._session.json("DELETE", f"/v2/jobs/{self.id}")

    def answer(self, progress: Progress | None = None) -> bytes:
        """The encrypted answer, when it is there.

        Raises
        ------
        ServiceError
            If the job failed or was cancelled, or the service stays away.
        """
        self.wait(progress)
        if error := self.state["error"]:
            kind = next((kind for kind in KINDS if kind.name == error["kind"]), INTERNAL)
            raise ServiceError(
                str(error["detail"]), status=None, kind=kind, retry=bool(error["retry"])
            )
        return self._session.send("GET", f"/v2/jobs/{self.id}/answer").content

    def receipt(self, public_key: str | None = None) -> Receipt:
        """The service's signed word on which program gave the answer, when that is there.

        ``public_key`` is the service's, if it was told by other means.

        Raises
        ------
        DataError
            If the signature is wrong, or of another key.
        ServiceError
            If there is no answer, or the service stays away.
        """
        self.wait()
        data = self._session.json("GET", f"/v2/jobs/{self.id}/receipt")
        return Receipt.checked(data, public_key)

    def result(self, progress: Progress | None = None) -> Prediction:
        """The decrypted answer, when it is there. Raises as :meth:`answer`."""
        return self._client.decrypt(self.answer(progress), self._query)
