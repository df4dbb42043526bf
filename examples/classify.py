"""Classify a digit that the server never sees.

The two halves are separate, as on two machines: only bytes pass between them.
"""

from __future__ import annotations

import palladion
from palladion import Client, CompiledModel, Terms

# Server: compiles the network. Its weights stay here; a client gets the terms of the program.
network = palladion.mnist_network()
program = CompiledModel.of_network(network)

# Client: generates the keys and encrypts an image of the MNIST test set.
client = Client.generate(Terms.from_bytes(program.terms.to_bytes()))
keys = client.keys()
sample = palladion.mnist_sample()
query = client.encrypt_pixels(sample.images[:1])


def serve(program: CompiledModel, keys: bytes, query: bytes) -> bytes:
    """Server: computes on ciphertexts, without any secret."""
    return program.run(keys, query).to_bytes()


# Client: decrypts the answer to the query that it has kept.
answer = client.decrypt(serve(program, keys.to_bytes(), query.to_bytes()), query)
assert answer.classes is not None
predicted, margin = answer.classes[0], answer.margin_bits
print(f"predicted {predicted}, label {sample.labels[0]}, {margin:.0f} bits of noise margin left")

assert predicted == network.evaluate(network.inputs_of_pixels(sample.images[:1])).predicted[0]
