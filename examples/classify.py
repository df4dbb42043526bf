"""Classify a digit that the server never sees.

The two halves are separate, as on two machines: only bytes pass between them.
"""

from __future__ import annotations

import palladion

# Server: compiles the network. Its weights stay here; a client gets the terms of the program.
network = palladion.mnist_network()
program = palladion.compile_network(network.to_json(), batch=1)

# Client: generates the keys and encrypts an image of the MNIST test set.
terms = palladion.Terms.from_bytes(program.terms().to_bytes())
secret, keys = palladion.keygen(terms)
sample = palladion.mnist_sample()
image = network.inputs_of_pixels(sample.images[:1])
query = secret.encrypt(image.tolist())


def serve(program: palladion.Program, keys: bytes, query: bytes) -> bytes:
    """Server: computes on ciphertexts, without any secret."""
    evaluation = palladion.EvaluationKeys.from_bytes(program, keys)
    answer, _report = program.run(evaluation, palladion.Query.from_bytes(program, query))
    return answer.to_bytes()


# Client: decrypts the answer to the query that it has kept.
answer = palladion.Answer.from_bytes(terms, serve(program, keys.to_bytes(), query.to_bytes()))
(logits,), margin = secret.decrypt(answer, query)
predicted = max(range(10), key=logits.__getitem__)
print(f"predicted {predicted}, label {sample.labels[0]}, {margin:.0f} bits of noise margin left")

assert predicted == network.evaluate(image).predicted[0]
