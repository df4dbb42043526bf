"""A network under SPU's CHEETAH protocol, for the harness of ``run-hybrid``.

    main.py prepare FOLDER NETWORK.json INPUTS.npy    # compiles, and deals shares of weights and images
    main.py party FOLDER RANK OWN OTHER packed|unpacked   # rank 0 has the weights, rank 1 the images
    main.py finish FOLDER                             # prints the result as JSON

``INPUTS.npy`` has the network's integers (n, channels, height, width), ``OWN`` and ``OTHER`` are
addresses HOST:PORT. Ring FM64, with the default fixed point of 18 bits.
"""

import json
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import spu
from spu import libspu

PATIENCE = 600_000
"""Longest wait for the other party, in ms."""


def config(packed=True):
    """SPU's configuration. ``packed`` is its own choice for products of matrices, which makes
    messages smaller, and small products slower."""
    found = libspu.RuntimeConfig(protocol=spu.ProtocolKind.CHEETAH, field=spu.FieldType.FM64)
    # One core each: pools of threads would only take turns.
    found.experimental_enable_inter_op_par = False
    found.max_concurrency = 1
    # The server keeps its weights whole, so that products need one direction only.
    found.experimental_enable_colocated_optimization = True
    found.cheetah_2pc_config.disable_matmul_pack = not packed
    # At the end of a run, SPU writes bytes and messages to its log.
    found.enable_pphlo_profile = True
    found.enable_hal_profile = True
    return found


def prepare(folder, network, inputs):
    import jax
    from layers import NETWORKS, load
    from spu.utils import frontend

    name, unit, layers = load(Path(network))
    images = np.load(inputs).astype(np.float32).transpose(0, 2, 3, 1) * np.float32(unit)
    call = NETWORKS[name]
    np.save(folder / "floats.npy", np.asarray(jax.jit(call)(images, layers)))
    leaves, _ = jax.tree_util.tree_flatten((images[:1], layers))
    names = [f"in{index}" for index in range(len(leaves))]
    secret = spu.Visibility.VIS_SECRET
    executable, _ = frontend.compile(
        frontend.Kind.JAX, call, (images[:1], layers), {}, names, [secret] * len(names),
        lambda outputs: [f"out{index}" for index in range(len(outputs))],
    )  # fmt: skip
    io = spu.Io(2, config())
    weights = [io.make_shares(array, secret, 0) for array in leaves[1:]]
    queries = [io.make_shares(image[None], secret, 1) for image in images]
    for rank in (0, 1):
        found = {
            "executable": (executable.name, names, executable.output_names, executable.code),
            "weights": [_bytes(shares[rank]) for shares in weights],
            "images": [_bytes(shares[rank]) for shares in queries],
        }
        (folder / f"party{rank}").write_bytes(pickle.dumps(found))


def _bytes(share):
    return bytes(share.meta), [bytes(chunk) for chunk in share.share_chunks]


def _share(found):
    share = libspu.Share()
    share.meta, share.share_chunks = found
    return share


def party(folder, rank, own, other, packing):
    found = pickle.loads((folder / f"party{rank}").read_bytes())
    name, inputs, outputs, code = found["executable"]
    executable = libspu.Executable(name=name, input_names=inputs, output_names=outputs, code=code)
    link = libspu.link.Desc()
    link.recv_timeout_ms = PATIENCE
    link.http_timeout_ms = PATIENCE
    for index in (0, 1):
        link.add_party(f"party{index}", own if index == rank else other)
    context = libspu.link.create_brpc(link, rank)
    started = time.perf_counter()
    runtime = spu.Runtime(context, config(packing == "packed"))
    setup = time.perf_counter() - started
    for key, share in zip(inputs[1:], found["weights"]):
        runtime.set_var(key, _share(share))
    seconds, busy, answers = [], [], []
    for index, image in enumerate(found["images"]):
        context.barrier()
        print(f"stage: image {index + 1}", file=sys.stderr, flush=True)
        started, worked = time.perf_counter(), time.process_time()
        runtime.set_var(inputs[0], _share(image))
        runtime.run(executable)
        answers.append(_bytes(runtime.get_var(outputs[0])))
        seconds.append(time.perf_counter() - started)
        busy.append(time.process_time() - worked)
    context.barrier()
    result = {"setup": setup, "seconds": seconds, "busy": busy, "answers": answers}
    (folder / f"result{rank}").write_bytes(pickle.dumps(result))
    context.stop_link()


def finish(folder):
    results = [pickle.loads((folder / f"result{rank}").read_bytes()) for rank in (0, 1)]
    io = spu.Io(2, config())
    answers = zip(*(result["answers"] for result in results))
    logits = np.concatenate([io.reconstruct([_share(a), _share(b)]) for a, b in answers])
    floats = np.load(folder / "floats.npy")
    print(json.dumps({
        "setup_seconds": results[1]["setup"],
        "seconds": results[1]["seconds"],
        # Of both parties, on their cores.
        "processor_seconds": np.sum([result["busy"] for result in results], axis=0).tolist(),
        "logits": logits.tolist(),
        "as_clear": int((logits.argmax(1) == floats.argmax(1)).sum()),
        "largest_logit_change": float(np.abs(logits - floats).max()),
        "largest_logit": float(np.abs(floats).max()),
    }))  # fmt: skip


if __name__ == "__main__":
    command, folder, *rest = sys.argv[1:]
    if command == "party":
        party(Path(folder), int(rest[0]), *rest[1:])
    else:
        {"prepare": prepare, "finish": finish}[command](Path(folder), *rest)
